//! Response bodies of Cinder's volumes, snapshots and types, by microversion.

use serde_json::{Value, json};

use crate::kit::microversion::Microversion;
use crate::kit::query::Detail;
use crate::kit::token::Member;
use crate::services::Model;
use crate::services::block_storage::snapshot::Snapshot;
use crate::services::block_storage::volume::Volume;
use crate::services::block_storage::volume_type::VolumeType;

/// A time in Cinder's format: no zone, with microseconds.
pub fn time(time: &str) -> String {
    format!("{}.000000", time.trim_end_matches('Z'))
}

fn links(base: &str, project: &str, kind: &str, id: &str) -> Value {
    json!([
        {"rel": "self", "href": format!("{base}/volume/v3/{project}/{kind}/{id}")},
        {"rel": "bookmark", "href": format!("{base}/volume/{project}/{kind}/{id}")},
    ])
}

/// A volume in `GET /volumes`.
pub fn volume_summary(row: &Volume, base: &str) -> Value {
    json!({"id": row.id, "name": row.name, "links": links(base, &row.project_id, "volumes", &row.id)})
}

/// A volume in full.
pub fn volume_document(model: &Model, row: &Volume, version: Microversion, base: &str) -> Value {
    let since = |minor: u16| version >= Microversion(3, minor);
    let attachments: Vec<Value> = row
        .attachments
        .iter()
        .map(|one| {
            json!({
                "id": row.id,
                "attachment_id": one.id,
                "volume_id": row.id,
                "server_id": one.server_id,
                "host_name": null,
                "device": one.device,
                "attached_at": time(&one.attached_at),
            })
        })
        .collect();
    let mut document = volume_summary(row, base);
    let fields = json!({
        "status": row.status.as_str(),
        "size": row.size,
        "description": row.description,
        "availability_zone": row.availability_zone,
        "volume_type": row.volume_type,
        "bootable": if row.bootable { "true" } else { "false" },
        "encrypted": false,
        "multiattach": row.multiattach,
        "attachments": attachments,
        "metadata": row.metadata,
        "snapshot_id": row.snapshot_id,
        "source_volid": row.source_volid,
        "consistencygroup_id": null,
        "replication_status": null,
        "user_id": row.user_id,
        "created_at": time(&row.created_at),
        "updated_at": row.updated_at.as_deref().map(time),
        "os-vol-tenant-attr:tenant_id": row.project_id,
    });
    merge(&mut document, fields);
    if !row.image_metadata.is_empty() {
        document["volume_image_metadata"] = json!(row.image_metadata);
    }
    if since(13) {
        document["group_id"] = Value::Null;
    }
    if since(21) {
        document["provider_id"] = Value::Null;
    }
    if since(48) {
        document["service_uuid"] = Value::Null;
        // Since 3.69 the field has three values.
        document["shared_targets"] = if since(69) { Value::Null } else { false.into() };
    }
    if since(61) {
        document["cluster_name"] = Value::Null;
    }
    if since(63) {
        let mut types = model.block_storage.types.iter();
        let kind = types.find(|kind| kind.name == row.volume_type);
        document["volume_type_id"] = json!(kind.map(|kind| &kind.id));
    }
    if since(64) {
        document["encryption_key_id"] = Value::Null;
    }
    if since(65) {
        document["consumes_quota"] = true.into();
    }
    document
}

/// A snapshot. `Detail::Bare` are the fields of `GET /snapshots`.
pub fn snapshot_document(row: &Snapshot, version: Microversion, detail: Detail) -> Value {
    let since = |minor: u16| version >= Microversion(3, minor);
    let mut document = json!({
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "volume_id": row.volume_id,
        "status": row.status.as_str(),
        "size": row.size,
        "metadata": row.metadata,
        "created_at": time(&row.created_at),
        "updated_at": row.updated_at.as_deref().map(time),
    });
    if detail == Detail::Full {
        let done = row.updated_at.is_some();
        document["os-extended-snapshot-attributes:progress"] =
            if done { "100%" } else { "0%" }.into();
        document["os-extended-snapshot-attributes:project_id"] = json!(row.project_id);
    }
    if since(14) {
        document["group_snapshot_id"] = Value::Null;
    }
    if since(41) {
        document["user_id"] = json!(row.user_id);
    }
    if since(65) {
        document["consumes_quota"] = true.into();
    }
    document
}

/// Extra specs that are visible to all users.
const OPEN_SPECS: &[&str] = &[
    "RESKEY:availability_zones",
    "multiattach",
    "replication_enabled",
];

/// The extra specs of a volume type that are visible to the caller.
pub fn specs_for(row: &VolumeType, asker: &Member) -> Value {
    let specs = row.extra_specs.iter();
    let seen = specs.filter(|(key, _)| asker.admin || OPEN_SPECS.contains(&key.as_str()));
    seen.map(|(key, value)| (key.clone(), json!(value)))
        .collect()
}

/// A volume type, with the fields that are visible to the caller.
pub fn type_for(row: &VolumeType, asker: &Member) -> Value {
    let mut document = type_document(row);
    document["extra_specs"] = specs_for(row, asker);
    if let (false, Some(document)) = (asker.admin, document.as_object_mut()) {
        document.remove("qos_specs_id");
    }
    document
}

/// A volume type with all fields, for administrators.
pub fn type_document(row: &VolumeType) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "is_public": row.is_public,
        "os-volume-type-access:is_public": row.is_public,
        "extra_specs": row.extra_specs,
        "qos_specs_id": row.qos_specs,
    })
}

/// Inserts all fields of one object into another.
fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}
