//! Calls for login, sessions, the cloud, the audit trail.

use api::{AuditEvent, CloudFacts, CloudInfo, CurrentUser, LoginRequest, LoginSession};

use super::transport::{Answer, done, end_reads, get, is_unreachable, send};
use crate::browser;

/// `GET /clouds`.
pub async fn clouds() -> Answer<Vec<CloudInfo>> {
    get("/clouds").await
}

/// `POST /login`.
pub async fn login(request: &LoginRequest) -> Answer<CurrentUser> {
    send("POST", "/login", Some(request)).await
}

/// `POST /logout`. Ends the page's reads first: afterwards the server would refuse them. The caller leaves the page.
pub async fn logout() -> Answer<()> {
    end_reads();
    done("POST", "/logout").await
}

/// `GET /sessions`.
pub async fn sessions() -> Answer<Vec<LoginSession>> {
    get("/sessions").await
}

/// `DELETE /sessions/{id}`.
pub async fn session_end(id: &str) -> Answer<()> {
    done("DELETE", &format!("/sessions/{}", browser::encode(id))).await
}

/// `GET /me`.
pub async fn me() -> Answer<CurrentUser> {
    get("/me").await
}

/// True if the server responds and can use its database. The page stays where it is, also without a login.
pub async fn server_responds() -> bool {
    let answer = done("GET", "/me").await;
    !matches!(answer, Err(problem) if is_unreachable(&problem))
}

/// `GET /cloud`: flavors, images, networks and other facts of the project's cloud.
pub async fn cloud_facts() -> Answer<CloudFacts> {
    get("/cloud").await
}

/// `GET /audit`: a page of the events after the newest `offset`, of the project or of one of its deployments.
pub async fn audit(
    deployment: Option<&str>,
    limit: usize,
    offset: usize,
) -> Answer<Vec<AuditEvent>> {
    let of = deployment.map(|id| format!("&deployment={}", browser::encode(id)));
    let of = of.unwrap_or_default();
    get(&format!("/audit?limit={limit}&offset={offset}{of}")).await
}
