//! Nova v2.1 but for servers: versions, flavors, key pairs, limits, zones.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::answer::{NovaError, empty_answer, json_answer, read_json};
use super::compute_view::{flavor_document, flavor_summary};
use super::microversion::{COMPUTE, Microversion};
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
        .route("/compute/v2.1/flavors", get(flavors))
        .route("/compute/v2.1/flavors/detail", get(flavors_detail))
        .route("/compute/v2.1/flavors/{id}", get(flavor))
        .route(
            "/compute/v2.1/flavors/{id}/os-extra_specs",
            get(extra_specs),
        )
        .route(
            "/compute/v2.1/os-keypairs",
            get(keypairs).post(create_keypair),
        )
        .route(
            "/compute/v2.1/os-keypairs/{name}",
            get(keypair).delete(delete_keypair),
        )
        .route("/compute/v2.1/limits", get(limits))
        .route("/compute/v2.1/os-quota-sets/{project}", get(quota_set))
        .route("/compute/v2.1/os-availability-zone", get(zones))
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

async fn flavors(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    headers: HeaderMap,
    asked: query::Query,
) -> Answer {
    list_flavors(app, caller, version, &headers, asked, false)
}

async fn flavors_detail(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    headers: HeaderMap,
    asked: query::Query,
) -> Answer {
    list_flavors(app, caller, version, &headers, asked, true)
}

fn list_flavors(
    app: App,
    caller: Caller,
    version: Microversion,
    headers: &HeaderMap,
    Query(asked): query::Query,
    detail: bool,
) -> Answer {
    caller.token()?;
    let base = base_url(headers);
    let least = |name: &str| {
        query::value(&asked, name)
            .and_then(|text| text.parse::<u32>().ok())
            .unwrap_or(0)
    };
    let rows: Vec<Value> = app.read(|model| {
        let fitting = model
            .flavors
            .iter()
            .filter(|row| row.ram >= least("minRam") && row.disk >= least("minDisk"));
        fitting
            .map(|row| {
                if detail {
                    flavor_document(row, version, &base)
                } else {
                    flavor_summary(row, version, &base)
                }
            })
            .collect()
    });
    let page = query::page(rows, &asked, 1_000);
    let page = page.ok_or_else(|| Refusal::bad_request("marker not found"))?;
    let mut body = json!({"flavors": page.items});
    if let Some(next) = page.next {
        let path = if detail { "flavors/detail" } else { "flavors" };
        let query = query::with_marker(&asked, &next);
        let href = format!("{base}/compute/v2.1/{path}?{query}");
        body["flavors_links"] = json!([{"rel": "next", "href": href}]);
    }
    Ok(json_answer(200, body))
}

async fn flavor(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    caller.token()?;
    let base = base_url(&headers);
    let shown = app.read(|model| {
        model
            .flavors
            .get(&id)
            .map(|row| flavor_document(row, version, &base))
    });
    let shown = shown.ok_or_else(|| flavor_not_found(&id))?;
    Ok(json_answer(200, json!({ "flavor": shown })))
}

fn flavor_not_found(id: &str) -> Refusal {
    Refusal::not_found("FlavorNotFound", format!("Flavor {id} could not be found."))
}

async fn extra_specs(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    caller.token()?;
    match app.read(|model| model.flavors.get(&id).is_some()) {
        true => Ok(json_answer(200, json!({"extra_specs": {}}))),
        false => Err(flavor_not_found(&id).into()),
    }
}

fn keypair_document(row: &KeyPair, version: Microversion) -> Value {
    let mut document =
        json!({"name": row.name, "public_key": row.public_key, "fingerprint": row.fingerprint});
    if version >= Microversion(2, 2) {
        document["type"] = "ssh".into();
    }
    document
}

async fn keypairs(State(app): State<App>, caller: Caller, version: Microversion) -> Answer {
    let user = caller.token()?.user_id.clone();
    let rows: Vec<Value> = app.read(|model| {
        let mine = model.keypairs.iter().filter(|row| row.user_id == user);
        mine.map(|row| json!({"keypair": keypair_document(row, version)}))
            .collect()
    });
    Ok(json_answer(200, json!({ "keypairs": rows })))
}

async fn create_keypair(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    body: Bytes,
) -> Answer {
    let user = caller.token()?.user_id.clone();
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
        let limit = model.quotas.limit("key_pairs");
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
        "Invalid input for field/attribute {field}. Value: {value}. {reason}"
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

async fn limits(State(app): State<App>, caller: Caller) -> Answer {
    let member = caller.member()?;
    let absolute = app.read(|model| {
        let usage = model.server_usage(&member.project_id);
        json!({
            "maxTotalInstances": model.quotas.limit("instances"),
            "maxTotalCores": model.quotas.limit("cores"),
            "maxTotalRAMSize": model.quotas.limit("ram"),
            "maxTotalKeypairs": model.quotas.limit("key_pairs"),
            "maxServerMeta": model.quotas.limit("metadata_items"),
            "maxServerGroups": model.quotas.limit("server_groups"),
            "maxServerGroupMembers": model.quotas.limit("server_group_members"),
            "totalInstancesUsed": usage.instances,
            "totalCoresUsed": usage.cores,
            "totalRAMUsed": usage.ram,
            "totalServerGroupsUsed": 0,
        })
    });
    Ok(json_answer(
        200,
        json!({"limits": {"rate": [], "absolute": absolute}}),
    ))
}

async fn quota_set(State(app): State<App>, caller: Caller, Path(project): Path<String>) -> Answer {
    let member = caller.member()?;
    if member.project_id != project {
        return Err(Refusal::forbidden(
            "Policy doesn't allow os_compute_api:os-quota-sets:show to be performed.",
        )
        .into());
    }
    let mut set = app.read(|model| model.quotas.compute_body());
    set["id"] = project.into();
    Ok(json_answer(200, json!({ "quota_set": set })))
}

async fn zones(caller: Caller) -> Answer {
    caller.token()?;
    let zone = json!({"zoneName": "nova", "zoneState": {"available": true}, "hosts": null});
    Ok(json_answer(200, json!({"availabilityZoneInfo": [zone]})))
}

async fn extensions(caller: Caller) -> Answer {
    caller.token()?;
    Ok(json_answer(200, json!({"extensions": []})))
}
