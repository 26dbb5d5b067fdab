//! Nova v2.1: graphical consoles. The lab refuses them, as a cloud without a console proxy does.

use axum::body::Bytes;

use crate::kit::answer::{Answer, read_json};
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::services::compute::invalid;
use crate::services::{Call, Routes};

/// The microversion since which a console is a resource below the server.
const RESOURCE_SINCE: Microversion = Microversion(2, 6);

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

async fn remote_console(call: Call, body: Bytes) -> Answer {
    if call.version < RESOURCE_SINCE {
        let missing = "The resource could not be found.";
        return Err(Refusal::not_found("HTTPNotFound", missing));
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
    call.read_server(|_, _| ())?;
    let kind = wanted["type"].as_str().unwrap_or_default();
    Err(Refusal::bad_request(format!(
        "Unavailable console type {kind}."
    )))
}
