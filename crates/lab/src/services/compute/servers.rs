//! Nova v2.1: servers.

use axum::body::Bytes;
use axum::http::HeaderValue;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, json_answer, read_json, reply};
use crate::kit::ids::new_hex_id;
use crate::kit::microversion::Microversion;
use crate::kit::query::{self, Detail};
use crate::kit::refusal::Refusal;
use crate::services::compute::invalid;
use crate::services::compute::server::Server;
use crate::services::compute::server_body::{SERVER_NAME_CHARS_MAX, read_create};
use crate::services::compute::server_create::quota_holds;
use crate::services::compute::view::{server_document, server_summary};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/servers", list)
        .post("/servers", create)
        .get("/servers/detail", list_detail)
        .get("/servers/{id}", show)
        .put("/servers/{id}", update)
        .delete("/servers/{id}", delete)
}

async fn list(call: Call) -> Answer {
    listed(&call, Detail::Bare)
}

async fn list_detail(call: Call) -> Answer {
    listed(&call, Detail::Full)
}

fn listed(call: &Call, detail: Detail) -> Answer {
    let member = call.member()?;
    let (base, version) = (&call.base, call.version);
    let everybody = call
        .query_value("all_tenants")
        .or(call.query_value("all_projects"))
        .is_some_and(|word| matches!(word.to_lowercase().as_str(), "1" | "true" | ""));
    if everybody && !member.admin {
        return Err(Refusal::forbidden(
            "Policy doesn't allow os_compute_api:servers:index:get_all_tenants to be performed.",
        ));
    }
    check_query(&call.query, version)?;
    let since = match call.query_value("changes-since") {
        None => None,
        Some(text) => Some(read_time(text)?),
    };
    let page = call.app.read(|model| {
        // Newest first, as Nova sorts when nobody says otherwise.
        let deleted = model.deleted_servers.iter().rev();
        let all = model
            .servers
            .iter()
            .rev()
            .chain(deleted.filter(|_| since.is_some()));
        let fitting = all.filter(|row| {
            (everybody || row.project_id == member.project_id)
                && since.is_none_or(|since| changed_since(row, since))
                && fits(model, row, &call.query, version)
        });
        let mut rows: Vec<&Server> = fitting.collect();
        query::sort_rows(&mut rows, &call.query, |row, key| match key {
            "display_name" | "name" => row.name.clone(),
            "vm_state" | "status" => row.status.vm_state().to_owned(),
            "updated_at" => row.updated.clone(),
            "image_ref" => row.image_id.clone(),
            "uuid" | "id" => row.id.clone(),
            _ => row.created.clone(),
        });
        query::page_rows(rows, &call.query, 1_000, |row| &row.id).map(|(rows, next)| {
            let shown = rows.into_iter().map(|row| match detail {
                Detail::Full => server_document(model, row, version, base),
                Detail::Bare => server_summary(row, base),
            });
            (shown.collect::<Vec<Value>>(), next)
        })
    });
    let marker = call.query_value("marker").unwrap_or_default();
    let (items, next) =
        page.ok_or_else(|| Refusal::bad_request(format!("marker [{marker}] not found")))?;
    let mut body = json!({ "servers": items });
    if let Some(next) = next {
        let path = match detail {
            Detail::Full => "servers/detail",
            Detail::Bare => "servers",
        };
        let href = format!(
            "{base}/compute/v2.1/{path}?{}",
            query::with_marker(&call.query, &next)
        );
        body["servers_links"] = json!([{"rel": "next", "href": href}]);
    }
    reply(200, body)
}

/// Query parameters of lists of servers.
const FILTERS: &[&str] = &[
    "access_ip_v4",
    "access_ip_v6",
    "all_projects",
    "all_tenants",
    "auto_disk_config",
    "availability_zone",
    "changes-before",
    "changes-since",
    "config_drive",
    "created_at",
    "deleted",
    "description",
    "display_description",
    "display_name",
    "flavor",
    "host",
    "hostname",
    "image",
    "image_ref",
    "ip",
    "ip6",
    "kernel_id",
    "key_name",
    "launch_index",
    "launched_at",
    "limit",
    "locked",
    "locked_by",
    "marker",
    "name",
    "node",
    "not-tags",
    "not-tags-any",
    "power_state",
    "progress",
    "project_id",
    "ramdisk_id",
    "reservation_id",
    "root_device_name",
    "soft_deleted",
    "sort_dir",
    "sort_key",
    "status",
    "tags",
    "tags-any",
    "task_state",
    "tenant_id",
    "terminated_at",
    "user_id",
    "uuid",
    "vm_state",
];

