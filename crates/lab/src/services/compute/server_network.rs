//! Nova v2.1: a server's addresses and interfaces.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::services::compute::invalid;
use crate::services::compute::on_server::owned;
use crate::services::compute::server_create::Interface;
use crate::services::compute::view::addresses;
use crate::services::network::port::Port;
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/servers/{id}/ips", ips)
        .get("/servers/{id}/os-interface", interfaces)
        .post("/servers/{id}/os-interface", attach)
        .delete("/servers/{id}/os-interface/{port}", detach)
}

async fn ips(call: Call) -> Answer {
    let shown = call.read_server(addresses)?;
    reply(200, json!({ "addresses": shown }))
}

fn document(port: &Port, version: Microversion) -> Value {
    let mut document = json!({
        "port_id": port.id,
        "net_id": port.network_id,
        "mac_addr": port.mac_address,
        "port_state": port.status,
        "fixed_ips": port.fixed_ips,
    });
    if version >= Microversion(2, 70) {
        document["tag"] = Value::Null;
    }
    document
}

async fn interfaces(call: Call) -> Answer {
    let rows: Vec<Value> = call.read_server(|model, server| {
        let ports = server.ports.iter().filter_map(|id| model.ports.get(id));
        ports.map(|port| document(port, call.version)).collect()
    })?;
    reply(200, json!({ "interfaceAttachments": rows }))
}

async fn attach(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let body = read_json(&body)?;
    let wanted = &body["interfaceAttachment"];
    let known = ["port_id", "net_id", "fixed_ips", "tag"];
    let mut keys = wanted
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys());
    if let Some(name) = keys.find(|name| !known.contains(&name.as_str())) {
        let reason = format!("Additional properties are not allowed ('{name}' was unexpected)");
        return Err(invalid("interfaceAttachment", wanted, &reason));
    }
    let text = |name: &str| wanted[name].as_str().map(str::to_owned);
    let address = wanted["fixed_ips"][0]["ip_address"]
        .as_str()
        .map(str::to_owned);
    let interface = match (text("port_id"), text("net_id")) {
        (Some(_), Some(_)) => {
            return Err(Refusal::bad_request(
                "Must not input both network_id and port_id",
            ));
        }
        (Some(_), None) if address.is_some() => {
            return Err(invalid(
                "fixed_ips",
                wanted,
                "fixed addresses are a port's own matter",
            ));
        }
        (Some(port), None) => Some(Interface::Port(port)),
        (None, Some(network)) => Some(Interface::Network(network, address)),
        (None, None) if address.is_some() => {
            return Err(Refusal::bad_request(
                "Must input network_id when request IP address",
            ));
        }
        (None, None) => None,
    };
    call.server_unlocked()?;
    let (shown, port, server) = call.app.change(|model| {
        owned(model, &member, call.id())?;
        let port = model.plug_port(&member.project_id, call.id(), interface)?;
        let shown = model
            .ports
            .get(&port)
            .map(|port| document(port, call.version));
        Ok::<_, Refusal>((shown, port, call.id().to_owned()))
    })?;
    call.note_action("attach_interface")?;
    if let Some(message) = call.app.action_fails(&server, "attach_interface") {
        call.app.change(|model| model.unplug_port(&server, &port));
        call.action_ended("attach_interface", Some(&message));
        return Err(Refusal::new(500, "InterfaceAttachFailed", message));
    }
    call.app.rewire_server(&server).await;
    call.action_ended("attach_interface", None);
    reply(200, json!({ "interfaceAttachment": shown }))
}

async fn detach(call: Call) -> Answer {
    let member = call.member()?;
    call.server_unlocked()?;
    call.app.read(|model| {
        let server = owned(model, &member, call.id())?;
        if !server.ports.iter().any(|port| port == call.part("port")) {
            return Err(Refusal::not_found(
                "PortNotFound",
                format!("Port {} could not be found.", call.part("port")),
            ));
        }
        Ok(())
    })?;
    call.note_action("detach_interface")?;
    if let Some(message) = call.app.action_fails(call.id(), "detach_interface") {
        call.action_ended("detach_interface", Some(&message));
        return empty(202);
    }
    call.app
        .change(|model| model.unplug_port(call.id(), call.part("port")));
    call.app.rewire_server(call.id()).await;
    call.action_ended("detach_interface", None);
    empty(202)
}
