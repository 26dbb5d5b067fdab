//! Nova v2.1: server groups.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::new_id;
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::services::compute::invalid;
use crate::services::compute::server_group::{POLICIES, ServerGroup};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/os-server-groups", list)
        .post("/os-server-groups", create)
        .get("/os-server-groups/{id}", show)
        .delete("/os-server-groups/{id}", delete)
}

fn document(model: &Model, row: &ServerGroup, version: Microversion) -> Value {
    let members: Vec<&String> = model
        .servers
        .iter()
        .filter(|server| server.group.as_ref() == Some(&row.id))
        .map(|server| &server.id)
        .collect();
    let mut document = json!({"id": row.id, "name": row.name, "members": members});
    if version >= Microversion(2, 13) {
        document["project_id"] = json!(row.project_id);
        document["user_id"] = json!(row.user_id);
    }
    // One policy with rules took the place of a list and of metadata that nobody could set.
    if version >= Microversion(2, 64) {
        document["policy"] = json!(row.policy);
        document["rules"] = match row.max_server_per_host {
            Some(most) => json!({"max_server_per_host": most}),
            None => json!({}),
        };
    } else {
        document["policies"] = json!([row.policy]);
        document["metadata"] = json!({});
    }
    document
}

async fn list(call: Call) -> Answer {
    let member = call.member()?;
    let number = |name: &str| call.query_value(name).and_then(|text| text.parse().ok());
    let (offset, limit) = (
        number("offset").unwrap_or(0),
        number("limit").unwrap_or(1_000),
    );
    let rows: Vec<Value> = call.app.read(|model| {
        let mine = model
            .server_groups
            .iter()
            .filter(|row| row.project_id == member.project_id);
        mine.skip(offset)
            .take(limit)
            .map(|row| document(model, row, call.version))
            .collect()
    });
    reply(200, json!({ "server_groups": rows }))
}

async fn create(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let body = read_json(&body)?;
    let wanted = &body["server_group"];
    let name = wanted["name"].as_str().filter(|name| !name.is_empty());
    let name =
        name.ok_or_else(|| invalid("server_group", wanted, "'name' is a required property"))?;
    let new_form = call.version >= Microversion(2, 64);
    let (field, policy) = if new_form {
        ("policy", wanted["policy"].as_str())
    } else {
        ("policies", wanted["policies"][0].as_str())
    };
    let policy = policy.ok_or_else(|| {
        invalid(
            "server_group",
            wanted,
            &format!("'{field}' is a required property"),
        )
    })?;
    if !POLICIES.contains(&policy) {
        return Err(invalid(
            field,
            &wanted[field],
            &format!("'{policy}' is not one of {POLICIES:?}"),
        ));
    }
    let most = wanted["rules"]["max_server_per_host"].as_u64();
    if most.is_some() && policy != "anti-affinity" {
        return Err(Refusal::bad_request(
            "Only anti-affinity policy supports rules.",
        ));
    }
    let row = ServerGroup {
        id: new_id(),
        name: name.into(),
        policy: policy.into(),
        project_id: member.project_id.clone(),
        user_id: member.user_id,
        max_server_per_host: most.and_then(|most| u32::try_from(most).ok()),
    };
    let shown = call.app.change(|model| {
        let mine = model.server_groups.iter();
        let count = mine
            .filter(|row| row.project_id == member.project_id)
            .count() as i64;
        let limit = model.quotas.limit(&member.project_id, "server_groups");
        if limit >= 0 && count >= limit {
            return Err(Refusal::forbidden(
                "Quota exceeded, too many server groups.",
            ));
        }
        let shown = document(model, &row, call.version);
        model.server_groups.insert(row);
        Ok(shown)
    })?;
    reply(200, json!({ "server_group": shown }))
}

async fn show(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let shown = call.app.read(|model| {
        let row = model.server_group_of(&member.project_id, id)?;
        Ok::<_, Refusal>(document(model, row, call.version))
    })?;
    reply(200, json!({ "server_group": shown }))
}

async fn delete(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    call.app.change(|model| {
        model.server_group_of(&member.project_id, id)?;
        model.server_groups.remove(id);
        for server in model.servers.iter_mut() {
            if server.group.as_deref() == Some(id) {
                server.group = None;
            }
        }
        Ok::<_, Refusal>(())
    })?;
    empty(204)
}
