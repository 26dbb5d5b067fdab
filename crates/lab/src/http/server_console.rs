//! Nova v2.1: consoles on screens. The lab offers none, and refuses them as a cloud does that runs no console proxy.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use serde_json::Value;

use super::App;
use super::answer::read_json;
use super::compute::{Answer, invalid};
use super::microversion::Microversion;
use super::on_server::OnServer;
use crate::model::refusal::Refusal;

/// Since this microversion, a console is a resource below the server. Before, there was an action for each protocol.
const RESOURCE_SINCE: Microversion = Microversion(2, 6);

/// The actions for a console.
pub const OLD_CONSOLES: &[&str] = &[
    "os-getVNCConsole",
    "os-getSPICEConsole",
    "os-getRDPConsole",
    "os-getSerialConsole",
];

const PROTOCOLS: &[&str] = &["vnc", "spice", "rdp", "serial", "mks"];
const TYPES: &[&str] = &[
    "novnc",
    "xvpvnc",
    "spice-html5",
    "rdp-html5",
    "serial",
    "webmks",
];

pub fn routes() -> Router<App> {
    Router::new().route(
        "/compute/v2.1/servers/{id}/remote-consoles",
        post(remote_console),
    )
}

fn no_such_path() -> Refusal {
    Refusal::not_found("HTTPNotFound", "The resource could not be found.")
}

async fn remote_console(State(app): State<App>, on: OnServer, body: Bytes) -> Answer {
    if on.version < RESOURCE_SINCE {
        return Err(no_such_path().into());
    }
    let body = read_json(&body)?;
    let wanted = &body["remote_console"];
    for (name, known) in [("protocol", PROTOCOLS), ("type", TYPES)] {
        let Some(word) = wanted[name].as_str() else {
            let reason = format!("'{name}' is a required property");
            return Err(invalid("remote_console", wanted, &reason).into());
        };
        if !known.contains(&word) {
            let reason = format!("'{word}' is not one of {known:?}").replace('"', "'");
            return Err(invalid(name, &wanted[name], &reason).into());
        }
    }
    Err(unavailable(&app, &on, wanted)?.into())
}

/// An action for a console.
pub fn old_console(app: &App, on: &OnServer, details: &Value) -> Result<Response, Refusal> {
    if on.version >= RESOURCE_SINCE {
        return Err(no_such_path());
    }
    if !details["type"].is_string() {
        return Err(invalid("type", details, "'type' is a required property"));
    }
    Err(unavailable(app, on, details)?)
}

/// The refusal of a console, once it is clear that the server is the caller's.
fn unavailable(app: &App, on: &OnServer, details: &Value) -> Result<Refusal, Refusal> {
    on.read(app, |_, _| ())?;
    let kind = details["type"].as_str().unwrap_or_default();
    Ok(Refusal::bad_request(format!(
        "Unavailable console type {kind}."
    )))
}
