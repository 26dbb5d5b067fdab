//! Nova v2.1: consoles on screens. The lab offers none, and refuses them as a cloud does that runs no console proxy.

use axum::body::Bytes;
use axum::response::Response;
use serde_json::Value;

use crate::kit::answer::{Answer, read_json};
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::services::compute::invalid;
use crate::services::{Call, Routes};

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

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1").post("/servers/{id}/remote-consoles", remote_console)
}

fn no_such_path() -> Refusal {
    Refusal::not_found("HTTPNotFound", "The resource could not be found.")
}

async fn remote_console(call: Call, body: Bytes) -> Answer {
    if call.version < RESOURCE_SINCE {
        return Err(no_such_path());
    }
    let body = read_json(&body)?;
    let wanted = &body["remote_console"];
    for (name, known) in [("protocol", PROTOCOLS), ("type", TYPES)] {
        let Some(word) = wanted[name].as_str() else {
            let reason = format!("'{name}' is a required property");
            return Err(invalid("remote_console", wanted, &reason));
        };
        if !known.contains(&word) {
            let reason = format!("'{word}' is not one of {known:?}").replace('"', "'");
            return Err(invalid(name, &wanted[name], &reason));
        }
    }
    Err(unavailable(&call, wanted)?)
}

/// An action for a console.
pub fn old_console(call: &Call, details: &Value) -> Result<Response, Refusal> {
    if call.version >= RESOURCE_SINCE {
        return Err(no_such_path());
    }
    if !details["type"].is_string() {
        return Err(invalid("type", details, "'type' is a required property"));
    }
    Err(unavailable(call, details)?)
}

/// The refusal of a console, once it is clear that the server is the caller's.
fn unavailable(call: &Call, details: &Value) -> Result<Refusal, Refusal> {
    call.read_server(|_, _| ())?;
    let kind = details["type"].as_str().unwrap_or_default();
    Ok(Refusal::bad_request(format!(
        "Unavailable console type {kind}."
    )))
}
