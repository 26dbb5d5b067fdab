//! Nova v2.1: `POST /servers/{id}/action`.

use axum::body::Bytes;
use axum::response::Response;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::{new_hex_id, now};
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::services::compute::server::Status;
use crate::services::compute::server_body::read_metadata;
use crate::services::compute::server_changes::Membership;
use crate::services::compute::server_security::regroup;
use crate::services::compute::server_snapshot::create_image;
use crate::services::compute::server_switch::{lock, reboot, reset_state, switch_of, unlock};
use crate::services::compute::view::server_document;
use crate::services::compute::{invalid, policy};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1").post("/servers/{id}/action", action)
}

async fn action(call: Call, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    let fields = body.as_object().filter(|fields| fields.len() == 1);
    let (name, details) = fields
        .and_then(|fields| fields.iter().next())
        .ok_or_else(|| {
            Refusal::bad_request("There is no such action: an action is an object with one key.")
        })?;
    let answer = match name.as_str() {
        "os-getConsoleOutput" => console(&call, details).await?,
        "reboot" => reboot(&call, details)?,
        "lock" => lock(&call, details)?,
        "unlock" => unlock(&call)?,
        "os-resetState" => reset_state(&call, details)?,
        "createImage" => create_image(&call, details)?,
        "addSecurityGroup" => regroup(&call, details, Membership::In).await?,
        "removeSecurityGroup" => regroup(&call, details, Membership::Out).await?,
        "resize" => resize(&call, details)?,
        "confirmResize" => {
            call.begin("confirm_resize", &[Status::VerifyResize], None)?;
            call.app.change(|model| model.confirm_resize(call.id()));
            empty(204)?
        }
        "revertResize" => {
            call.begin("revert_resize", &[Status::VerifyResize], None)?;
            call.app.change(|model| model.revert_resize(call.id()));
            call.app.spawn_resize(call.id().to_owned());
            empty(202)?
        }
        "rebuild" => rebuild(&call, details)?,
        "migrate" | "os-migrateLive" | "evacuate" | "injectNetworkInfo" | "resetNetwork"
            if !call.member()?.admin =>
        {
            return Err(policy(&format!("os-admin-actions:{name}")));
        }
        "migrate" | "os-migrateLive" | "evacuate" | "rescue" | "unrescue" | "shelveOffload"
        | "restore" | "forceDelete" | "changePassword" => {
            call.read_server(|_, _| ())?;
            return Err(Refusal::new(
                501,
                "NotImplemented",
                format!("The lab cloud cannot {name} servers."),
            ));
        }
        // Neutron's matter since 2.44, and since then no words of Nova's.
        "addFloatingIp" | "removeFloatingIp" | "addFixedIp" | "removeFixedIp"
            if call.version >= Microversion(2, 44) =>
        {
            let missing = "The resource could not be found.";
            return Err(Refusal::not_found("HTTPNotFound", missing));
        }
        other => match switch_of(other) {
            Some(switch) => switch.turn(&call)?,
            None => {
                return Err(Refusal::bad_request(format!(
                    "There is no such action: {other}"
                )));
            }
        },
    };
    Ok(answer)
}

async fn console(call: &Call, details: &Value) -> Result<Response, Refusal> {
    let status = call.read_server(|_, server| server.status)?;
    if status == Status::Build {
        return Err(Refusal::conflict(
            "InstanceNotReady",
            format!("Instance {} is not ready", call.id()),
        ));
    }
    let text = call.app.console(call.id()).await;
    let length = &details["length"];
    let is_number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if let Some(word) = length.as_str().filter(|text| !is_number(text)) {
        let reason = format!("'{word}' does not match '^-?[0-9]+$'");
        return Err(invalid("length", length, &reason));
    }
    let lines = length
        .as_i64()
        .or_else(|| length.as_str().and_then(|text| text.parse().ok()));
    reply(200, json!({"output": tail(&text, lines)}))
}

/// The last lines of a text. All lines without a number or with a negative one.
fn tail(text: &str, lines: Option<i64>) -> String {
    let Some(lines) = lines.and_then(|lines| usize::try_from(lines).ok()) else {
        return text.to_owned();
    };
    let all: Vec<&str> = text.lines().collect();
    let mut tail = all[all.len().saturating_sub(lines)..].join("\n");
    tail.push('\n');
    tail
}

fn resize(call: &Call, details: &Value) -> Result<Response, Refusal> {
    let flavor = details["flavorRef"].as_str();
    let flavor =
        flavor.ok_or_else(|| invalid("resize", details, "'flavorRef' is a required property"))?;
    let flavor = flavor.rsplit('/').next().unwrap_or(flavor);
    let member = call.member()?;
    call.read_server(|model, server| model.check_resize(&member, server, flavor))??;
    call.begin(
        "resize",
        &[Status::Active, Status::Shutoff],
        Some("resize_prep"),
    )?;
    call.change_server(|server| server.new_flavor_id = Some(flavor.to_owned()))?;
    call.app.spawn_resize(call.id().to_owned());
    empty(202)
}

/// Rebuilds a server with another image, name or user data. Ports and volumes stay.
fn rebuild(call: &Call, details: &Value) -> Result<Response, Refusal> {
    let member = call.member()?;
    let text = |name: &str| details[name].as_str().map(str::to_owned);
    let image = text("imageRef")
        .ok_or_else(|| invalid("rebuild", details, "'imageRef' is a required property"))?;
    let image = image.rsplit('/').next().unwrap_or(&image).to_owned();
    let metadata = match details.get("metadata") {
        None => None,
        some => Some(read_metadata(some)?),
    };
    let usable = call.app.read(|model| {
        let image = model.images.get(&image);
        image.is_some_and(|image| image.visible_to(&member.project_id))
    });
    if !usable {
        return Err(Refusal::bad_request("Cannot find image for rebuild"));
    }
    call.begin(
        "rebuild",
        &[Status::Active, Status::Shutoff, Status::Error],
        Some("rebuilding"),
    )?;
    call.change_server(|server| {
        server.old_image_id = Some(std::mem::replace(&mut server.image_id, image));
        server.name = text("name").unwrap_or_else(|| server.name.clone());
        server.description = text("description").or_else(|| server.description.take());
        server.user_data = text("user_data").or_else(|| server.user_data.take());
        server.metadata = metadata.unwrap_or_else(|| server.metadata.clone());
        server.fault = None;
        server.launched_at = Some(now());
    })?;
    call.app.spawn_rebuild(call.id().to_owned());
    let mut shown =
        call.read_server(|model, server| server_document(model, server, call.version, &call.base))?;
    shown["adminPass"] = new_hex_id()[..12].into();
    reply(202, json!({ "server": shown }))
}
