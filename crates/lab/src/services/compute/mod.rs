//! Nova v2.1: versions, key pairs, zones.

pub(crate) mod aggregate;
pub(crate) mod aggregates;
pub(crate) mod flavor;
pub(crate) mod flavors;
pub(crate) mod keypair;
pub(crate) mod limits;
pub(crate) mod metadata;
pub(crate) mod metadata_service;
pub(crate) mod on_server;
pub(crate) mod progress;
pub(crate) mod server;
pub(crate) mod server_action;
pub(crate) mod server_actions;
pub(crate) mod server_body;
pub(crate) mod server_changes;
pub(crate) mod server_console;
pub(crate) mod server_create;
pub(crate) mod server_disks;
pub(crate) mod server_events;
pub(crate) mod server_group;
pub(crate) mod server_groups;
pub(crate) mod server_network;
pub(crate) mod server_parts;
pub(crate) mod server_security;
pub(crate) mod server_snapshot;
pub(crate) mod server_switch;
pub(crate) mod server_volumes;
pub(crate) mod server_watch;
pub(crate) mod servers;
pub(crate) mod view;
pub(crate) mod volume_plug;
pub(crate) mod volume_plug_progress;

use axum::body::Bytes;
use axum::response::Response;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, json_answer, read_json, reply};
use crate::kit::microversion::{COMPUTE, Microversion};
use crate::kit::refusal::Refusal;
use crate::kit::{python, query};
use crate::services::compute::keypair::{KeyPair, keypair_key};
use crate::services::{Call, Routes};

pub(crate) fn routes() -> Routes {
    Routes::below("/compute")
        .get("", versions)
        .get("/", versions)
        .and(v2_1())
}

fn v2_1() -> Routes {
    Routes::below("/compute/v2.1")
        .get("", version)
        .get("/", version)
        .get("/os-keypairs", keypairs)
        .post("/os-keypairs", create_keypair)
        .get("/os-keypairs/{name}", keypair)
        .delete("/os-keypairs/{name}", delete_keypair)
        .get("/os-availability-zone", zones)
        .get("/os-availability-zone/detail", only_admins)
        .get("/os-hypervisors", only_admins)
        .get("/os-hypervisors/detail", only_admins)
        .get("/os-services", only_admins)
        .get("/extensions", extensions)
        .and(flavors::routes())
        .and(aggregates::routes())
        .and(limits::routes())
        .and(servers::routes())
        .and(server_actions::routes())
        .and(server_events::routes())
        .and(server_groups::routes())
        .and(server_network::routes())
        .and(server_parts::routes())
        .and(server_console::routes())
        .and(server_volumes::routes())
}

fn version_document(base: &str) -> Value {
    json!({
        "id": "v2.1",
        "status": "CURRENT",
        "version": COMPUTE.newest.to_string(),
        "min_version": COMPUTE.oldest.to_string(),
        "updated": "2013-07-23T11:33:21Z",
        "links": [
            {"rel": "self", "href": format!("{base}/compute/v2.1/")},
            {"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"},
        ],
    })
}

async fn versions(call: Call) -> Response {
    json_answer(200, json!({"versions": [version_document(&call.base)]}))
}

