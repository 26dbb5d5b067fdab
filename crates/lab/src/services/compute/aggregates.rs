//! Nova v2.1: host aggregates, for administrators.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::{micros, new_id};
use crate::kit::refusal::Refusal;
use crate::services::compute::aggregate::{Aggregate, HOST};
use crate::services::compute::flavors::admin;
use crate::services::compute::{action, invalid};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/os-aggregates", all)
        .post("/os-aggregates", create)
        .get("/os-aggregates/{id}", one)
        .put("/os-aggregates/{id}", update)
        .delete("/os-aggregates/{id}", delete)
        .post("/os-aggregates/{id}/action", act)
}

/// The key of the metadata that is the zone.
const ZONE: &str = "availability_zone";

fn document(row: &Aggregate) -> Value {
    json!({
        "id": row.id.parse::<u64>().unwrap_or_default(),
        "uuid": row.uuid,
        "name": row.name,
        "availability_zone": row.metadata.get(ZONE),
        "hosts": row.hosts,
        "metadata": row.metadata,
        "created_at": row.created_at,
        "updated_at": null,
        "deleted_at": null,
        "deleted": false,
    })
}

fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "AggregateNotFound",
        format!("Aggregate {id} could not be found."),
    )
}

fn name_is_free(model: &Model, id: &str, name: &str) -> Result<(), Refusal> {
    let mut rows = model.aggregates.iter();
    if rows.any(|row| row.name == name && row.id != id) {
        Err(Refusal::conflict(
            "AggregateNameExists",
            format!("Aggregate {name} already exists."),
        ))
    } else {
        Ok(())
    }
}

async fn all(call: Call) -> Answer {
    admin(&call, "os-aggregates:index")?;
    let rows: Vec<Value> = call
        .app
        .read(|model| model.aggregates.iter().map(document).collect());
    reply(200, json!({ "aggregates": rows }))
}

async fn one(call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, "os-aggregates:show")?;
    if id.parse::<u64>().is_err() {
        return Err(Refusal::bad_request("id must be an integer"));
    }
    let shown = call
        .app
        .read(|model| model.aggregates.get(id).map(document));
    let shown = shown.ok_or_else(|| not_found(id))?;
    reply(200, json!({ "aggregate": shown }))
}

async fn create(call: Call, body: Bytes) -> Answer {
    admin(&call, "os-aggregates:create")?;
    let body = read_json(&body)?;
    let wanted = &body["aggregate"];
    let text = |name: &str| wanted[name].as_str().filter(|text| !text.is_empty());
    let name = text("name");
    let name = name.ok_or_else(|| invalid("aggregate", wanted, "'name' is a required property"))?;
    let zone = text(ZONE).map(|zone| (ZONE.to_owned(), zone.to_owned()));
    let mut shown = call.app.change(|model| {
        name_is_free(model, "", name)?;
        let number = |row: &Aggregate| row.id.parse::<u64>().unwrap_or_default();
        let last = model.aggregates.iter().map(number).max();
        let row = Aggregate {
            id: (last.unwrap_or_default() + 1).to_string(),
            uuid: new_id(),
            name: name.to_owned(),
            hosts: Vec::new(),
            metadata: zone.into_iter().collect(),
            created_at: micros(jiff::Timestamp::now()),
        };
        let shown = document(&row);
        model.aggregates.insert(row);
        Ok::<_, Refusal>(shown)
    })?;
    // As it was before they could be shown.
    for name in ["hosts", "metadata"] {
        shown.as_object_mut().and_then(|shown| shown.remove(name));
    }
    reply(200, json!({ "aggregate": shown }))
}

async fn update(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    admin(&call, "os-aggregates:update")?;
    let body = read_json(&body)?;
    let wanted = &body["aggregate"];
    if wanted["name"].is_null() && wanted[ZONE].is_null() {
        let why = "it is not valid under any of the given schemas";
        return Err(invalid("aggregate", wanted, why));
    }
    let shown = call.app.change(|model| {
        if let Some(name) = wanted["name"].as_str() {
            name_is_free(model, id, name)?;
        }
        let row = model.aggregates.get_mut(id);
        let row = row.ok_or_else(|| not_found(id))?;
        if let Some(name) = wanted["name"].as_str() {
            row.name = name.to_owned();
        }
        if let Some(zone) = wanted[ZONE].as_str() {
            row.metadata.insert(ZONE.into(), zone.into());
        }
        Ok::<_, Refusal>(document(row))
    })?;
    reply(200, json!({ "aggregate": shown }))
}

async fn delete(call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, "os-aggregates:delete")?;
    call.app.change(|model| {
        let row = model.aggregates.get(id).ok_or_else(|| not_found(id))?;
        if !row.hosts.is_empty() {
            return Err(Refusal::bad_request(format!(
                "Cannot remove aggregate '{id}': Host aggregate is not empty"
            )));
        }
        model.aggregates.remove(id);
        Ok(())
    })?;
    empty(200)
}

async fn act(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let (action, said) = action(&body)?;
    if !["add_host", "remove_host", "set_metadata"].contains(&action.as_str()) {
        return Err(Refusal::bad_request(format!(
            "There is no such action: {action}"
        )));
    }
    admin(&call, &format!("os-aggregates:{action}"))?;
    let host = said["host"].as_str().unwrap_or_default();
    let shown = call.app.change(|model| {
        let row = model.aggregates.get_mut(id);
        let row = row.ok_or_else(|| not_found(id))?;
        let is_in = row.hosts.iter().any(|one| one == host);
        match action.as_str() {
            "set_metadata" => {
                for (key, value) in said["metadata"].as_object().into_iter().flatten() {
                    match value.as_str() {
                        Some(value) => row.metadata.insert(key.clone(), value.to_owned()),
                        None => row.metadata.remove(key),
                    };
                }
            }
            "add_host" if host != HOST => {
                let why = format!("Compute host {host} could not be found.");
                return Err(Refusal::not_found("ComputeHostNotFound", why));
            }
            "add_host" if is_in => {
                let why = format!("Aggregate {id} already has host {host}.");
                return Err(Refusal::conflict("AggregateHostExists", why));
            }
            "add_host" => row.hosts.push(host.to_owned()),
            _ if is_in => row.hosts.retain(|one| one != host),
            _ => {
                let why = format!("Cannot remove host {host} in aggregate {id}");
                return Err(Refusal::not_found("AggregateHostNotFound", why));
            }
        }
        Ok(document(row))
    })?;
    reply(200, json!({ "aggregate": shown }))
}
