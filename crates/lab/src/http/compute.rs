//! Nova v2.1: versions, key pairs, zones.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::answer::{NovaError, empty_answer, json_answer, read_json};
use super::microversion::{COMPUTE, Microversion};
use super::python;
use super::token::Caller;
use super::{App, base_url, query};
use crate::model::keypair::{KeyPair, keypair_key};
use crate::model::refusal::Refusal;

pub type Answer = Result<Response, NovaError>;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/compute", get(versions))
        .route("/compute/", get(versions))
        .route("/compute/v2.1", get(version))
        .route("/compute/v2.1/", get(version))
        .route(
            "/compute/v2.1/os-keypairs",
            get(keypairs).post(create_keypair),
        )
        .route(
            "/compute/v2.1/os-keypairs/{name}",
            get(keypair).delete(delete_keypair),
        )
        .route("/compute/v2.1/os-availability-zone", get(zones))
        .route(
            "/compute/v2.1/os-availability-zone/detail",
            get(only_admins),
        )
        .route("/compute/v2.1/os-hypervisors", get(only_admins))
        .route("/compute/v2.1/os-hypervisors/detail", get(only_admins))
        .route("/compute/v2.1/os-services", get(only_admins))
        .route("/compute/v2.1/extensions", get(extensions))
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

async fn versions(headers: HeaderMap) -> Response {
    json_answer(
        200,
        json!({"versions": [version_document(&base_url(&headers))]}),
    )
}

async fn version(headers: HeaderMap) -> Response {
    let mut document = version_document(&base_url(&headers));
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
async fn keypairs(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Query(asked): query::Query,
    headers: HeaderMap,
) -> Answer {
    let user = caller.token()?.user_id.clone();
    let asked = match version >= Microversion(2, 35) {
        true => asked,
        false => Vec::new(),
    };
    let page = app.read(|model| {
        let mine = model.keypairs.iter().filter(|row| row.user_id == user);
        let page = query::page_rows(mine.collect(), &asked, 1_000, |row: &KeyPair| &row.name);
        page.map(|(rows, next)| {
            let shown = rows
                .into_iter()
                .map(|row| json!({"keypair": keypair_document(row, version)}));
            (shown.collect::<Vec<Value>>(), next)
        })
    });
    let marker = query::value(&asked, "marker").unwrap_or_default();
    let (rows, next) =
        page.ok_or_else(|| Refusal::bad_request(format!("marker [{marker}] not found")))?;
    let mut body = json!({ "keypairs": rows });
    if let Some(next) = next {
        let href = format!(
            "{}/compute/v2.1/os-keypairs?{}",
            base_url(&headers),
            query::with_marker(&asked, &next)
        );
        body["keypairs_links"] = json!([{"rel": "next", "href": href}]);
    }
    Ok(json_answer(200, body))
}

async fn create_keypair(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    body: Bytes,
) -> Answer {
    let token = caller.token()?;
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
        return Err(Refusal::bad_request("The lab cloud has SSH key pairs only.").into());
    }
    if version >= NEWEST_IMPORT_ONLY && text("public_key").is_none() {
        return Err(invalid("keypair", wanted, "'public_key' is a required property").into());
    }
    let (pair, private_key) = KeyPair::new(&user, name, text("public_key"))?;
    let mut document = keypair_document(&pair, version);
    document["user_id"] = user.clone().into();
    if let Some(private_key) = private_key {
        document["private_key"] = private_key.into();
    }
    app.change(|model| {
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
    let status = if version >= Microversion(2, 2) {
        201
    } else {
        200
    };
    Ok(json_answer(status, json!({ "keypair": document })))
}

/// From this microversion on Nova makes no keys itself.
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

async fn keypair(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(name): Path<String>,
) -> Answer {
    let user = caller.token()?.user_id.clone();
    let shown = app.read(|model| {
        model.keypairs.get(&keypair_key(&user, &name)).map(|row| {
            let mut document = keypair_document(row, version);
            document["user_id"] = user.clone().into();
            document["created_at"] = row.created_at.trim_end_matches('Z').into();
            document["deleted"] = false.into();
            document["deleted_at"] = Value::Null;
            document["updated_at"] = Value::Null;
            document["id"] = 1.into();
            document
        })
    });
    let shown = shown.ok_or_else(|| keypair_not_found(&name, &user))?;
    Ok(json_answer(200, json!({ "keypair": shown })))
}

async fn delete_keypair(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(name): Path<String>,
) -> Answer {
    let user = caller.token()?.user_id.clone();
    let gone = app.change(|model| model.keypairs.remove(&keypair_key(&user, &name)));
    gone.ok_or_else(|| keypair_not_found(&name, &user))?;
    let status = if version >= Microversion(2, 2) {
        204
    } else {
        202
    };
    Ok(empty_answer(status))
}

async fn zones(caller: Caller) -> Answer {
    caller.token()?;
    let zone = json!({"zoneName": "nova", "zoneState": {"available": true}, "hosts": null});
    Ok(json_answer(200, json!({"availabilityZoneInfo": [zone]})))
}

/// The hosts behind the cloud. There are none to show, so administrators see as little as members.
async fn only_admins(caller: Caller, uri: axum::http::Uri) -> Answer {
    caller.token()?;
    let rule = uri
        .path()
        .trim_start_matches("/compute/v2.1/")
        .replace('/', ":");
    Err(policy(&rule).into())
}

/// The one thing that a body asks for, and what it says of it.
pub fn action(body: &[u8]) -> Result<(String, Value), Refusal> {
    let only = match read_json(body)? {
        Value::Object(fields) => fields.into_iter().next(),
        _ => None,
    };
    only.ok_or_else(|| Refusal::bad_request("There is no such action"))
}

/// What the policy engine says.
pub fn policy(rule: &str) -> Refusal {
    Refusal::forbidden(format!(
        "Policy doesn't allow os_compute_api:{rule} to be performed."
    ))
}

async fn extensions(caller: Caller) -> Answer {
    caller.token()?;
    Ok(json_answer(200, json!({"extensions": []})))
}
