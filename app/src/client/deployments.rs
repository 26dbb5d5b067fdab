//! Calls for deployments, and all that is done with them.

use api::{
    Check, CommandRequest, ConsoleLog, DeployRequest, Deployment, GraphicalConsole, LiveResources,
    LiveServer, Permission, PermissionRequest, Plan, PowerAction, PowerRequest, RepairRequest, Run,
    ScaleRequest, Snapshot, SnapshotRequest, SnapshotScope, Started, Stray, UpgradeRequest,
};

use super::transport::{Answer, Page, call, done, get, get_all, send, unreadable, written};
use crate::browser;

/// `GET /deployments`.
pub async fn deployments() -> Answer<Vec<Deployment>> {
    get_all("/deployments").await
}

/// `GET /deployments/{id}`.
pub async fn deployment(id: &str) -> Answer<Deployment> {
    get(&format!("/deployments/{}", browser::encode(id))).await
}

/// `POST /deployments`.
pub async fn deploy(request: &DeployRequest) -> Answer<Started> {
    send("POST", "/deployments", Some(request)).await
}

/// `PUT /deployments/{id}`.
pub async fn deployment_update(id: &str, request: &DeployRequest) -> Answer<Started> {
    send(
        "PUT",
        &format!("/deployments/{}", browser::encode(id)),
        Some(request),
    )
    .await
}

/// `GET /deployments/{id}/rollback`: the plan of the roll-back to the last good state.
pub async fn roll_back_plan(id: &str) -> Answer<Plan> {
    get(&format!("/deployments/{}/rollback", browser::encode(id))).await
}

/// `POST /deployments/{id}/rollback`: the roll-back with the plan that the user has seen.
pub async fn roll_back(id: &str, plan: &Plan) -> Answer<Started> {
    let seen = [
        ("base_run", plan.base_run.as_deref()),
        ("plan_digest", plan.digest.as_deref()),
    ];
    let query: Vec<String> = seen
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", browser::encode(value?))))
        .collect();
    let path = format!(
        "/deployments/{}/rollback?{}",
        browser::encode(id),
        query.join("&")
    );
    send("POST", &path, None::<&()>).await
}

/// Suspension of a deployment, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspension {
    /// Suspends the servers.
    Suspend,
    /// Resumes the servers.
    Resume,
}

/// `POST /deployments/{id}/suspend` and `POST /deployments/{id}/resume`.
pub async fn suspension(id: &str, which: Suspension, base_run: Option<&str>) -> Answer<Started> {
    let word = match which {
        Suspension::Suspend => "suspend",
        Suspension::Resume => "resume",
    };
    let base = base_run.map(|run| format!("?base_run={}", browser::encode(run)));
    let path = format!(
        "/deployments/{}/{word}{}",
        browser::encode(id),
        base.unwrap_or_default()
    );
    send("POST", &path, None::<&()>).await
}

/// `GET /deployments/{id}/snapshots`.
pub async fn snapshots(id: &str) -> Answer<Vec<Snapshot>> {
    get(&format!("/deployments/{}/snapshots", browser::encode(id))).await
}

/// `GET /deployments/{id}/snapshots/scope`.
pub async fn snapshot_scope(id: &str) -> Answer<SnapshotScope> {
    get(&format!(
        "/deployments/{}/snapshots/scope",
        browser::encode(id)
    ))
    .await
}

/// `POST /deployments/{id}/snapshots`.
pub async fn snapshot_take(id: &str, request: &SnapshotRequest) -> Answer<Started> {
    let path = format!("/deployments/{}/snapshots", browser::encode(id));
    send("POST", &path, Some(request)).await
}

/// `POST /deployments/{id}/snapshots/{snapshot}/restore`.
pub async fn snapshot_restore(id: &str, snapshot: &str) -> Answer<Started> {
    let (id, snapshot) = (browser::encode(id), browser::encode(snapshot));
    let path = format!("/deployments/{id}/snapshots/{snapshot}/restore");
    send("POST", &path, None::<&()>).await
}

/// `DELETE /deployments/{id}/snapshots/{snapshot}`.
pub async fn snapshot_delete(id: &str, snapshot: &str) -> Answer<()> {
    let (id, snapshot) = (browser::encode(id), browser::encode(snapshot));
    let path = format!("/deployments/{id}/snapshots/{snapshot}");
    done("DELETE", &path).await
}

/// `POST /deployments/{id}/groups/{name}/scale`.
pub async fn scale(id: &str, group: &str, request: &ScaleRequest) -> Answer<Started> {
    let (id, group) = (browser::encode(id), browser::encode(group));
    let path = format!("/deployments/{id}/groups/{group}/scale");
    send("POST", &path, Some(request)).await
}

