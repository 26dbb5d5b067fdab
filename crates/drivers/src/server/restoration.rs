//! Snapshots of a server, and their restoration. Source: Compute API, "Create Image", "Rebuild Server".
//!
//! A snapshot is an image of the root disk, without attached volumes. Its name contains the start of the server's id and
//! the occasion, by which it is found again when the response to the request was lost. A restoration rebuilds the server
//! from the image: id, ports, volumes and metadata stay. A server that boots from a volume has no disk of its own; Nova
//! would make an empty image and a snapshot of the volume.

use std::collections::BTreeSet;

use async_trait::async_trait;
use openstack::{Session, server_actions::ActionOutcome};
use serde_json::{Value, json};

use super::super::{marker, nova_requests, record};
use super::{Server, effect, is_deleted};
use crate::driver::{Context, DriverError, Progress, Ready, Restore};

/// The attribute of a ready snapshot with its size in bytes.
const SIZE: &str = "size";
/// The states from which Nova rebuilds a server.
const REBUILT_FROM: [&str; 3] = ["ACTIVE", "SHUTOFF", "ERROR"];

/// Creates an image of the disk. Its name contains the server's name and the occasion, as an older image lacks later
/// changes.
pub(super) async fn snapshot(
    context: &Context<'_>,
    id: &str,
    occasion: &str,
) -> Result<Progress, DriverError> {
    let name = marker::physical_name(context.marker, context.properties);
    let name = format!("{name}{}", ending(id, occasion));
    let compute = context.session.compute();
    let ordered = context.accepted.newest(effect::SNAPSHOT, &name);
    let mut images = context
        .session
        .image()
        .image_list(&[("name", &name)])
        .await?;
    images.retain(|image| image.name.as_deref() == Some(&name));
    match images.first() {
        Some(image) if image.status == "active" => {
            let size = image.other.get("size").cloned();
            return Ok(Progress::Ready(Ready {
                reference: json!(image.id),
                attributes: size
                    .map(|size| (SIZE.to_owned(), size))
                    .into_iter()
                    .collect(),
            }));
        }
        Some(image) if matches!(image.status.as_str(), "killed" | "deleted") => {
            let why = format!("image `{name}` is {}", image.status);
            return Ok(Progress::Failed(why));
        }
        // Nova deletes the image of a failed snapshot, or leaves it unchanged.
        _ => {}
    }
    match ordered {
        Some(request) => {
            let outcome = nova_requests::outcome(context, id, &request).await?;
            if let ActionOutcome::Failed(_) = outcome {
                let why = nova_requests::reason(&outcome, id, &request);
                return Ok(Progress::Failed(format!("image `{name}`: {why}")));
            }
        }
        None if images.is_empty() => {
            let request = compute.server_snapshot(id, &name).await?;
            context.accepted.note(effect::SNAPSHOT, &name, request);
        }
        None => {}
    }
    Ok(Progress::Pending(format!("image `{name}` is being made")))
}

/// The end of a snapshot's name.
fn ending(id: &str, occasion: &str) -> String {
    let short: String = id.chars().take(8).collect();
    format!("-snapshot-{short}-{occasion}")
}

#[async_trait]
impl Restore for Server {
    async fn obstacle(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<String>, DriverError> {
        let found = context.session.poller().server(physical_id).await?;
        let Some(server) = found.filter(|server| !is_deleted(server)) else {
            return Ok(Some("it is gone from the cloud".to_owned()));
        };
        // Nova returns an empty text instead of an image.
        let boots_from_volume = server.other.get("image").is_some_and(Value::is_string);
        Ok(boots_from_volume.then(|| "it boots from a volume".to_owned()))
    }

    async fn restore(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        snapshot: &str,
        _occasion: &str,
    ) -> Result<Progress, DriverError> {
        let compute = context.session.compute();
        // Read afresh: an older state would look as if the rebuild had ended.
        let server = match compute.server_get(physical_id).await {
            Ok(server) if !is_deleted(&server) => server,
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => return Ok(Progress::Failed("it is gone from the cloud".to_owned())),
        };
        let under_way = || Progress::Pending("the server is being rebuilt".to_owned());
        if server.task_state.is_some() || server.status == "REBUILD" {
            let image = server.other.get("image").and_then(|image| image.get("id"));
            let is_ours = image.and_then(Value::as_str) == Some(snapshot);
            // The request of an earlier attempt, whose response was lost.
            if server.status == "REBUILD"
                && is_ours
                && context
                    .accepted
                    .newest(effect::REBUILD, physical_id)
                    .is_none()
            {
                let action = effect::REBUILD;
                nova_requests::take_up(context, physical_id, action, physical_id).await?;
            }
            return Ok(under_way());
        }
        if let Some(request) = context.accepted.newest(effect::REBUILD, physical_id) {
            let outcome = nova_requests::outcome(context, physical_id, &request).await?;
            return Ok(match outcome {
                ActionOutcome::UnderWay => under_way(),
                ActionOutcome::Succeeded if server.status != "ERROR" => {
                    Progress::Ready(Ready::default())
                }
                outcome => Progress::Failed(format!(
                    "{}. It is in state {}",
                    nova_requests::reason(&outcome, physical_id, &request),
                    server.status
                )),
            });
        }
        if !REBUILT_FROM.contains(&server.status.as_str()) {
            return Ok(Progress::Failed(format!(
                "it is {}, and Nova rebuilds no server in this state",
                server.status
            )));
        }
        let request = compute.server_rebuild(physical_id, snapshot).await?;
        context.accepted.note(effect::REBUILD, physical_id, request);
        Ok(under_way())
    }

    async fn remove_snapshot(
        &self,
        session: &Session,
        physical_id: &str,
        occasion: &str,
        snapshot: Option<&str>,
    ) -> Result<bool, DriverError> {
        let ending = ending(physical_id, occasion);
        let mut images = session
            .image()
            .image_list(&[("visibility", "private")])
            .await?;
        images.retain(|image| {
            let name = image.name.as_deref().unwrap_or_default();
            name.ends_with(&ending)
        });
        // The known one is not in the list if somebody shares or has renamed it.
        let mut ids: BTreeSet<&str> = images.iter().map(|image| image.id.as_str()).collect();
        ids.extend(snapshot);
        for id in ids {
            record::done_if_gone(session.image().image_delete(id).await)?;
        }
        Ok(true)
    }
}
