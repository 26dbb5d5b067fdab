//! Neutron v2.0: the port forwardings of a floating IP.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::services::network::collections::{kind_of, owned, visible_resource};
use crate::services::network::port_forwarding::PortForwarding;
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/network/v2.0")
        .get("/floatingips/{id}/port_forwardings", list)
        .post("/floatingips/{id}/port_forwardings", create)
        .get("/floatingips/{id}/port_forwardings/{forwarding}", show)
        .put("/floatingips/{id}/port_forwardings/{forwarding}", update)
        .delete("/floatingips/{id}/port_forwardings/{forwarding}", delete)
}

fn fields(body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    match read_json(body)?.get("port_forwarding") {
        Some(Value::Object(fields)) => Ok(fields.clone()),
        _ => Err(Refusal::bad_request(
            "Unable to find 'port_forwarding' in request body",
        )),
    }
}

async fn list(call: Call) -> Answer {
    let id = call.part("id");
    let (member, kind) = (call.member()?, kind_of("floatingips")?);
    let rows: Vec<Value> = call.app.read(|model| {
        visible_resource(model, kind, &member, id)?;
        let row = model.floating_ips.get(id);
        let all = row.into_iter().flat_map(|row| &row.port_forwardings);
        Ok::<_, Refusal>(all.map(PortForwarding::document).collect())
    })?;
    let fits = |row: &Value| {
        let mut filters = call
            .query
            .iter()
            .filter(|(name, _)| row.get(name).is_some());
        filters.all(|(name, value)| query::attribute_is(row, name, value))
    };
    let rows: Vec<Value> = rows.into_iter().filter(fits).collect();
    reply(200, json!({ "port_forwardings": rows }))
}

async fn show(call: Call) -> Answer {
    let (id, forwarding) = (call.part("id"), call.part("forwarding"));
    let (member, kind) = (call.member()?, kind_of("floatingips")?);
    let shown = call.app.read(|model| {
        visible_resource(model, kind, &member, id)?;
        Ok::<_, Refusal>(model.forwarding(id, forwarding)?.document())
    })?;
    reply(200, json!({ "port_forwarding": shown }))
}

/// Creates or changes a forwarding.
async fn set(call: &Call, (id, old): (&str, Option<&str>), body: &Bytes) -> Result<Value, Refusal> {
    let (member, kind) = (call.member()?, kind_of("floatingips")?);
    let fields = fields(body)?;
    let shown = call
        .app
        .change_and_apply(|model| {
            owned(model, kind, &member, id, "update")?;
            Ok(model.set_forwarding(id, &fields, old)?.document())
        })
        .await?;
    Ok(json!({ "port_forwarding": shown }))
}

async fn create(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    reply(201, set(&call, (id, None), &body).await?)
}

async fn update(call: Call, body: Bytes) -> Answer {
    let (id, forwarding) = (call.part("id"), call.part("forwarding"));
    let changed = set(&call, (id, Some(forwarding)), &body).await?;
    reply(200, changed)
}

async fn delete(call: Call) -> Answer {
    let (id, forwarding) = (call.part("id"), call.part("forwarding"));
    let (member, kind) = (call.member()?, kind_of("floatingips")?);
    call.app
        .change_and_apply(|model| {
            owned(model, kind, &member, id, "update")?;
            model.remove_forwarding(id, forwarding)
        })
        .await?;
    empty(204)
}
