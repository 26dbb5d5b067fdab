//! Keystone v3: which services there are, and where. The catalogue comes with every token; administrators can also list its parts.

use axum::Router;
use axum::extract::Query;
use axum::http::HeaderMap;
use axum::routing::get;
use serde_json::{Value, json};

use super::{Answer, admin, list};
use crate::http::answer::json_answer;
use crate::http::query::{self, attribute_is};
use crate::http::token::Caller;
use crate::http::{App, SERVICES, base_url};
use crate::model::ids::stable_hex_id;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/identity/v3/auth/catalog", get(my_catalog))
        .route("/identity/v3/services", get(services))
        .route("/identity/v3/endpoints", get(endpoints))
        .route("/identity/v3/regions", get(regions))
}

/// The service catalogue. Versions are in the URL where a real cloud's installer puts them: identity and compute.
pub fn catalog(base: &str, project_id: &str) -> Value {
    // Cinder is found under its old name too, as installers of Zed's time had it.
    let old_name = [("volumev3", "/volume")];
    let cinder = format!("/v3/{project_id}");
    SERVICES
        .iter()
        .chain(&old_name)
        .map(|(service, prefix)| {
            let (name, path) = match *service {
                "identity" => ("keystone", "/v3"),
                "compute" => ("nova", "/v2.1"),
                "network" => ("neutron", ""),
                "image" => ("glance", ""),
                "block-storage" => ("cinder", cinder.as_str()),
                "volumev3" => ("cinderv3", cinder.as_str()),
                "load-balancer" => ("octavia", ""),
                _ => ("barbican", ""),
            };
            let endpoint = |interface: &str| {
                json!({
                    "id": stable_hex_id(&format!("endpoint/{service}/{interface}")),
                    "interface": interface,
                    "region": "lab",
                    "region_id": "lab",
                    "url": format!("{base}{prefix}{path}"),
                })
            };
            json!({
                "id": stable_hex_id(&format!("service/{service}")),
                "name": name,
                "type": service,
                "endpoints": [endpoint("public"), endpoint("internal"), endpoint("admin")],
            })
        })
        .collect()
}

async fn my_catalog(caller: Caller, headers: HeaderMap) -> Answer {
    let member = caller.member()?;
    let base = base_url(&headers);
    let all = catalog(&base, &member.project_id);
    Ok(json_answer(
        200,
        json!({"catalog": all, "links": {"self": format!("{base}/identity/v3/auth/catalog")}}),
    ))
}

async fn services(caller: Caller, Query(asked): query::Query, headers: HeaderMap) -> Answer {
    admin(&caller, "list_services")?;
    let base = base_url(&headers);
    let rows = entries(&base).into_iter().map(|entry| {
        json!({
            "id": entry["id"],
            "name": entry["name"],
            "type": entry["type"],
            "enabled": true,
            "links": {"self": format!("{base}/identity/v3/services/{}", entry["id"].as_str().unwrap_or_default())},
        })
    });
    let fitting = rows.filter(|row| {
        ["name", "type"].iter().all(|name| {
            query::value(&asked, name).is_none_or(|wanted| attribute_is(row, name, wanted))
        })
    });
    Ok(list("services", fitting.collect(), &base, "/services"))
}

async fn endpoints(caller: Caller, Query(asked): query::Query, headers: HeaderMap) -> Answer {
    admin(&caller, "list_endpoints")?;
    let base = base_url(&headers);
    let all = entries(&base);
    let rows = all.iter().flat_map(|entry| {
        let endpoints = entry["endpoints"].as_array().into_iter().flatten();
        endpoints.map(|endpoint| {
            let mut row = endpoint.clone();
            row["service_id"] = entry["id"].clone();
            row["enabled"] = true.into();
            row
        })
    });
    let fitting = rows.filter(|row| {
        ["interface", "service_id", "region_id"].iter().all(|name| {
            query::value(&asked, name).is_none_or(|wanted| attribute_is(row, name, wanted))
        })
    });
    Ok(list("endpoints", fitting.collect(), &base, "/endpoints"))
}

/// The catalogue as administrators have written it down: with a place for the project's id.
fn entries(base: &str) -> Vec<Value> {
    match catalog(base, "%(project_id)s") {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    }
}

async fn regions(caller: Caller, headers: HeaderMap) -> Answer {
    caller.token()?;
    let base = base_url(&headers);
    let region = json!({
        "id": "lab",
        "description": "",
        "parent_region_id": null,
        "links": {"self": format!("{base}/identity/v3/regions/lab")},
    });
    Ok(list("regions", vec![region], &base, "/regions"))
}
