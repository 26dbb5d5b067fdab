//! Cinder: volumes, their snapshots, attachments and types.
//!
//! All calls speak version 3 without a microversion, as every cloud since 2016 does; attachments of
//! their own came with 3.27. A volume carries our marker in its metadata: names are not unique.

pub mod messages;
pub mod volume_types;

use std::collections::BTreeMap;

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::lookups::only;
use crate::wire::call::Call;
use crate::wire::id::looks_like_id;
use crate::{Error, Microversion, Service, Session};

/// The first that has attachments as things of their own.
const ATTACHMENTS: Microversion = Microversion(3, 27);

impl Session {
    /// Cinder.
    pub fn block_storage(&self) -> BlockStorage<'_> {
        BlockStorage(self)
    }
}

/// Calls to Cinder.
pub struct BlockStorage<'a>(pub(crate) &'a Session);

/// A disk that outlives servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Volume {
    /// The cloud's id.
    pub id: String,
    /// For people; not unique.
    pub name: Option<String>,
    /// Free text.
    pub description: Option<String>,
    /// `creating`, `available`, `in-use`, `deleting`, `error`, `error_deleting` ...
    pub status: String,
    /// In GiB.
    pub size: u64,
    /// Name of its type.
    pub volume_type: Option<String>,
    /// Ours and the person's.
    pub metadata: BTreeMap<String, String>,
    /// The servers that have it.
    pub attachments: Vec<VolumeAttachment>,
    /// All else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A server that has a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeAttachment {
    /// Of the volume, for historical reasons.
    pub id: String,
    /// Of the attachment itself.
    pub attachment_id: String,
    /// Which server.
    pub server_id: String,
    /// Which volume.
    pub volume_id: String,
    /// `/dev/vdb`, as the hypervisor says; guests may see it elsewhere.
    pub device: Option<String>,
    /// All else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A volume as it was once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// The cloud's id.
    pub id: String,
    /// For people; not unique.
    pub name: Option<String>,
    /// `creating`, `available`, `deleting`, `error` ...
    pub status: String,
    /// Of what.
    pub volume_id: String,
    /// In GiB.
    pub size: u64,
    /// Ours and the person's.
    pub metadata: BTreeMap<String, String>,
    /// All else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a volume had in it once, kept elsewhere: it outlives the volume, as a snapshot does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Backup {
    /// The cloud's id.
    pub id: String,
    /// For people; not unique.
    pub name: Option<String>,
    /// `creating`, `available`, `deleting`, `restoring`, `error`, `error_deleting`.
    pub status: String,
    /// Of what.
    pub volume_id: String,
    /// Why it failed.
    pub fail_reason: Option<String>,
    /// All else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A kind of volume: fast, replicated, encrypted ... as the cloud's administrator named it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeType {
    /// The cloud's id.
    pub id: String,
    /// Unique.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// All else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl BlockStorage<'_> {
    fn call(&self, method: Method, path: &[&str]) -> Call<'_> {
        self.0.call(Service::BlockStorage, method, path)
    }

    async fn list<T: DeserializeOwned>(
        &self,
        path: &[&str],
        key: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, Error> {
        let call = self.call(Method::GET, path).query(query.iter().copied());
        call.list(key).await
    }

    /// Volumes with all details; filters as Cinder names them.
    pub async fn volume_list(&self, query: &[(&str, &str)]) -> Result<Vec<Volume>, Error> {
        self.list(&["volumes", "detail"], "volumes", query).await
    }

    /// One volume.
    pub async fn volume_get(&self, id: &str) -> Result<Volume, Error> {
        self.call(Method::GET, &["volumes", id])
            .fetch("volume")
            .await
    }

    /// By id, or by a name that only one volume has.
    pub async fn volume_find(&self, name_or_id: &str) -> Result<Volume, Error> {
        if looks_like_id(name_or_id) {
            match self.volume_get(name_or_id).await {
                Err(error) if error.is_not_found() => {}
                other => return other,
            }
        }
        let mut named = self.volume_list(&[("name", name_or_id)]).await?;
        named.retain(|volume| volume.name.as_deref() == Some(name_or_id));
        only(named, "volume", name_or_id, |volume| &volume.id)
    }

    /// Order a volume; `hints` are scheduler hints.
    pub async fn volume_create(
        &self,
        fields: &Value,
        hints: Option<&Value>,
    ) -> Result<Volume, Error> {
        let mut body = json!({"volume": fields});
        if let Some(hints) = hints {
            body["OS-SCH-HNT:scheduler_hints"] = hints.clone();
        }
        let call = self.call(Method::POST, &["volumes"]).json(&body);
        call.fetch("volume").await
    }

    /// Change name, description or metadata (all of it) of a volume.
    pub async fn volume_update(&self, id: &str, fields: &Value) -> Result<Volume, Error> {
        let call = self.call(Method::PUT, &["volumes", id]);
        call.json(&json!({"volume": fields})).fetch("volume").await
    }

    /// Make a volume larger. A volume in use needs a cloud that can do that (microversion 3.42). Returns the request's id.
    pub async fn volume_extend(&self, id: &str, gib: u64) -> Result<String, Error> {
        let call = self.call(Method::POST, &["volumes", id, "action"]);
        let body = json!({"os-extend": {"new_size": gib}});
        let call = call.json(&body).microversion(Microversion(3, 42));
        Ok(call.send().await?.request_id())
    }

    /// Give a volume another type, moving it if need be. Returns the request's id.
    pub async fn volume_retype(&self, id: &str, volume_type: &str) -> Result<String, Error> {
        let body = json!({"os-retype": {"new_type": volume_type, "migration_policy": "on-demand"}});
        let call = self.call(Method::POST, &["volumes", id, "action"]);
        Ok(call.json(&body).send().await?.request_id())
    }

    /// Remove a volume. Returns the request's id. Not there is an error of status 404.
    pub async fn volume_delete(&self, id: &str) -> Result<String, Error> {
        let call = self.call(Method::DELETE, &["volumes", id]);
        Ok(call.send().await?.request_id())
    }

    /// Snapshots with all details.
    pub async fn snapshot_list(&self, query: &[(&str, &str)]) -> Result<Vec<Snapshot>, Error> {
        self.list(&["snapshots", "detail"], "snapshots", query)
            .await
    }

    /// One snapshot.
    pub async fn snapshot_get(&self, id: &str) -> Result<Snapshot, Error> {
        self.call(Method::GET, &["snapshots", id])
            .fetch("snapshot")
            .await
    }

    /// Order a snapshot: `volume_id`, `name`, `force` for volumes in use ...
    pub async fn snapshot_create(&self, fields: &Value) -> Result<Snapshot, Error> {
        let call = self.call(Method::POST, &["snapshots"]);
        call.json(&json!({"snapshot": fields}))
            .fetch("snapshot")
            .await
    }

    /// Remove a snapshot. Not there is an error of status 404.
    pub async fn snapshot_delete(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &["snapshots", id])
            .send()
            .await
            .map(drop)
    }

    /// Backups with all details; filters as Cinder names them.
    pub async fn backup_list(&self, query: &[(&str, &str)]) -> Result<Vec<Backup>, Error> {
        self.list(&["backups", "detail"], "backups", query).await
    }

    /// Order a backup: `volume_id`, `name`, `force` for volumes in use ... A cloud without the service for it answers 404.
    pub async fn backup_create(&self, fields: &Value) -> Result<Backup, Error> {
        let call = self.call(Method::POST, &["backups"]);
        call.json(&json!({"backup": fields})).fetch("backup").await
    }

    /// Remove a backup. Not there is an error of status 404.
    pub async fn backup_delete(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &["backups", id])
            .send()
            .await
            .map(drop)
    }

    /// Kinds of volumes that the project may have.
    pub async fn type_list(&self) -> Result<Vec<VolumeType>, Error> {
        self.list(&["types"], "volume_types", &[]).await
    }

    /// Attachments of the project's volumes; filters as Cinder names them (`volume_id`, `instance_id`).
    pub async fn attachment_list(&self, query: &[(&str, &str)]) -> Result<Vec<Value>, Error> {
        let call = self
            .call(Method::GET, &["attachments"])
            .query(query.iter().copied());
        call.microversion(ATTACHMENTS).list("attachments").await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_as_cinder_answers() {
        let volume: Volume = serde_json::from_value(json!({
            "id": "v", "name": "data", "status": "in-use", "size": 2, "volume_type": "fast", "bootable": "false",
            "metadata": {"stackloom": "d/data"}, "description": null,
            "attachments": [{"id": "v", "attachment_id": "a", "server_id": "s", "volume_id": "v",
                             "device": "/dev/vdb", "host_name": null}]}))
        .unwrap();
        assert_eq!(volume.attachments[0].server_id, "s");
        assert_eq!(volume.other["bootable"], "false");
    }
}
