//! Keystone v3: the service catalogue, which is part of every token.

use serde_json::{Value, json};

use crate::kit::answer::{Answer, reply};
use crate::kit::ids::stable_hex_id;
use crate::kit::record::{Attributes, Record};
use crate::services::{Call, Model, Routes, SERVICES};

pub fn routes() -> Routes {
    Routes::below("/identity/v3").get("/auth/catalog", my_catalog)
}

/// The service catalogue: the lab's own services, and those of administrators with their endpoints.
pub fn catalog(model: &Model, base: &str, project_id: &str) -> Value {
    let mut all = own(base, project_id);
    let identity = &model.identity;
    let is_on = |row: &&Record| row.fields.get("enabled") != Some(&Value::Bool(false));
    for service in identity.services.iter().filter(is_on) {
        let endpoints = identity.endpoints.iter().filter(is_on);
        let endpoints = endpoints.filter(|row| row.text("service_id") == service.id);
        let endpoints: Vec<Value> = endpoints
            .map(|row| {
                json!({
                    "id": row.id,
                    "interface": row.text("interface"),
                    "region": row.fields.get("region_id"),
                    "region_id": row.fields.get("region_id"),
                    "url": row.text("url").replace("%(project_id)s", project_id).replace("$(project_id)s", project_id),
                })
            })
            .collect();
        all.push(json!({
            "id": service.id,
            "name": service.text("name"),
            "type": service.text("type"),
            "endpoints": endpoints,
        }));
    }
    Value::Array(all)
}

/// The lab's own services. As in usual installations, the URLs of identity, compute and block storage contain the
/// version.
fn own(base: &str, project_id: &str) -> Vec<Value> {
    // Cinder is also listed under its old name, as in installations of the Zed release.
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

async fn my_catalog(call: Call) -> Answer {
    let member = call.member()?;
    let base = &call.base;
    let all = call
        .app
        .read(|model| catalog(model, base, &member.project_id));
    reply(
        200,
        json!({"catalog": all, "links": {"self": format!("{base}/identity/v3/auth/catalog")}}),
    )
}

/// The lab's own services in the form for administrators.
pub(crate) fn own_services(base: &str) -> Vec<Value> {
    let rows = own(base, TEMPLATE).into_iter().map(|entry| {
        json!({
            "id": entry["id"],
            "name": entry["name"],
            "type": entry["type"],
            "enabled": true,
            "links": {"self": format!("{base}/identity/v3/services/{}", entry["id"].as_str().unwrap_or_default())},
        })
    });
    rows.collect()
}

/// The lab's own endpoints in the form for administrators.
pub(crate) fn own_endpoints(base: &str) -> Vec<Value> {
    let all = own(base, TEMPLATE);
    let rows = all.iter().flat_map(|entry| {
        let endpoints = entry["endpoints"].as_array().into_iter().flatten();
        endpoints.map(|endpoint| {
            let mut row = endpoint.clone();
            row["service_id"] = entry["id"].clone();
            row["enabled"] = true.into();
            row
        })
    });
    rows.collect()
}

/// A placeholder for the project's id, as in endpoint templates.
const TEMPLATE: &str = "%(project_id)s";