/// The states of a server, as people ask by them.
const STATES: &[&str] = &[
    "ACTIVE",
    "BUILD",
    "DELETED",
    "ERROR",
    "HARD_REBOOT",
    "MIGRATING",
    "PASSWORD",
    "PAUSED",
    "REBOOT",
    "REBUILD",
    "RESCUE",
    "RESIZE",
    "REVERT_RESIZE",
    "SHELVED",
    "SHELVED_OFFLOADED",
    "SHUTOFF",
    "SOFT_DELETED",
    "SUSPENDED",
    "UNKNOWN",
    "VERIFY_RESIZE",
];

/// Refuses invalid query parameters. Unknown ones are refused since 2.75, and ignored before.
fn check_query(asked: &[(String, String)], version: Microversion) -> Result<(), Refusal> {
    let strict = version >= Microversion(2, 75);
    for (name, value) in asked {
        let sentence = match name.as_str() {
            "limit" if value.parse::<u32>().is_err() => {
                format!(
                    "Invalid input for query parameters limit. Value: {value}. '{value}' does not match '^[0-9]*$'"
                )
            }
            "status" if !STATES.contains(&value.to_uppercase().as_str()) => {
                "Invalid status value".to_owned()
            }
            "sort_dir" if !["asc", "desc"].contains(&value.as_str()) => {
                "Invalid input received: Unknown sort direction, must be 'desc' or 'asc'".to_owned()
            }
            "sort_key"
                if !FILTERS.contains(&value.as_str())
                    && !["id", "updated_at"].contains(&value.as_str()) =>
            {
                format!(
                    "Invalid input for query parameters sort_key. Value: {value}. '{value}' is not one of {FILTERS:?}"
                )
            }
            name if strict && !FILTERS.contains(&name) && !name.starts_with('_') => {
                format!("'{name}' does not match any of the regexes: '^_'")
            }
            _ => continue,
        };
        return Err(Refusal::bad_request(sentence));
    }
    Ok(())
}

pub(crate) fn read_time(text: &str) -> Result<jiff::Timestamp, Refusal> {
    let zoned = text.parse().or_else(|_| format!("{text}Z").parse());
    zoned.map_err(|_| {
        Refusal::bad_request(format!(
            "Invalid input for query parameters changes-since. Value: {text}. '{text}' is not a 'date-time'"
        ))
    })
}

/// True if the server has changed since then. Its times are whole seconds, so a change in the same second counts.
fn changed_since(row: &Server, since: jiff::Timestamp) -> bool {
    let updated = row.updated.parse::<jiff::Timestamp>();
    updated.is_ok_and(|updated| updated.as_second() >= since.as_second())
}

/// Whether a name fits a regular expression, of which the lab knows the anchors. Asked for each of thousands of servers, so it
/// makes no text where there is nothing to unescape.
fn named(name: &str, pattern: &str) -> bool {
    let bare = pattern.trim_start_matches('^').trim_end_matches('$');
    let plain = if bare.contains('\\') {
        std::borrow::Cow::Owned(bare.replace('\\', ""))
    } else {
        std::borrow::Cow::Borrowed(bare)
    };
    match (pattern.starts_with('^'), pattern.ends_with('$')) {
        (true, true) => name == plain,
        (true, false) => name.starts_with(&*plain),
        (false, true) => name.ends_with(&*plain),
        (false, false) => name.contains(&*plain),
    }
}

/// Whether a server fits a list's filters. `name` is part of the name (a regular expression in Nova; here anchors count).
fn fits(model: &Model, row: &Server, asked: &[(String, String)], version: Microversion) -> bool {
    let tagged = || query::tags_fit(&json!({"tags": row.tags}), asked);
    asked.iter().all(|(name, wanted)| match name.as_str() {
        "name" => named(&row.name, wanted),
        "status" => row.shown_status().eq_ignore_ascii_case(wanted),
        "vm_state" => row.status.vm_state() == wanted,
        // Before, only administrators may ask this.
        "task_state" if version >= Microversion(2, 83) => row.task_state.as_deref() == Some(wanted),
        "ip" => {
            let bare = wanted.trim_matches(['^', '$']).replace('\\', "");
            let addresses = model.server_addresses(row);
            addresses.iter().any(|one| one.address.contains(&bare))
        }
        "tags" | "tags-any" | "not-tags" | "not-tags-any" if version >= Microversion(2, 26) => {
            tagged()
        }
        "image" => &row.image_id == wanted,
        "flavor" => &row.flavor_id == wanted,
        "uuid" => &row.id == wanted,
        "key_name" => row.key_name.as_ref() == Some(wanted),
        "user_id" => &row.user_id == wanted,
        _ => true,
    })
}

async fn show(call: Call) -> Answer {
    let shown =
        call.read_server(|model, row| server_document(model, row, call.version, &call.base))?;
    reply(200, json!({ "server": shown }))
}

