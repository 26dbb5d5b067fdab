//! `OS::Cinder::VolumeAttachment`: the attachment of a volume to a server.
//!
//! Nova attaches the volume, and Cinder reports the progress. A volume is attached to a server at most once, so the two
//! are the identity of an attachment: the physical id is `<server>:<volume>`. `get_resource` returns the volume's id,
//! as in Heat. Another server or volume needs a detachment and a new attachment. If Nova fails to attach or detach a
//! volume, the volume returns to its former state, and Nova's record of the request contains the reason. Sources:
//! Compute API, "Servers with volume attachments"; Block Storage API v3, "Volumes".

use async_trait::async_trait;
use openstack::block_storage::Volume;
use openstack::server_actions::ActionOutcome;
use serde_json::{Map, Value, json};

use super::nova_requests::{outcome, reason, take_up};
use super::properties::{Properties, if_valid};
use super::record;
use crate::driver::{Context, Driver, DriverError, Duplicates, Progress, Ready};

/// Nova's names of the actions in its record of requests.
pub(super) const ATTACH: &str = "attach_volume";
pub(super) const DETACH: &str = "detach_volume";
/// Key in the metadata of a volume that its restoration from a snapshot has detached: server and device, separated by a
/// space.
pub(super) const DETACHED: &str = "stackloom-detached";

pub(super) struct VolumeAttachment;

#[async_trait]
impl Driver for VolumeAttachment {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let (server, found) = named(context).await?;
        let volume = found.id;
        // A restoration that ended early left it. A later one must not attach the volume to that server.
        if found.metadata.contains_key(DETACHED) {
            let storage = context.session.block_storage();
            record::done_if_gone(storage.volume_unset_metadata(&volume, DETACHED).await)?;
        }
        let device = Properties::of(context.properties).filled("mountpoint")?;
        let compute = context.session.compute();
        let given = compute
            .attachment_create(&server, &volume, device.as_deref())
            .await;
        let id = format!("{server}:{volume}");
        match given {
            Ok(request) => {
                context.accepted.note(ATTACH, &volume, request);
                Ok(id)
            }
            // Nova refuses an existing attachment, which can be from an earlier attempt.
            Err(error) if matches!(error.status(), Some(400 | 409)) => {
                let there = compute.attachment_list(&server).await?;
                if there.iter().any(|one| one.volume_id == volume) {
                    return Ok(id);
                }
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let (server, volume) = parts(physical_id);
        let Some(found) = context.session.poller().volume(volume).await? else {
            return Ok(Progress::Failed("the volume is gone".into()));
        };
        let here = found.attachments.iter().find(|one| one.server_id == server);
        Ok(match (here, found.status.as_str()) {
            (Some(here), "in-use") => {
                let mut attributes = Map::new();
                attributes.insert("device".into(), json!(here.device));
                let show = serde_json::to_value(here).unwrap_or(Value::Null);
                attributes.insert("show".into(), show);
                Progress::Ready(Ready {
                    reference: json!(volume),
                    attributes,
                })
            }
            (_, status) if status.starts_with("error") => {
                Progress::Failed(format!("the cloud put the volume in state {status}"))
            }
            // Nova releases a volume that it fails to attach.
            (None, "available") => not_attached(context, server, volume).await?,
            (_, status) => Progress::Pending(format!("the volume is in state {status}")),
        })
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_string(),
            None => match if_valid(named(context).await)? {
                Some((server, volume)) => format!("{server}:{}", volume.id),
                None => return Ok(()),
            },
        };
        let (server, volume) = parts(&id);
        let compute = context.session.compute();
        let answer = compute.attachment_delete(server, volume).await;
        match answer {
            // Nova refuses while it executes the request of an interrupted attempt.
            Err(error) if matches!(error.status(), Some(400 | 409)) => {
                let storage = context.session.block_storage();
                match storage.volume_get(volume).await {
                    Ok(there) if there.status == "detaching" => {
                        take_up(context, server, DETACH, volume).await
                    }
                    _ => Err(error.into()),
                }
            }
            answer => context.accepted.note_unless_gone(DETACH, volume, answer),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let (server, volume) = parts(physical_id);
        let Some(found) = context.session.poller().volume(volume).await? else {
            return Ok(true);
        };
        if found.status == "detaching" {
            return Ok(false);
        }
        if !found.attachments.iter().any(|one| one.server_id == server) {
            return Ok(true);
        }
        let Some(request) = context.accepted.newest(DETACH, volume) else {
            return Ok(false);
        };
        match outcome(context, server, &request).await? {
            failed @ ActionOutcome::Failed(_) => Err(DriverError::Other(format!(
                "volume {volume} was not detached from server {server}: {}. It is still in use there. Unmount it in the server, \
                 then resume the run",
                reason(&failed, server, &request)
            ))),
            ActionOutcome::UnderWay | ActionOutcome::Succeeded => Ok(false),
        }
    }
}

/// The state of an attachment whose volume is available: Nova releases a volume that it fails to attach.
async fn not_attached(
    context: &Context<'_>,
    server: &str,
    volume: &str,
) -> Result<Progress, DriverError> {
    let Some(request) = context.accepted.newest(ATTACH, volume) else {
        let why = "the volume is free again: the server could not take it";
        return Ok(Progress::Failed(why.into()));
    };
    let outcome = outcome(context, server, &request).await?;
    if outcome == ActionOutcome::UnderWay {
        return Ok(Progress::Pending(
            "the volume is about to be attached".into(),
        ));
    }
    Ok(Progress::Failed(format!(
        "the volume is free again, because server {server} could not take it: {}",
        reason(&outcome, server, &request)
    )))
}

async fn named(context: &Context<'_>) -> Result<(String, Volume), DriverError> {
    let properties = Properties::of(context.properties);
    let server = properties.required("instance_uuid")?;
    let volume = properties.required("volume_id")?;
    let found = context.session.block_storage().volume_find(&volume).await;
    let volume = found.map_err(|error| properties.looked_up("volume_id", error))?;
    Ok((server, volume))
}

fn parts(physical_id: &str) -> (&str, &str) {
    physical_id.split_once(':').unwrap_or((physical_id, ""))
}
