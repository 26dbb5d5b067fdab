//! Snapshots of a volume, and its return to them. Source: Block Storage API v3, "Volume snapshots", "Revert volume to
//! snapshot".
//!
//! A backup would outlive its volume, but needs a service that many clouds lack. A snapshot needs none. Cinder returns a
//! volume to its newest snapshot only, at its size of then, and while no server has it. So a volume that is attached is
//! detached for it, and attached to the same server afterwards; an entry in its metadata names the server until then, also
//! after a crash. Before it is attached, another entry names the restoration, and stays: the next attempt does not undo what
//! the server has written since, even if only the last response of this attempt was lost. The boot disk of a server cannot
//! be detached. Cinder deletes no volume that has snapshots.
//!
//! A snapshot has a name with the start of the volume's id and the occasion, by which it is found again when the response
//! to the request was lost.

use async_trait::async_trait;
use openstack::Session;
use openstack::block_storage::{Snapshot as FoundSnapshot, Volume as Found};
use openstack::server_actions::ActionOutcome;
use serde_json::{Value, json};

use super::super::nova_requests::{outcome, reason};
use super::super::volume_attachment::{ATTACH, DETACH, DETACHED, VolumeAttachment};
use super::super::{marker, record};
use super::{Volume, effect};
use crate::driver::{Context, Driver, DriverError, Progress, Ready, Restore};

/// The attribute of a ready snapshot with its size in bytes.
const SIZE: &str = "size";

/// Key in the metadata of a volume that was attached again after the return of its data: the occasion of its last
/// restoration.
const RETURNED: &str = "stackloom-returned";

/// The end of a snapshot's name.
fn ending(id: &str, occasion: &str) -> String {
    let short: String = id.chars().take(8).collect();
    format!("-snapshot-{short}-{occasion}")
}

#[async_trait]
impl Restore for Volume {
    async fn take(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        occasion: &str,
    ) -> Result<Progress, DriverError> {
        let storage = context.session.block_storage();
        let name = marker::physical_name(context.marker, context.properties);
        let name = format!("{name}{}", ending(physical_id, occasion));
        let all = snapshots(context.session, physical_id).await?;
        let is_it = |one: &&FoundSnapshot| one.name.as_deref() == Some(&name);
        let Some(found) = all.iter().find(is_it) else {
            let volume = storage.volume_get(physical_id).await?;
            let is_used = volume.status == "in-use";
            let fields = json!({"volume_id": physical_id, "name": name, "force": is_used});
            storage.snapshot_create(&fields).await?;
            return Ok(Progress::Pending(format!(
                "snapshot `{name}` is being made"
            )));
        };
        Ok(match found.status.as_str() {
            "available" => Progress::Ready(Ready {
                reference: json!(found.id),
                attributes: [(SIZE.to_owned(), json!(found.size << 30))]
                    .into_iter()
                    .collect(),
            }),
            status if status.starts_with("error") => {
                Progress::Failed(format!("snapshot `{name}` is in state {status}"))
            }
            status => Progress::Pending(format!("snapshot `{name}` is in state {status}")),
        })
    }