async fn create(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let body = read_json(&body)?;
    let fields = body.get("server").and_then(Value::as_object);
    let fields = fields.ok_or_else(|| Refusal::bad_request("'server' is a required property"))?;
    let count = match fields.get("min_count").or_else(|| fields.get("max_count")) {
        None => 1,
        Some(count) => count
            .as_u64()
            .filter(|count| (1..=100).contains(count))
            .ok_or_else(|| invalid("min_count", count, "it is not a number from 1 to 100"))?,
    };
    let mut wanted = read_create(fields, call.version)?;
    if let Some(max) = call.app.faults.instances_max() {
        let requested = i64::try_from(count).unwrap_or(i64::MAX);
        call.app.read(|model| {
            let used = model.server_usage(&member.project_id).instances;
            quota_holds(("instances", used, requested), max)
        })?;
    }
    wanted.group = scheduler_group(&body)?;
    let mut ids = Vec::new();
    for nth in 1..=count {
        let mut one = wanted.clone();
        if count > 1 {
            one.name = format!("{}-{nth}", wanted.name);
        }
        let made = call
            .app
            .change_and_apply(|model| model.create_server(&member, one))
            .await;
        match made {
            Ok(id) => {
                let user = &member.user_id;
                call.app
                    .change(|model| model.note_action(&id, "create", &call.request_id, user));
                ids.push(id);
            }
            Err(refusal) => {
                for id in ids {
                    call.app.spawn_delete(id);
                }
                return Err(refusal);
            }
        }
    }
    for id in &ids {
        call.app.spawn_build(id.clone());
    }
    let id = ids.swap_remove(0);
    let groups = if wanted.security_groups.is_empty() {
        json!([{"name": "default"}])
    } else {
        wanted
            .security_groups
            .iter()
            .map(|name| json!({ "name": name }))
            .collect()
    };
    let base = &call.base;
    let href = format!("{base}/compute/v2.1/servers/{id}");
    let shown = json!({
        "id": id,
        "links": [{"rel": "self", "href": href}, {"rel": "bookmark", "href": format!("{base}/compute/servers/{id}")}],
        "OS-DCF:diskConfig": "MANUAL",
        "security_groups": groups,
        "adminPass": fields.get("adminPass").and_then(Value::as_str).unwrap_or(&new_hex_id()[..12]),
    });
    let mut response = json_answer(202, json!({ "server": shown }));
    if let Ok(location) = HeaderValue::try_from(href) {
        response.headers_mut().insert("location", location);
    }
    Ok(response)
}

/// The server group of a creation: a scheduler hint, under either of two names.
fn scheduler_group(body: &Value) -> Result<Option<String>, Refusal> {
    let hints = ["os:scheduler_hints", "OS-SCH-HNT:scheduler_hints"];
    let group = hints.iter().find_map(|name| body.get(*name)?.get("group"));
    match group {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(group)) => Ok(Some(group.clone())),
        Some(other) => Err(invalid("group", other, "it is not a 'uuid'")),
    }
}

/// The fields that an update of a server may set.
const UPDATE_FIELDS: &[&str] = &[
    "name",
    "description",
    "hostname",
    "accessIPv4",
    "accessIPv6",
    "OS-DCF:diskConfig",
];

async fn update(call: Call, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    let fields = body["server"].as_object();
    let fields = fields.ok_or_else(|| Refusal::bad_request("'server' is a required property"))?;
    let may_change = |name: &str| UPDATE_FIELDS.contains(&name);
    if let Some(name) = fields.keys().find(|name| !may_change(name)) {
        let reason = format!("Additional properties are not allowed ('{name}' was unexpected)");
        return Err(invalid("server", &body["server"], &reason));
    }
    let name = body["server"]["name"].as_str().map(str::to_owned);
    let description = body["server"]["description"].as_str().map(str::to_owned);
    if name
        .as_ref()
        .is_some_and(|name| name.trim().is_empty() || name.chars().count() > SERVER_NAME_CHARS_MAX)
    {
        return Err(invalid(
            "name",
            &body["server"]["name"],
            "it is too short or too long",
        ));
    }
    call.change_server(|server| {
        server.name = name.unwrap_or_else(|| server.name.clone());
        server.description = description.or_else(|| server.description.take());
    })?;
    show(call).await
}

async fn delete(call: Call) -> Answer {
    call.server_unlocked()?;
    let first = call.change_server(|server| {
        let first = server.task_state.as_deref() != Some("deleting");
        server.task_state = Some("deleting".into());
        first
    })?;
    if first {
        call.note_action("delete")?;
        call.app.spawn_delete(call.id().to_owned());
    }
    empty(204)
}
