//! Cinder v3: volume types, limits, quotas, zones, extensions: lookups before a volume is created.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::services::block_storage::PREFIXES;
use crate::services::block_storage::body::object;
use crate::services::block_storage::view::{specs_for, type_for};
use crate::services::block_storage::volume_type::DEFAULT_TYPE;
use crate::services::quota::{Quotas, VOLUME};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below_each(PREFIXES)
        .get("/types", types)
        .get("/types/{id}", one_type)
        .get("/types/{id}/extra_specs", extra_specs)
        .get("/limits", limits)
        .get("/os-quota-sets/{id}", quota_set)
        .put("/os-quota-sets/{id}", change_quota_set)
        .delete("/os-quota-sets/{id}", reset_quota_set)
        .get("/os-quota-sets/{id}/defaults", quota_set)
        .get("/os-services", services)
        .get("/os-availability-zone", zones)
        .get("/extensions", extensions)
        .get("/messages", messages)
}

async fn types(call: Call) -> Answer {
    let member = call.member()?;
    // Administrators can also list private types.
    let is_public = call.query_value("is_public").unwrap_or("true");
    let wanted = |public: bool| match is_public.to_lowercase().as_str() {
        "none" => true,
        word => public == matches!(word, "true" | "1"),
    };
    let rows = call.app.read(|model| {
        let all = model.block_storage.types.iter();
        let rows = all
            .filter(|row| {
                if member.admin {
                    wanted(row.is_public)
                } else {
                    row.is_for(&member.project_id)
                }
            })
            .collect();
        query::page_rows(rows, &call.query, 1_000, |row| &row.id).map(|(rows, _)| {
            let rows = rows.into_iter();
            rows.map(|row| type_for(row, &member))
                .collect::<Vec<Value>>()
        })
    });
    let rows = rows.ok_or_else(|| not_found("marker"))?;
    reply(200, json!({ "volume_types": rows }))
}

pub(crate) fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "VolumeTypeNotFound",
        format!("Volume type {id} could not be found."),
    )
}

async fn one_type(call: Call) -> Answer {
    let member = call.member()?;
    let id = call.id();
    let shown = call.app.read(|model| {
        let mut rows = model.volume_types_for(&member);
        let found = rows.find(|row| row.id == id || (id == "default" && row.name == DEFAULT_TYPE));
        found.map(|row| type_for(row, &member))
    });
    let shown = shown.ok_or_else(|| not_found(id))?;
    reply(200, json!({ "volume_type": shown }))
}

async fn extra_specs(call: Call) -> Answer {
    let member = call.member()?;
    let specs = call.app.read(|model| {
        let mut rows = model.volume_types_for(&member);
        let row = rows.find(|row| row.id == call.id());
        row.map(|row| specs_for(row, &member))
    });
    let specs = specs.ok_or_else(|| not_found(call.id()))?;
    reply(200, json!({ "extra_specs": specs }))
}

async fn limits(call: Call) -> Answer {
    let member = call.member()?;
    let absolute = call.app.read(|model| {
        let limit = |name: &str| model.quotas.limit(&member.project_id, name);
        let (volumes, gigabytes) = model.volume_usage(&member.project_id);
        let snapshots = model
            .block_storage
            .snapshots
            .iter()
            .filter(|row| row.project_id == member.project_id)
            .count();
        json!({
            "maxTotalVolumes": limit("volumes"),
            "maxTotalSnapshots": limit("snapshots"),
            "maxTotalVolumeGigabytes": limit("gigabytes"),
            "maxTotalBackups": limit("backups"),
            "maxTotalBackupGigabytes": limit("backup_gigabytes"),
            "totalVolumesUsed": volumes,
            "totalSnapshotsUsed": snapshots,
            "totalGigabytesUsed": gigabytes,
            "totalBackupsUsed": 0,
            "totalBackupGigabytesUsed": 0,
        })
    });
    reply(200, json!({"limits": {"rate": [], "absolute": absolute}}))
}

async fn quota_set(call: Call) -> Answer {
    let member = call.member()?;
    if !member.can_access(call.id()) {
        return Err(Refusal::forbidden(
            "Policy doesn't allow volume_extension:quotas:show to be performed.",
        ));
    }
    let usage = call
        .query_value("usage")
        .is_some_and(|word| word.eq_ignore_ascii_case("true"));
    let mut set = call.app.read(|model| {
        let mut set = model.quotas.body(VOLUME, call.id());
        if usage {
            let (volumes, gigabytes) = model.volume_usage(call.id());
            for (name, limit) in set.as_object_mut().into_iter().flatten() {
                let used = match name.as_str() {
                    "volumes" => volumes,
                    "gigabytes" => gigabytes,
                    "snapshots" => {
                        let mine = model.block_storage.snapshots.iter();
                        mine.filter(|row| row.project_id == call.id()).count() as i64
                    }
                    _ => 0,
                };
                *limit = json!({"limit": limit, "in_use": used, "reserved": 0});
            }
        }
        set
    });
    set["id"] = call.id().into();
    reply(200, json!({ "quota_set": set }))
}

async fn change_quota_set(call: Call, body: Bytes) -> Answer {
    if !call.member()?.admin {
        return Err(Refusal::forbidden(
            "Policy doesn't allow volume_extension:quotas:update to be performed.",
        ));
    }
    let body = read_json(&body)?;
    let requested = object(&body, "quota_set")?;
    let limits = Quotas::read(VOLUME, requested)
        .map_err(|name| Refusal::bad_request(format!("Bad key(s) in quota set: {name}")))?;
    let set = call.app.change(|model| {
        model.quotas.set_for(call.id(), limits);
        model.quotas.body(VOLUME, call.id())
    });
    reply(200, json!({ "quota_set": set }))
}

async fn reset_quota_set(call: Call) -> Answer {
    if !call.member()?.admin {
        return Err(Refusal::forbidden(
            "Policy doesn't allow volume_extension:quotas:delete to be performed.",
        ));
    }
    call.app
        .change(|model| model.quotas.reset_for(VOLUME, call.id()));
    empty(200)
}

/// Only administrators can list the services behind the API, and the lab has none.
async fn services(call: Call) -> Answer {
    call.member()?;
    Err(Refusal::forbidden(
        "Policy doesn't allow volume_extension:services:index to be performed.",
    ))
}

async fn zones(call: Call) -> Answer {
    call.member()?;
    let zone = json!({"zoneName": "nova", "zoneState": {"available": true}});
    reply(200, json!({"availabilityZoneInfo": [zone]}))
}

async fn extensions(call: Call) -> Answer {
    call.member()?;
    reply(200, json!({"extensions": []}))
}

/// The messages with the reasons of failures. The lab writes none.
async fn messages(call: Call) -> Answer {
    call.member()?;
    reply(200, json!({"messages": []}))
}