/// `POST /deployments/{id}/upgrade`.
pub async fn upgrade(id: &str, request: &UpgradeRequest) -> Answer<Started> {
    let path = format!("/deployments/{}/upgrade", browser::encode(id));
    send("POST", &path, Some(request)).await
}

/// `POST /deployments/{id}/permission`.
pub async fn permission_give(id: &str, request: &PermissionRequest) -> Answer<Permission> {
    let path = format!("/deployments/{}/permission", browser::encode(id));
    send("POST", &path, Some(request)).await
}

/// `DELETE /deployments/{id}/permission`.
pub async fn permission_revoke(id: &str) -> Answer<()> {
    let path = format!("/deployments/{}/permission", browser::encode(id));
    done("DELETE", &path).await
}

/// `POST /deployments/{id}/check`.
pub async fn check(id: &str) -> Answer<Check> {
    let path = format!("/deployments/{}/check", browser::encode(id));
    send("POST", &path, None::<&()>).await
}

/// `POST /deployments/{id}/repair`.
pub async fn repair(id: &str, request: &RepairRequest) -> Answer<Started> {
    let path = format!("/deployments/{}/repair", browser::encode(id));
    send("POST", &path, Some(request)).await
}

/// `POST /deployments/{id}/command`.
pub async fn command(id: &str, request: &CommandRequest) -> Answer<Started> {
    let path = format!("/deployments/{}/command", browser::encode(id));
    send("POST", &path, Some(request)).await
}

/// `GET /deployments/{id}/servers`.
pub async fn servers(id: &str) -> Answer<Vec<LiveServer>> {
    get(&format!("/deployments/{}/servers", browser::encode(id))).await
}

/// `GET /deployments/{id}/live`.
pub async fn live_resources(id: &str) -> Answer<LiveResources> {
    get(&format!("/deployments/{}/live", browser::encode(id))).await
}

/// `POST /deployments/{id}/servers/{name}/power`.
pub async fn power(id: &str, server: &str, power: PowerAction) -> Answer<()> {
    let (id, server) = (browser::encode(id), browser::encode(server));
    let path = format!("/deployments/{id}/servers/{server}/power");
    let body = written(&PowerRequest { power });
    let body = body.map_err(|error| unreadable(&path, &error.to_string()))?;
    call("POST", &path, Some(body), Page::Stays).await.map(drop)
}

/// `GET /deployments/{id}/servers/{name}/console`.
pub async fn console_log(id: &str, server: &str) -> Answer<ConsoleLog> {
    get(&console_path(id, server)).await
}

/// `POST /deployments/{id}/servers/{name}/console`.
pub async fn graphical_console(id: &str, server: &str) -> Answer<GraphicalConsole> {
    send("POST", &console_path(id, server), None::<&()>).await
}

fn console_path(id: &str, server: &str) -> String {
    let (id, server) = (browser::encode(id), browser::encode(server));
    format!("/deployments/{id}/servers/{server}/console")
}

/// Treatment of resources that an undeploy cannot remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// The run fails.
    No,
    /// The run continues and reports the remaining resources.
    Yes,
}

/// `DELETE /deployments/{id}`.
pub async fn undeploy(id: &str, force: Force, base_run: Option<&str>) -> Answer<Started> {
    let mut query = format!("?force={}", force == Force::Yes);
    if let Some(run) = base_run {
        query += &format!("&base_run={}", browser::encode(run));
    }
    send(
        "DELETE",
        &format!("/deployments/{}{query}", browser::encode(id)),
        None::<&()>,
    )
    .await
}

/// `DELETE /deployments/{id}/record`.
pub async fn remove_deployment(id: &str) -> Answer<()> {
    let path = format!("/deployments/{}/record", browser::encode(id));
    done("DELETE", &path).await
}

/// `GET /deployments/{id}/runs`.
pub async fn runs(deployment: &str) -> Answer<Vec<Run>> {
    get_all(&format!(
        "/deployments/{}/runs",
        browser::encode(deployment)
    ))
    .await
}

/// The newest run of a deployment, without steps.
pub async fn newest_run(deployment: &str) -> Answer<Option<Run>> {
    let path = format!("/deployments/{}/runs?limit=1", browser::encode(deployment));
    let runs: Vec<Run> = get(&path).await?;
    Ok(runs.into_iter().next())
}

/// `GET /deployments/{id}/strays`.
pub async fn strays(deployment: &str) -> Answer<Vec<Stray>> {
    get(&format!(
        "/deployments/{}/strays",
        browser::encode(deployment)
    ))
    .await
}
