//! Nova v2.1: `POST /servers/{id}/action`.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use serde_json::{Value, json};

use super::App;
use super::answer::{empty_answer, json_answer, read_json};
use super::compute::{Answer, invalid, policy};
use super::compute_view::server_document;
use super::microversion::Microversion;
use super::on_server::OnServer;
use super::server_body::read_metadata;
use super::server_console::{OLD_CONSOLES, old_console};
use super::server_security::regroup;
use super::server_snapshot::{create_backup, create_image};
use super::server_switch::{lock, reboot, reset_state, switch_of, unlock};
use crate::model::ids::{new_hex_id, now};
use crate::model::refusal::Refusal;
use crate::model::server::Status;
use crate::model::server_changes::Membership;

pub fn routes() -> Router<App> {
    Router::new().route("/compute/v2.1/servers/{id}/action", post(action))
}

async fn action(State(app): State<App>, on: OnServer, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    let fields = body.as_object().filter(|fields| fields.len() == 1);
    let (name, details) = fields
        .and_then(|fields| fields.iter().next())
        .ok_or_else(|| {
            Refusal::bad_request("There is no such action: an action is an object with one key.")
        })?;
    let answer = match name.as_str() {
        "os-getConsoleOutput" => console(&app, &on, details).await?,
        "reboot" => reboot(&app, &on, details)?,
        "lock" => lock(&app, &on, details)?,
        "unlock" => unlock(&app, &on)?,
        "os-resetState" => reset_state(&app, &on, details)?,
        "createImage" => create_image(&app, &on, details)?,
        "createBackup" => create_backup(&app, &on, details)?,
        name if OLD_CONSOLES.contains(&name) => old_console(&app, &on, details)?,
        "addSecurityGroup" => regroup(&app, &on, details, Membership::In).await?,
        "removeSecurityGroup" => regroup(&app, &on, details, Membership::Out).await?,
        "resize" => resize(&app, &on, details)?,
        "confirmResize" => {
            on.begin(&app, "confirm_resize", &[Status::VerifyResize], None)?;
            app.change(|model| model.confirm_resize(on.id()));
            empty_answer(204)
        }
        "revertResize" => {
            on.begin(&app, "revert_resize", &[Status::VerifyResize], None)?;
            app.change(|model| model.revert_resize(on.id()));
            app.spawn_resize(on.id().to_owned());
            empty_answer(202)
        }
        "rebuild" => rebuild(&app, &on, details)?,
        "migrate" | "os-migrateLive" | "evacuate" | "injectNetworkInfo" | "resetNetwork"
            if !on.member()?.admin =>
        {
            return Err(policy(&format!("os-admin-actions:{name}")).into());
        }
        "migrate" | "os-migrateLive" | "evacuate" | "rescue" | "unrescue" | "shelveOffload"
        | "restore" | "forceDelete" | "changePassword" => {
            on.read(&app, |_, _| ())?;
            return Err(Refusal::new(
                501,
                "NotImplemented",
                format!("The lab cloud cannot {name} servers."),
            )
            .into());
        }
        // Neutron's matter since 2.44, and since then no words of Nova's.
        "addFloatingIp" | "removeFloatingIp" | "addFixedIp" | "removeFixedIp"
            if on.version >= Microversion(2, 44) =>
        {
            let missing = "The resource could not be found.";
            return Err(Refusal::not_found("HTTPNotFound", missing).into());
        }
        other => match switch_of(other) {
            Some(switch) => switch.turn(&app, &on)?,
            None => {
                return Err(
                    Refusal::bad_request(format!("There is no such action: {other}")).into(),
                );
            }
        },
    };
    Ok(answer)
}

async fn console(app: &App, on: &OnServer, details: &Value) -> Result<Response, Refusal> {
    let status = on.read(app, |_, server| server.status)?;
    if status == Status::Build {
        return Err(Refusal::conflict(
            "InstanceNotReady",
            format!("Instance {} is not ready", on.id()),
        ));
    }
    let text = app.console(on.id()).await;
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
    Ok(json_answer(200, json!({"output": tail(&text, lines)})))
}

/// The last lines of a text; all when no number or a negative one is asked for.
fn tail(text: &str, lines: Option<i64>) -> String {
    let Some(lines) = lines.and_then(|lines| usize::try_from(lines).ok()) else {
        return text.to_owned();
    };
    let all: Vec<&str> = text.lines().collect();
    let mut tail = all[all.len().saturating_sub(lines)..].join("\n");
    tail.push('\n');
    tail
}

fn resize(app: &App, on: &OnServer, details: &Value) -> Result<Response, Refusal> {
    let flavor = details["flavorRef"].as_str();
    let flavor =
        flavor.ok_or_else(|| invalid("resize", details, "'flavorRef' is a required property"))?;
    let flavor = flavor.rsplit('/').next().unwrap_or(flavor);
    let member = on.member()?;
    on.read(app, |model, server| {
        model.check_resize(member.asker(), server, flavor)
    })??;
    on.begin(
        app,
        "resize",
        &[Status::Active, Status::Shutoff],
        Some("resize_prep"),
    )?;
    on.change(app, |server| server.new_flavor_id = Some(flavor.to_owned()))?;
    app.spawn_resize(on.id().to_owned());
    Ok(empty_answer(202))
}

/// A server anew, with the same ports and volumes: another image, name, or user data.
fn rebuild(app: &App, on: &OnServer, details: &Value) -> Result<Response, Refusal> {
    let member = on.member()?;
    let text = |name: &str| details[name].as_str().map(str::to_owned);
    let image = text("imageRef")
        .ok_or_else(|| invalid("rebuild", details, "'imageRef' is a required property"))?;
    let image = image.rsplit('/').next().unwrap_or(&image).to_owned();
    let metadata = match details.get("metadata") {
        None => None,
        some => Some(read_metadata(some)?),
    };
    let usable = app.read(|model| {
        let image = model.images.get(&image);
        image.is_some_and(|image| image.visible_to(&member.project_id))
    });
    if !usable {
        return Err(Refusal::bad_request("Cannot find image for rebuild"));
    }
    on.begin(
        app,
        "rebuild",
        &[Status::Active, Status::Shutoff, Status::Error],
        Some("rebuilding"),
    )?;
    on.change(app, |server| {
        server.old_image_id = Some(std::mem::replace(&mut server.image_id, image));
        server.name = text("name").unwrap_or_else(|| server.name.clone());
        server.description = text("description").or_else(|| server.description.take());
        server.user_data = text("user_data").or_else(|| server.user_data.take());
        server.metadata = metadata.unwrap_or_else(|| server.metadata.clone());
        server.fault = None;
        server.launched_at = Some(now());
    })?;
    app.spawn_rebuild(on.id().to_owned());
    let mut shown = on.read(app, |model, server| {
        server_document(model, server, on.version, &on.base)
    })?;
    shown["adminPass"] = new_hex_id()[..12].into();
    Ok(json_answer(202, json!({ "server": shown })))
}
