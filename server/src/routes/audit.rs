//! The audit trail of the project.

use api::AuditEvent;
use axum::{extract::State, response::Response};
use serde::Deserialize;

use crate::{
    audit::names_of,
    auth::Member,
    extract::{Paged, Query},
    problem::Result,
    services::Services,
};

/// `?deployment=...`
#[derive(Deserialize)]
pub struct AuditQuery {
    deployment: Option<String>,
}

/// Logins, changes and refusals of the project, newest first. For members.
///
/// With `deployment`, the id of one, only the events on it and on its runs.
/// Failed logins are those that named the project. At most `limit` (default 500, maximum 1,000). A full page has a header `Link` to the next one.
#[utoipa::path(get, path = "/api/v1/audit", tag = "audit", params(("deployment" = Option<String>, Query), ("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query)), responses((status = 200, body = Vec<AuditEvent>)))]
pub async fn list(
    State(services): State<Services>,
    Member(caller): Member,
    Query(query): Query<AuditQuery>,
    paged: Paged,
) -> Result<Response> {
    let project = caller.actor.session.project();
    let names = project.map(names_of).unwrap_or_default();
    let events = services
        .store
        .audit_list(
            caller.tenant(),
            &names,
            query.deployment.as_deref(),
            paged.page,
        )
        .await?;
    Ok(paged.answer(events))
}
