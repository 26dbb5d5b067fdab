//! Calls for login, sessions, the cloud, the audit trail.

use api::{AuditEvent, CloudFacts, CloudInfo, CurrentUser, LoginRequest, LoginSession};

use super::transport::{Answer, Outage, done, end_reads, get, outage_of, send};
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

/// The present outage. `None` if the server responds. The page stays where it is, also without a login.
pub async fn outage() -> Option<Outage> {
    let answer = done("GET", "/me").await;
    answer.err().as_ref().and_then(outage_of)
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
