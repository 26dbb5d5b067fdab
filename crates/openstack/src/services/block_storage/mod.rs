//! Cinder: volumes, their snapshots, attachments and types.
//!
//! Calls use version 3 without a microversion, which all clouds since 2016 support. Attachments as separate resources
//! need 3.27, the return to a snapshot 3.40. The metadata of a volume contains Stackloom's marker, as names are not unique.

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

/// First microversion with attachments as separate resources.
const ATTACHMENTS: Microversion = Microversion(3, 27);
/// First microversion with the return of a volume to its newest snapshot.
const REVERT: Microversion = Microversion(3, 40);

impl Session {
    /// Cinder.
    pub fn block_storage(&self) -> BlockStorage<'_> {
        BlockStorage(self)
    }
}

/// Calls to Cinder.
pub struct BlockStorage<'a>(pub(crate) &'a Session);

/// A disk with a lifetime independent of servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Volume {
    /// Id assigned by Cinder.
    pub id: String,
    /// Display name, not unique.
    pub name: Option<String>,
    /// Free text.
    pub description: Option<String>,
    /// `creating`, `available`, `in-use`, `deleting`, `error`, `error_deleting` ...
    pub status: String,
    /// Size in GiB.
    pub size: u64,
    /// Name of the volume type.
    pub volume_type: Option<String>,
    /// Metadata of Stackloom and of the user.
    pub metadata: BTreeMap<String, String>,
    /// Servers with this volume attached.
    pub attachments: Vec<VolumeAttachment>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Attachment of a volume to a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeAttachment {
    /// Id of the volume, for historical reasons.
    pub id: String,
    /// Id of the attachment itself.
    pub attachment_id: String,
    /// Id of the server.
    pub server_id: String,
    /// Id of the volume.
    pub volume_id: String,
    /// Device name reported by the hypervisor, such as `/dev/vdb`. The guest can use another one.
    pub device: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A point-in-time copy of a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// Id assigned by Cinder.
    pub id: String,
    /// Display name, not unique.
    pub name: Option<String>,
    /// `creating`, `available`, `deleting`, `error` ...
    pub status: String,
    /// Id of the volume.
    pub volume_id: String,
    /// Size in GiB.
    pub size: u64,
    /// Metadata of Stackloom and of the user.
    pub metadata: BTreeMap<String, String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A copy of a volume in other storage. It outlives the volume, unlike a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Backup {
    /// Id assigned by Cinder.
    pub id: String,
    /// Display name, not unique.
    pub name: Option<String>,
    /// `creating`, `available`, `deleting`, `restoring`, `error`, `error_deleting`.
    pub status: String,
    /// Id of the volume.
    pub volume_id: String,
    /// Reason of a failure.
    pub fail_reason: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A volume type, defined by the cloud's administrator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeType {
    /// Id assigned by Cinder.
    pub id: String,
    /// Unique name.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// All other fields.
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

    /// Volumes with all details; `query` contains Cinder's filters.
    pub async fn volume_list(&self, query: &[(&str, &str)]) -> Result<Vec<Volume>, Error> {
        self.list(&["volumes", "detail"], "volumes", query).await
    }

    /// The volume with this id.
    pub async fn volume_get(&self, id: &str) -> Result<Volume, Error> {
        self.call(Method::GET, &["volumes", id])
            .fetch("volume")
            .await
    }

    /// A volume by its id, or by a name that is unique in the project.
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

    /// Creates a volume; `hints` are scheduler hints.
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

    /// Changes name, description or metadata of a volume. Metadata is replaced as a whole.
    pub async fn volume_update(&self, id: &str, fields: &Value) -> Result<Volume, Error> {
        let call = self.call(Method::PUT, &["volumes", id]);
        call.json(&json!({"volume": fields})).fetch("volume").await
    }

    /// Extends a volume. A volume in use needs a cloud with microversion 3.42. Returns the request id.
    pub async fn volume_extend(&self, id: &str, gib: u64) -> Result<String, Error> {
        let call = self.call(Method::POST, &["volumes", id, "action"]);
        let body = json!({"os-extend": {"new_size": gib}});
        let call = call.json(&body).microversion(Microversion(3, 42));
        Ok(call.send().await?.request_id())
    }

    /// Changes the type of a volume, with a migration if necessary. Returns the request id.
    pub async fn volume_retype(&self, id: &str, volume_type: &str) -> Result<String, Error> {
        let body = json!({"os-retype": {"new_type": volume_type, "migration_policy": "on-demand"}});
        let call = self.call(Method::POST, &["volumes", id, "action"]);
        Ok(call.json(&body).send().await?.request_id())
    }

    /// Returns a volume to its newest snapshot, which is the only one that Cinder takes. The volume must be attached to no
    /// server, and have the size that it had then. Returns the request id.
    pub async fn volume_revert(&self, id: &str, snapshot: &str) -> Result<String, Error> {
        let body = json!({"revert": {"snapshot_id": snapshot}});
        let call = self.call(Method::POST, &["volumes", id, "action"]);
        let call = call.json(&body).microversion(REVERT);
        Ok(call.send().await?.request_id())
    }

    /// Sets an entry of a volume's metadata. Other entries stay.
    pub async fn volume_set_metadata(&self, id: &str, key: &str, value: &str) -> Result<(), Error> {
        let call = self.call(Method::POST, &["volumes", id, "metadata"]);
        let call = call.json(&json!({"metadata": {key: value}}));
        call.send().await.map(drop)
    }

    /// Removes an entry of a volume's metadata. A missing entry is an error of status 404.
    pub async fn volume_unset_metadata(&self, id: &str, key: &str) -> Result<(), Error> {
        let call = self.call(Method::DELETE, &["volumes", id, "metadata", key]);
        call.send().await.map(drop)
    }

    /// Deletes a volume. Returns the request id. A missing volume is an error of status 404.
    pub async fn volume_delete(&self, id: &str) -> Result<String, Error> {
        let call = self.call(Method::DELETE, &["volumes", id]);
        Ok(call.send().await?.request_id())
    }

    /// Snapshots with all details.
    pub async fn snapshot_list(&self, query: &[(&str, &str)]) -> Result<Vec<Snapshot>, Error> {
        self.list(&["snapshots", "detail"], "snapshots", query)
            .await
    }

    /// Creates a snapshot: `volume_id`, `name`, `force` for volumes in use ...
    pub async fn snapshot_create(&self, fields: &Value) -> Result<Snapshot, Error> {
        let call = self.call(Method::POST, &["snapshots"]);
        call.json(&json!({"snapshot": fields}))
            .fetch("snapshot")
            .await
    }

    /// Deletes a snapshot. A missing snapshot is an error of status 404.
    pub async fn snapshot_delete(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &["snapshots", id])
            .send()
            .await
            .map(drop)
    }

    /// Backups with all details; `query` contains Cinder's filters.
    pub async fn backup_list(&self, query: &[(&str, &str)]) -> Result<Vec<Backup>, Error> {
        self.list(&["backups", "detail"], "backups", query).await
    }

    /// Creates a backup: `volume_id`, `name`, `force` for volumes in use ... A cloud without the backup service answers
    /// 404.
    pub async fn backup_create(&self, fields: &Value) -> Result<Backup, Error> {
        let call = self.call(Method::POST, &["backups"]);
        call.json(&json!({"backup": fields})).fetch("backup").await
    }

    /// Deletes a backup. A missing backup is an error of status 404.
    pub async fn backup_delete(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &["backups", id])
            .send()
            .await
            .map(drop)
    }

    /// Volume types that are available to the project.
    pub async fn type_list(&self) -> Result<Vec<VolumeType>, Error> {
        self.list(&["types"], "volume_types", &[]).await
    }

    /// Attachments of the project's volumes; `query` contains Cinder's filters (`volume_id`, `instance_id`).
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