async fn version(call: Call) -> Response {
    let mut document = version_document(&call.base);
    document["media-types"] = json!([{"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}]);
    json_answer(200, json!({ "version": document }))
}

fn keypair_document(row: &KeyPair, version: Microversion) -> Value {
    let mut document =
        json!({"name": row.name, "public_key": row.public_key, "fingerprint": row.fingerprint});
    if version >= Microversion(2, 2) {
        document["type"] = "ssh".into();
    }
    document
}

/// In pages since 2.35, by name.
async fn keypairs(call: Call) -> Answer {
    let user = call.token()?.user_id.clone();
    let parameters = call.query_since(Microversion(2, 35));
    let page = call.app.read(|model| {
        let mine = model.keypairs.iter().filter(|row| row.user_id == user);
        let page = query::page_rows(mine.collect(), parameters, 1_000, |row: &KeyPair| &row.name);
        page.map(|(rows, next)| {
            let shown = rows
                .into_iter()
                .map(|row| json!({"keypair": keypair_document(row, call.version)}));
            (shown.collect::<Vec<Value>>(), next)
        })
    });
    let marker = query::value(parameters, "marker").unwrap_or_default();
    let (rows, next) =
        page.ok_or_else(|| Refusal::bad_request(format!("marker [{marker}] not found")))?;
    let mut body = json!({ "keypairs": rows });
    if let Some(next) = next {
        let href = format!(
            "{}/compute/v2.1/os-keypairs?{}",
            call.base,
            query::with_marker(parameters, &next)
        );
        body["keypairs_links"] = json!([{"rel": "next", "href": href}]);
    }
    reply(200, body)
}

async fn create_keypair(call: Call, body: Bytes) -> Answer {
    let token = call.token()?;
    let user = token.user_id.clone();
    let project = token.project_id.clone().unwrap_or_default();
    let body = read_json(&body)?;
    let wanted = body
        .get("keypair")
        .ok_or_else(|| invalid("keypair", &body, "'keypair' is a required property"))?;
    let text = |name: &str| wanted.get(name).and_then(Value::as_str);
    let name =
        text("name").ok_or_else(|| invalid("keypair", wanted, "'name' is a required property"))?;
    if text("type").is_some_and(|kind| kind != "ssh") {
        return Err(Refusal::bad_request(
            "The lab cloud has SSH key pairs only.",
        ));
    }
    if call.version >= NEWEST_IMPORT_ONLY && text("public_key").is_none() {
        return Err(invalid(
            "keypair",
            wanted,
            "'public_key' is a required property",
        ));
    }
    let (pair, private_key) = KeyPair::new(&user, name, text("public_key"))?;
    let mut document = keypair_document(&pair, call.version);
    document["user_id"] = user.clone().into();
    if let Some(private_key) = private_key {
        document["private_key"] = private_key.into();
    }
    call.app.change(|model| {
        if model.keypairs.get(&pair.key).is_some() {
            return Err(Refusal::conflict(
                "KeyPairExists",
                format!("Key pair '{name}' already exists."),
            ));
        }
        let count = model
            .keypairs
            .iter()
            .filter(|row| row.user_id == user)
            .count();
        let limit = model.quotas.limit(&project, "key_pairs");
        if limit >= 0 && count as i64 >= limit {
            return Err(Refusal::forbidden("Quota exceeded, too many key pairs."));
        }
        model.keypairs.insert(pair);
        Ok(())
    })?;
    let status = if call.version >= Microversion(2, 2) {
        201
    } else {
        200
    };
    reply(status, json!({ "keypair": document }))
}

/// First microversion in which Nova does not generate keys.
const NEWEST_IMPORT_ONLY: Microversion = Microversion(2, 92);

/// A body that does not fit, in the words of Nova's schema check.
pub fn invalid(field: &str, value: &Value, reason: &str) -> Refusal {
    Refusal::bad_request(format!(
        "Invalid input for field/attribute {field}. Value: {}. {reason}",
        python::text(value)
    ))
}

fn keypair_not_found(name: &str, user: &str) -> Refusal {
    Refusal::not_found(
        "KeypairNotFound",
        format!("Keypair {name} not found for user {user}"),
    )
}

async fn keypair(call: Call) -> Answer {
    let name = call.part("name");
    let user = call.token()?.user_id.clone();
    let shown = call.app.read(|model| {
        model.keypairs.get(&keypair_key(&user, name)).map(|row| {
            let mut document = keypair_document(row, call.version);
            document["user_id"] = user.clone().into();
            document["created_at"] = row.created_at.trim_end_matches('Z').into();
            document["deleted"] = false.into();
            document["deleted_at"] = Value::Null;
            document["updated_at"] = Value::Null;
            document["id"] = 1.into();
            document
        })
    });
    let shown = shown.ok_or_else(|| keypair_not_found(name, &user))?;
    reply(200, json!({ "keypair": shown }))
}

async fn delete_keypair(call: Call) -> Answer {
    let name = call.part("name");
    let user = call.token()?.user_id.clone();
    let gone = call
        .app
        .change(|model| model.keypairs.remove(&keypair_key(&user, name)));
    gone.ok_or_else(|| keypair_not_found(name, &user))?;
    let status = if call.version >= Microversion(2, 2) {
        204
    } else {
        202
    };
    empty(status)
}

async fn zones(call: Call) -> Answer {
    call.token()?;
    let zone = json!({"zoneName": "nova", "zoneState": {"available": true}, "hosts": null});
    reply(200, json!({"availabilityZoneInfo": [zone]}))
}

/// The hosts behind the cloud. There are none to show, so administrators see as little as members.
async fn only_admins(call: Call) -> Answer {
    call.token()?;
    let rule = call
        .path
        .trim_start_matches("/compute/v2.1/")
        .replace('/', ":");
    Err(policy(&rule))
}

/// The name and the arguments of the action in a body.
pub fn action(body: &[u8]) -> Result<(String, Value), Refusal> {
    let only = match read_json(body)? {
        Value::Object(fields) => fields.into_iter().next(),
        _ => None,
    };
    only.ok_or_else(|| Refusal::bad_request("There is no such action"))
}

/// The refusal of the policy engine.
pub fn policy(rule: &str) -> Refusal {
    Refusal::forbidden(format!(
        "Policy doesn't allow os_compute_api:{rule} to be performed."
    ))
}

async fn extensions(call: Call) -> Answer {
    call.token()?;
    reply(200, json!({"extensions": []}))
}
