//! Commands on a deployment's servers.

use api::{CommandRequest, CommandServers, Started};
use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::IntoResponse,
};

use super::deployments::accepted;
use crate::{audit::Recorder, auth::Member, extract::Json, problem::Result, services::Services};

/// Starts a run that runs a command on servers of a deployment: a script, an Ansible playbook, or a command of a component.
///
/// The run changes no resource, and is neither repeated nor resumed. Its content is stored, sealed, until it ends. It runs
/// beside a change and other commands: its step on a server waits while a step of another run works there.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/command", tag = "deployments", params(("id" = String, Path)), request_body = CommandRequest, responses((status = 202, body = Started)))]
pub async fn run(
    State(services): State<Services>,
    Member(caller): Member,
    Extension(recorder): Extension<Recorder>,
    Path(id): Path<String>,
    Json(request): Json<CommandRequest>,
) -> Result<impl IntoResponse> {
    let action = summary(&request);
    let started = services.engine.command(&caller.actor, &id, request).await?;
    let who = (caller.actor.user.as_str(), caller.tenant());
    recorder
        .record(who, &action, StatusCode::ACCEPTED, None)
        .await;
    Ok(accepted(started))
}

/// The command for the audit trail, without its text, which can contain secrets.
fn summary(request: &CommandRequest) -> String {
    let size = |text: &Option<String>| text.as_deref().map(str::len);
    let what = match (size(&request.script), size(&request.playbook)) {
        (Some(bytes), _) => format!("script of {bytes} bytes"),
        (_, Some(bytes)) => format!("playbook of {bytes} bytes"),
        _ => format!(
            "{} of {}",
            request.command.as_deref().unwrap_or_default(),
            request.component.as_deref().unwrap_or_default()
        ),
    };
    let servers = match &request.servers {
        None => String::new(),
        Some(CommandServers::All(_)) => " on all servers".to_owned(),
        Some(CommandServers::Named(names)) => format!(" on {}", names.join(", ")),
    };
    let title = request.title.as_deref().map(|title| format!(" ({title})"));
    format!("command: {what}{servers}{}", title.unwrap_or_default())
}