    async fn obstacle(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<String>, DriverError> {
        let found = context.session.poller().volume(physical_id).await?;
        let Some(volume) = found else {
            return Ok(Some("it is gone from the cloud".to_owned()));
        };
        if let Some(why) = fixed(context, &volume).await? {
            return Ok(Some(why.to_owned()));
        }
        let is_broken = volume.status.starts_with("error");
        Ok(is_broken.then(|| format!("it is in state {}", volume.status)))
    }

    async fn restore(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        snapshot: &str,
        occasion: &str,
    ) -> Result<Progress, DriverError> {
        // Read afresh: an older state would look as if the return had ended.
        let storage = context.session.block_storage();
        let volume = match storage.volume_get(physical_id).await {
            Err(error) if error.is_not_found() => {
                return Ok(Progress::Failed("it is gone from the cloud".to_owned()));
            }
            volume => volume?,
        };
        let reverted = context.accepted.newest(effect::REVERT, physical_id);
        let is_back = reverted.is_some() || has_returned(&volume, occasion);
        match (volume.status.as_str(), is_back) {
            ("in-use", false) => detach(context, &volume, snapshot).await,
            ("available", false) => revert(context, &volume, snapshot).await,
            ("in-use" | "available", true) => attach_again(context, &volume, occasion).await,
            (status, _) if status.starts_with("error") => {
                let why = effect::reason(context, physical_id, reverted.as_ref()).await?;
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                Ok(Progress::Failed(format!(
                    "the cloud put the volume in state {status}{why}"
                )))
            }
            (status, _) => Ok(Progress::Pending(format!(
                "the volume is in state {status}"
            ))),
        }
    }

    async fn remove_snapshot(
        &self,
        session: &Session,
        physical_id: &str,
        occasion: &str,
        snapshot: Option<&str>,
    ) -> Result<bool, DriverError> {
        let ending = ending(physical_id, occasion);
        let all = snapshots(session, physical_id).await?;
        let unwanted = all.into_iter().filter(|one| {
            let name = one.name.as_deref().unwrap_or_default();
            name.ends_with(&ending) || snapshot == Some(&one.id)
        });
        let mut is_idle = true;
        for one in unwanted {
            match one.status.as_str() {
                "deleting" => {}
                "creating" | "restoring" => is_idle = false,
                _ => {
                    let deleted = session.block_storage().snapshot_delete(&one.id).await;
                    record::done_if_gone(deleted)?;
                }
            }
        }
        Ok(is_idle)
    }

    fn restores_newest_only(&self) -> bool {
        true
    }

    fn snapshots_block_deletion(&self) -> bool {
        true
    }
}

/// The snapshots of a volume.
async fn snapshots(session: &Session, volume: &str) -> Result<Vec<FoundSnapshot>, DriverError> {
    let storage = session.block_storage();
    let mut all = storage.snapshot_list(&[("volume_id", volume)]).await?;
    all.retain(|one| one.volume_id == volume);
    Ok(all)
}

/// Snapshots that a refused deletion of their volume waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocking {
    /// There are none.
    None,
    /// All of them are being deleted.
    Going,
    /// Some of them stay.
    Staying,
}

/// The snapshots that keep a volume from being deleted.
pub(super) async fn blocking(session: &Session, volume: &str) -> Result<Blocking, DriverError> {
    let all = snapshots(session, volume).await?;
    Ok(if all.is_empty() {
        Blocking::None
    } else if all.iter().all(|one| one.status == "deleting") {
        Blocking::Going
    } else {
        Blocking::Staying
    })
}

