//! The console of a server of a deployment.

use api::{ConsoleLog, GraphicalConsole};
use axum::extract::{Path, State};

use crate::{auth::Member, extract::Json, problem::Result, services::Services};

/// The last lines that a server wrote to its console.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/servers/{name}/console", tag = "deployments", params(("id" = String, Path), ("name" = String, Path, description = "Name of the server's resource.")), responses((status = 200, body = ConsoleLog)))]
pub async fn log(
    State(services): State<Services>,
    Member(caller): Member,
    Path((id, name)): Path<(String, String)>,
) -> Result<Json<ConsoleLog>> {
    let log = services.engine.console_log(&caller.actor, &id, &name);
    Ok(Json(log.await?))
}

/// Opens a graphical console of a server at the cloud, and returns its page.
///
/// noVNC, else SPICE, else the websocket of a serial console. Refused by clouds without a console proxy.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/servers/{name}/console", tag = "deployments", params(("id" = String, Path), ("name" = String, Path, description = "Name of the server's resource.")), responses((status = 200, body = GraphicalConsole)))]
pub async fn graphical(
    State(services): State<Services>,
    Member(caller): Member,
    Path((id, name)): Path<(String, String)>,
) -> Result<Json<GraphicalConsole>> {
    let console = services.engine.graphical_console(&caller.actor, &id, &name);
    Ok(Json(console.await?))
}
