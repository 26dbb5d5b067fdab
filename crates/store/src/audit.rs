//! The audit trail: who did what, from where, with which result. Rows are never changed, and removed by age only.

use api::AuditEvent;
use sqlx::Row as _;

use crate::{
    Error, Page, Result, Store, Tenant,
    column::to_u32,
    database::{Row, read_all},
};

/// An event that is about to be stored.
#[derive(Clone, Debug)]
pub struct NewAuditEvent {
    /// The cloud's name.
    pub cloud: String,
    /// The project. `None` for a failed login.
    pub project_id: Option<String>,
    /// What the API shows.
    pub event: AuditEvent,
}

impl Store {
    /// Stores an event.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn audit_insert(&self, new: &NewAuditEvent) -> Result<()> {
        let event = &new.event;
        sqlx::query(
            "INSERT INTO audit_events (id, time, cloud, project_id, actor, address, action, target, status, code, request_id) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(&event.id)
        .bind(&event.time)
        .bind(&new.cloud)
        .bind(&new.project_id)
        .bind(&event.user)
        .bind(&event.address)
        .bind(&event.action)
        .bind(&event.target)
        .bind(i64::from(event.status))
        .bind(&event.code)
        .bind(&event.request_id)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("storing an audit event"))
    }

    /// A page of the project's events, newest first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn audit_list(&self, tenant: &Tenant, page: Page) -> Result<Vec<AuditEvent>> {
        let rows = sqlx::query(
            "SELECT id, time, actor, address, action, target, status, code, request_id FROM audit_events \
             WHERE cloud = $1 AND project_id = $2 ORDER BY id DESC LIMIT $3 OFFSET $4",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(page.limit))
        .bind(i64::from(page.offset))
        .fetch_all(&self.pool)
        .await;
        read_all(rows, event, "listing audit events")
    }
}

fn event(row: &Row) -> sqlx::Result<AuditEvent> {
    Ok(AuditEvent {
        id: row.try_get("id")?,
        time: row.try_get("time")?,
        user: row.try_get("actor")?,
        address: row.try_get("address")?,
        action: row.try_get("action")?,
        target: row.try_get("target")?,
        status: to_u32(row.try_get("status")?)?,
        code: row.try_get("code")?,
        request_id: row.try_get("request_id")?,
    })
}
