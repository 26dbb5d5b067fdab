//! `OS::Cinder::VolumeAttachment`: a volume that a server has.
//!
//! Nova plugs it in, Cinder tells how far that is. A volume is at most once at a server, so the two are
//! its identity: the physical id is `<server>:<volume>`, and what `get_resource` gives is the volume's id,
//! as in Heat. Another server or volume means to unplug and plug again.
//! Sources: Compute API, "Servers with volume attachments"; Block Storage API v3, "Volumes".

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::neutron;
use super::properties::Properties;
use crate::driver::{Context, Driver, DriverError, Duplicates, Progress, Ready};

pub(super) struct VolumeAttachment;

#[async_trait]
impl Driver for VolumeAttachment {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let (server, volume) = named(context).await?;
        let device = Properties::of(context.properties).filled("mountpoint")?;
        let compute = context.session.compute();
        let given = compute
            .attachment_create(&server, &volume, device.as_deref())
            .await;
        let id = format!("{server}:{volume}");
        match given {
            Ok(_) => Ok(id),
            // Refused when it is there already: from a call of ours whose answer was lost.
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
        let Some(found) = context.session.watcher().volume(volume).await? else {
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
            // Nova gives the volume back when it cannot plug it in.
            (None, "available") => {
                Progress::Failed("the volume is free again: the server could not take it".into())
            }
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
            // Without what it joins, it was never made.
            None => match named(context).await {
                Ok((server, volume)) => format!("{server}:{volume}"),
                Err(DriverError::Property { .. }) => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        let (server, volume) = parts(&id);
        let compute = context.session.compute();
        neutron::done_if_gone(compute.attachment_delete(server, volume).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let (server, volume) = parts(physical_id);
        let found = context.session.watcher().volume(volume).await?;
        Ok(found.is_none_or(|volume| {
            volume.status != "detaching"
                && !volume.attachments.iter().any(|one| one.server_id == server)
        }))
    }
}

async fn named(context: &Context<'_>) -> Result<(String, String), DriverError> {
    let properties = Properties::of(context.properties);
    let server = properties.required("instance_uuid")?;
    let volume = properties.required("volume_id")?;
    let found = context.session.block_storage().volume_find(&volume).await;
    let volume = found.map_err(|error| properties.looked_up("volume_id", error))?;
    Ok((server, volume.id))
}

fn parts(physical_id: &str) -> (&str, &str) {
    physical_id.split_once(':').unwrap_or((physical_id, ""))
}
