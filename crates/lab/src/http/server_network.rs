//! Nova v2.1: a server's addresses and interfaces.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::get;
use serde_json::{Value, json};

use super::App;
use super::answer::{empty_answer, json_answer, read_json};
use super::compute::{Answer, invalid};
use super::compute_view::addresses;
use super::microversion::Microversion;
use super::on_server::{OnServer, owned};
use crate::model::network::port::Port;
use crate::model::refusal::Refusal;
use crate::model::server_create::Interface;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/compute/v2.1/servers/{id}/ips", get(ips))
        .route(
            "/compute/v2.1/servers/{id}/os-interface",
            get(interfaces).post(attach),
        )
        .route(
            "/compute/v2.1/servers/{id}/os-interface/{port}",
            get(interface).delete(detach),
        )
}

async fn ips(State(app): State<App>, on: OnServer) -> Answer {
    let shown = on.read(&app, addresses)?;
    Ok(json_answer(200, json!({ "addresses": shown })))
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

async fn interfaces(State(app): State<App>, on: OnServer) -> Answer {
    let rows: Vec<Value> = on.read(&app, |model, server| {
        let ports = server.ports.iter().filter_map(|id| model.ports.get(id));
        ports.map(|port| document(port, on.version)).collect()
    })?;
    Ok(json_answer(200, json!({ "interfaceAttachments": rows })))
}

async fn interface(State(app): State<App>, on: OnServer) -> Answer {
    let shown = on.read(&app, |model, server| {
        let id = server.ports.iter().find(|id| *id == on.part("port"))?;
        model.ports.get(id).map(|port| document(port, on.version))
    })?;
    let shown = shown.ok_or_else(|| no_such_port(&on))?;
    Ok(json_answer(200, json!({ "interfaceAttachment": shown })))
}

fn no_such_port(on: &OnServer) -> Refusal {
    Refusal::not_found(
        "PortNotFound",
        format!(
            "Instance {} does not have a port with id {}",
            on.id(),
            on.part("port")
        ),
    )
}

async fn attach(State(app): State<App>, on: OnServer, body: Bytes) -> Answer {
    let member = on.member()?;
    let body = read_json(&body)?;
    let wanted = &body["interfaceAttachment"];
    let known = ["port_id", "net_id", "fixed_ips", "tag"];
    let mut said = wanted.as_object().into_iter().flat_map(|said| said.keys());
    if let Some(name) = said.find(|name| !known.contains(&name.as_str())) {
        let reason = format!("Additional properties are not allowed ('{name}' was unexpected)");
        return Err(invalid("interfaceAttachment", wanted, &reason).into());
    }
    let text = |name: &str| wanted[name].as_str().map(str::to_owned);
    let address = wanted["fixed_ips"][0]["ip_address"]
        .as_str()
        .map(str::to_owned);
    let interface = match (text("port_id"), text("net_id")) {
        (Some(_), Some(_)) => {
            return Err(Refusal::bad_request("Must not input both network_id and port_id").into());
        }
        (Some(_), None) if address.is_some() => {
            return Err(invalid(
                "fixed_ips",
                wanted,
                "fixed addresses are a port's own matter",
            )
            .into());
        }
        (Some(port), None) => Some(Interface::Port(port)),
        (None, Some(network)) => Some(Interface::Network(network, address)),
        (None, None) if address.is_some() => {
            return Err(
                Refusal::bad_request("Must input network_id when request IP address").into(),
            );
        }
        (None, None) => None,
    };
    on.unlocked(&app)?;
    let (shown, port, server) = app.change(|model| {
        owned(model, &member, on.id())?;
        let port = model.plug_port(&member.project_id, on.id(), interface)?;
        let shown = model
            .ports
            .get(&port)
            .map(|port| document(port, on.version));
        Ok::<_, Refusal>((shown, port, on.id().to_owned()))
    })?;
    on.note(&app, "attach_interface")?;
    if let Some(message) = app.action_fails(&server, "attach_interface") {
        app.change(|model| model.unplug_port(&server, &port));
        on.ended(&app, "attach_interface", Some(&message));
        return Err(Refusal::new(500, "InterfaceAttachFailed", message).into());
    }
    app.rewire_server(&server).await;
    on.ended(&app, "attach_interface", None);
    Ok(json_answer(200, json!({ "interfaceAttachment": shown })))
}

async fn detach(State(app): State<App>, on: OnServer) -> Answer {
    let member = on.member()?;
    on.unlocked(&app)?;
    app.read(|model| {
        let server = owned(model, &member, on.id())?;
        if !server.ports.iter().any(|port| port == on.part("port")) {
            return Err(Refusal::not_found(
                "PortNotFound",
                format!("Port {} could not be found.", on.part("port")),
            ));
        }
        Ok(())
    })?;
    on.note(&app, "detach_interface")?;
    if let Some(message) = app.action_fails(on.id(), "detach_interface") {
        on.ended(&app, "detach_interface", Some(&message));
        return Ok(empty_answer(202));
    }
    app.change(|model| model.unplug_port(on.id(), on.part("port")));
    app.rewire_server(on.id()).await;
    on.ended(&app, "detach_interface", None);
    Ok(empty_answer(202))
}
