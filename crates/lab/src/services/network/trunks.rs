//! Neutron v2.0: the sub-ports of a trunk.

use axum::body::Bytes;
use serde_json::json;

use crate::kit::answer::{Answer, read_json, reply};
use crate::services::network::collections::{kind_of, owned, visible_resource};
use crate::services::network::trunk::sub_ports;
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/network/v2.0")
        .put("/trunks/{id}/add_subports", add)
        .put("/trunks/{id}/remove_subports", remove)
        .get("/trunks/{id}/get_subports", list)
}

async fn list(call: Call) -> Answer {
    let id = call.part("id");
    let (member, kind) = (call.member()?, kind_of("trunks")?);
    let trunk = call
        .app
        .read(|model| visible_resource(model, kind, &member, id))?;
    reply(200, json!({"sub_ports": trunk["sub_ports"]}))
}

async fn add(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let (member, kind) = (call.member()?, kind_of("trunks")?);
    let more = sub_ports(read_json(&body)?.get("sub_ports").cloned())?;
    let trunk = call.app.change(|model| {
        owned(model, kind, &member, id, "add_subports")?;
        model.add_sub_ports(id, more)?;
        visible_resource(model, kind, &member, id)
    })?;
    reply(200, trunk)
}

async fn remove(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let (member, kind) = (call.member()?, kind_of("trunks")?);
    let body = read_json(&body)?;
    let listed = body["sub_ports"].as_array().into_iter().flatten();
    let ports: Vec<String> = listed
        .filter_map(|sub| sub["port_id"].as_str())
        .map(str::to_owned)
        .collect();
    let trunk = call.app.change(|model| {
        owned(model, kind, &member, id, "remove_subports")?;
        model.drop_sub_ports(id, &ports)?;
        visible_resource(model, kind, &member, id)
    })?;
    reply(200, trunk)
}