/// The reason why a volume cannot be detached. `None` if it can, or is attached to no server.
async fn fixed(context: &Context<'_>, volume: &Found) -> Result<Option<&'static str>, DriverError> {
    let attachment = match &volume.attachments[..] {
        [] => return Ok(None),
        [attachment] => attachment,
        _ => return Ok(Some("it is attached to several servers")),
    };
    if volume.other.get("bootable").and_then(Value::as_str) != Some("true") {
        return Ok(None);
    }
    let poller = context.session.poller();
    let server = poller.server(&attachment.server_id).await?;
    // Nova returns an empty text instead of an image if the server boots from a volume.
    let boots =
        server.is_some_and(|server| server.other.get("image").is_some_and(Value::is_string));
    Ok(boots.then_some("a server boots from it"))
}

/// The reason why Cinder would refuse to return a volume to a snapshot, known before the volume is detached.
async fn mismatch(
    context: &Context<'_>,
    volume: &Found,
    snapshot: &str,
) -> Result<Option<String>, DriverError> {
    let all = snapshots(context.session, &volume.id).await?;
    let Some(wanted) = all.iter().find(|one| one.id == snapshot) else {
        return Ok(Some("its snapshot is gone from the cloud".to_owned()));
    };
    let created = |one: &FoundSnapshot| {
        let created = one.other.get("created_at").and_then(Value::as_str);
        created.map(str::to_owned)
    };
    if let Some(newer) = all.iter().find(|one| created(one) > created(wanted)) {
        return Ok(Some(format!(
            "Cinder returns a volume to its newest snapshot only, and snapshot {} is newer. Delete that first",
            newer.id
        )));
    }
    Ok((volume.size != wanted.size).then(|| {
        format!(
            "Cinder returns a volume to a snapshot of its size only. The volume has {} GiB, and had {} GiB",
            volume.size, wanted.size
        )
    }))
}

/// Detaches a volume from its server, and records that server in the volume's metadata.
async fn detach(
    context: &Context<'_>,
    volume: &Found,
    snapshot: &str,
) -> Result<Progress, DriverError> {
    let storage = context.session.block_storage();
    let id = &volume.id;
    let under_way = || Progress::Pending("the volume is being detached".to_owned());
    let why = match fixed(context, volume).await? {
        Some(why) => Some(why.to_owned()),
        None => mismatch(context, volume, snapshot).await?,
    };
    let (Some(attachment), None) = (volume.attachments.first(), &why) else {
        let why = why.unwrap_or_else(|| "it is in use, and no server has it".to_owned());
        return Ok(Progress::Failed(why));
    };
    let server = &attachment.server_id;
    if let Some(request) = context.accepted.newest(DETACH, id) {
        // Nova returns a volume that it fails to detach to its server.
        let outcome = outcome(context, server, &request).await?;
        if !matches!(outcome, ActionOutcome::Failed(_)) {
            return Ok(under_way());
        }
        record::done_if_gone(storage.volume_unset_metadata(id, DETACHED).await)?;
        return Ok(Progress::Failed(format!(
            "it was not detached from server {server}: {}. Unmount it in the server, then restore again",
            reason(&outcome, server, &request)
        )));
    }
    let device = attachment.device.as_deref().unwrap_or_default();
    let from = format!("{server} {device}");
    storage.volume_set_metadata(id, DETACHED, &from).await?;
    let plug = format!("{server}:{id}");
    VolumeAttachment.delete(context, Some(&plug)).await?;
    Ok(under_way())
}

/// Returns a detached volume to its snapshot. If Cinder refuses, the server gets its volume back.
async fn revert(
    context: &Context<'_>,
    volume: &Found,
    snapshot: &str,
) -> Result<Progress, DriverError> {
    let storage = context.session.block_storage();
    let refused = match mismatch(context, volume, snapshot).await? {
        Some(why) => why,
        None => match storage.volume_revert(&volume.id, snapshot).await {
            Ok(request) => {
                context.accepted.note(effect::REVERT, &volume.id, request);
                let what = "the volume returns to its snapshot";
                return Ok(Progress::Pending(what.to_owned()));
            }
            Err(error) if error.is_transient() || error.is_unauthorized() => {
                return Err(error.into());
            }
            Err(error) => error.to_string(),
        },
    };
    if volume.metadata.contains_key(DETACHED) {
        attach(context, volume).await?;
        record::done_if_gone(storage.volume_unset_metadata(&volume.id, DETACHED).await)?;
    }
    // A repetition would detach the volume again.
    Ok(Progress::Failed(refused))
}

/// Attaches a volume to the server that had it, or returns the progress. Ready at once if none had it, or if an earlier
/// attempt came to the end.
async fn attach_again(
    context: &Context<'_>,
    volume: &Found,
    occasion: &str,
) -> Result<Progress, DriverError> {
    let Some((server, _)) = detached_from(volume) else {
        return Ok(Progress::Ready(Ready::default()));
    };
    let id = &volume.id;
    if volume.status == "available" && context.accepted.newest(ATTACH, id).is_none() {
        let storage = context.session.block_storage();
        storage.volume_set_metadata(id, RETURNED, occasion).await?;
        attach(context, volume).await?;
        return Ok(Progress::Pending("the volume is being attached".to_owned()));
    }
    let plug = format!("{server}:{id}");
    Ok(match VolumeAttachment.progress(context, &plug).await? {
        Progress::Ready(_) => {
            let storage = context.session.block_storage();
            record::done_if_gone(storage.volume_unset_metadata(id, DETACHED).await)?;
            Progress::Ready(Ready::default())
        }
        Progress::Failed(why) => Progress::Failed(format!(
            "its data is back, but its server did not get it back: {why}. Check the deployment, and repair it"
        )),
        other => other,
    })
}

/// Requests the attachment of a volume to the server that had it.
async fn attach(context: &Context<'_>, volume: &Found) -> Result<(), DriverError> {
    let Some((server, device)) = detached_from(volume) else {
        return Ok(());
    };
    let device = (!device.is_empty()).then_some(device);
    let compute = context.session.compute();
    let request = compute
        .attachment_create(server, &volume.id, device)
        .await?;
    context.accepted.note(ATTACH, &volume.id, request);
    Ok(())
}

/// Id of the server from which a restoration has detached a volume, and its device there.
fn detached_from(volume: &Found) -> Option<(&str, &str)> {
    let mut entry = volume.metadata.get(DETACHED)?.split(' ');
    Some((entry.next()?, entry.next()?))
}

/// True for the metadata key of an entry that a restoration writes.
pub(super) fn is_own_entry(key: &str) -> bool {
    [DETACHED, RETURNED].contains(&key)
}

/// True if a restoration has returned a volume's data already, in an earlier attempt.
fn has_returned(volume: &Found, occasion: &str) -> bool {
    let entry = volume.metadata.get(RETURNED);
    entry.is_some_and(|entry| entry == occasion)
}
