//! Cinder v3: volume types, limits, quotas, zones, extensions: what clients look up before they make a volume.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::view::{specs_for, type_for};
use super::{Answer, Asked, object};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::{App, query};
use crate::model::block_storage::volume_type::DEFAULT_TYPE;
use crate::model::network::quota::{Quotas, VOLUME};
use crate::model::refusal::Refusal;

pub fn routes(prefix: &str) -> Router<App> {
    let at = |path: &str| format!("{prefix}{path}");
    Router::new()
        .route(&at("/types"), get(types))
        .route(&at("/types/{id}"), get(one_type))
        .route(&at("/types/{id}/extra_specs"), get(extra_specs))
        .route(&at("/limits"), get(limits))
        .route(
            &at("/os-quota-sets/{id}"),
            get(quota_set).put(change_quota_set).delete(reset_quota_set),
        )
        .route(&at("/os-quota-sets/{id}/defaults"), get(quota_set))
        .route(&at("/os-services"), get(services))
        .route(&at("/os-availability-zone"), get(zones))
        .route(&at("/extensions"), get(extensions))
        .route(&at("/groups"), get(|asked| nothing(asked, "groups")))
        .route(&at("/groups/detail"), get(|asked| nothing(asked, "groups")))
        .route(
            &at("/os-volume-transfer"),
            get(|asked| nothing(asked, "transfers")),
        )
        .route(
            &at("/volume-transfers"),
            get(|asked| nothing(asked, "transfers")),
        )
        .route(&at("/messages"), get(|asked| nothing(asked, "messages")))
}

async fn types(State(app): State<App>, asked: Asked, Query(filters): query::Query) -> Answer {
    let member = asked.member()?;
    // Administrators may ask for the private ones, too.
    let is_public = query::value(&filters, "is_public").unwrap_or("true");
    let wanted = |public: bool| match is_public.to_lowercase().as_str() {
        "none" => true,
        word => public == matches!(word, "true" | "1"),
    };
    let rows = app.read(|model| {
        let all = model.block_storage.types.iter();
        let rows = all
            .filter(|row| match member.admin {
                true => wanted(row.is_public),
                false => row.is_for(&member.project_id),
            })
            .collect();
        query::page_rows(rows, &filters, 1_000, |row| &row.id).map(|(rows, _)| {
            let rows = rows.into_iter();
            rows.map(|row| type_for(row, member.asker()))
                .collect::<Vec<Value>>()
        })
    });
    let rows = rows.ok_or_else(|| not_found("marker"))?;
    Ok(json_answer(200, json!({ "volume_types": rows })))
}

pub(super) fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "VolumeTypeNotFound",
        format!("Volume type {id} could not be found."),
    )
}

async fn one_type(State(app): State<App>, asked: Asked) -> Answer {
    let member = asked.member()?;
    let id = asked.id();
    let shown = app.read(|model| {
        let mut rows = model.volume_types_for(member.asker());
        let found = rows.find(|row| row.id == id || (id == "default" && row.name == DEFAULT_TYPE));
        found.map(|row| type_for(row, member.asker()))
    });
    let shown = shown.ok_or_else(|| not_found(id))?;
    Ok(json_answer(200, json!({ "volume_type": shown })))
}

async fn extra_specs(State(app): State<App>, asked: Asked) -> Answer {
    let member = asked.member()?;
    let specs = app.read(|model| {
        let mut rows = model.volume_types_for(member.asker());
        let row = rows.find(|row| row.id == asked.id());
        row.map(|row| specs_for(row, member.asker()))
    });
    let specs = specs.ok_or_else(|| not_found(asked.id()))?;
    Ok(json_answer(200, json!({ "extra_specs": specs })))
}

async fn limits(State(app): State<App>, asked: Asked) -> Answer {
    let member = asked.member()?;
    let absolute = app.read(|model| {
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
    Ok(json_answer(
        200,
        json!({"limits": {"rate": [], "absolute": absolute}}),
    ))
}

async fn quota_set(State(app): State<App>, asked: Asked, Query(words): query::Query) -> Answer {
    let member = asked.member()?;
    if !member.may_touch(asked.id()) {
        return Err(Refusal::forbidden(
            "Policy doesn't allow volume_extension:quotas:show to be performed.",
        )
        .into());
    }
    let usage = query::value(&words, "usage").is_some_and(|word| word.eq_ignore_ascii_case("true"));
    let mut set = app.read(|model| {
        let mut set = model.quotas.body(VOLUME, asked.id());
        if usage {
            let (volumes, gigabytes) = model.volume_usage(asked.id());
            for (name, limit) in set.as_object_mut().into_iter().flatten() {
                let used = match name.as_str() {
                    "volumes" => volumes,
                    "gigabytes" => gigabytes,
                    "snapshots" => {
                        let mine = model.block_storage.snapshots.iter();
                        mine.filter(|row| row.project_id == asked.id()).count() as i64
                    }
                    _ => 0,
                };
                *limit = json!({"limit": limit, "in_use": used, "reserved": 0});
            }
        }
        set
    });
    set["id"] = asked.id().into();
    Ok(json_answer(200, json!({ "quota_set": set })))
}

async fn change_quota_set(State(app): State<App>, asked: Asked, body: Bytes) -> Answer {
    if !asked.member()?.admin {
        return Err(Refusal::forbidden(
            "Policy doesn't allow volume_extension:quotas:update to be performed.",
        )
        .into());
    }
    let body = read_json(&body)?;
    let said = object(&body, "quota_set")?;
    let limits = Quotas::read(VOLUME, said)
        .map_err(|name| Refusal::bad_request(format!("Bad key(s) in quota set: {name}")))?;
    let set = app.change(|model| {
        model.quotas.set_for(asked.id(), limits);
        model.quotas.body(VOLUME, asked.id())
    });
    Ok(json_answer(200, json!({ "quota_set": set })))
}

async fn reset_quota_set(State(app): State<App>, asked: Asked) -> Answer {
    if !asked.member()?.admin {
        return Err(Refusal::forbidden(
            "Policy doesn't allow volume_extension:quotas:delete to be performed.",
        )
        .into());
    }
    app.change(|model| model.quotas.reset_for(VOLUME, asked.id()));
    Ok(empty_answer(200))
}

/// The programs behind the service are an administrator's matter, and there are none to show.
async fn services(asked: Asked) -> Answer {
    asked.member()?;
    Err(
        Refusal::forbidden("Policy doesn't allow volume_extension:services:index to be performed.")
            .into(),
    )
}

async fn zones(asked: Asked) -> Answer {
    asked.member()?;
    let zone = json!({"zoneName": "nova", "zoneState": {"available": true}});
    Ok(json_answer(200, json!({"availabilityZoneInfo": [zone]})))
}

async fn extensions(asked: Asked) -> Answer {
    asked.member()?;
    Ok(json_answer(200, json!({"extensions": []})))
}

/// A list of what the lab never has.
async fn nothing(asked: Asked, name: &'static str) -> Answer {
    asked.member()?;
    Ok(json_answer(200, json!({name: []})))
}
