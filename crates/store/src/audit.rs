//! The audit trail: user, address, action and result of each recorded request. Rows are never changed. They are removed by
//! age, and beyond the newest of a project.

use api::AuditEvent;
use sqlx::Row as _;

use crate::{
    Error, Page, Result, Store, Tenant,
    column::to_u32,
    database::{Row, read_all, statement},
};

/// An event that is about to be stored.
#[derive(Clone, Debug)]
pub struct NewAuditEvent {
    /// The cloud's name.
    pub cloud: String,
    /// The project. `None` for a failed login.
    pub project_id: Option<String>,
    /// The project that a failed login named, in a form of the caller's choice.
    pub named_project: Option<String>,
    /// Id of the run that it is about. Its deployment is looked up if the event names none.
    pub run: Option<String>,
    /// Fields that the API shows.
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
            "INSERT INTO audit_events (id, time, cloud, project_id, named_project, actor, address, action, target, status, code, request_id, \
             deployment) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
             COALESCE($13, (SELECT deployment FROM runs WHERE id = $14 AND cloud = $3 AND project_id = $4)))",
        )
        .bind(&event.id)
        .bind(&event.time)
        .bind(&new.cloud)
        .bind(&new.project_id)
        .bind(&new.named_project)
        .bind(&event.user)
        .bind(&event.address)
        .bind(&event.action)
        .bind(&event.target)
        .bind(i64::from(event.status))
        .bind(&event.code)
        .bind(&event.request_id)
        .bind(&event.deployment)
        .bind(&new.run)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("storing an audit event"))
    }

    /// A page of the project's events, newest first, with the failed logins that named it in one of these ways. With a
    /// deployment, only the events about that one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn audit_list(
        &self,
        tenant: &Tenant,
        [first, second, third]: &[String; 3],
        deployment: Option<&str>,
        page: Page,
    ) -> Result<Vec<AuditEvent>> {
        let of_deployment = match deployment {
            Some(_) => " AND deployment = $8",
            None => "",
        };
        let query = sqlx::query(statement(&[
            "SELECT id, time, actor, address, action, target, deployment, status, code, request_id FROM audit_events \
             WHERE cloud = $1 AND (project_id = $2 OR (project_id IS NULL AND named_project IN ($3, $4, $5)))",
            of_deployment,
            " ORDER BY id DESC LIMIT $6 OFFSET $7",
        ]));
        let mut query = query
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .bind(first)
            .bind(second)
            .bind(third)
            .bind(i64::from(page.limit))
            .bind(i64::from(page.offset));
        if let Some(deployment) = deployment {
            query = query.bind(deployment);
        }
        let rows = query.fetch_all(&self.pool).await;
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
        deployment: row.try_get("deployment")?,
        status: to_u32(row.try_get("status")?)?,
        code: row.try_get("code")?,
        request_id: row.try_get("request_id")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Database, strangers, tenant};

    fn event(number: usize, of: &Tenant) -> NewAuditEvent {
        NewAuditEvent {
            cloud: of.cloud.clone(),
            project_id: Some(of.project_id.clone()),
            named_project: None,
            run: None,
            event: AuditEvent {
                id: format!("{}-{number}", of.project_id),
                time: format!("2026-01-0{number}T00:00:00Z"),
                user: "ada".into(),
                address: Some("192.0.2.1".into()),
                action: "DELETE /api/v1/designs/{id}".into(),
                target: "/api/v1/designs/1".into(),
                deployment: None,
                status: 403,
                code: Some("reader-cannot-change".into()),
                request_id: "r".into(),
            },
        }
    }

    /// Names that failed logins use for a project in these tests.
    fn names(of: &Tenant) -> [String; 3] {
        ["id", "name", "other name"].map(|kind| format!("{kind} of {}", of.project_id))
    }

    #[tokio::test]
    async fn a_project_sees_the_failed_logins_that_named_it() {
        for database in Database::each().await {
            let store = &database.store;
            let mut failed = Vec::new();
            for (number, name) in (1..).zip(names(&tenant())) {
                let mut new = event(number, &tenant());
                (new.project_id, new.named_project) = (None, Some(name));
                store.audit_insert(&new).await.unwrap();
                failed.insert(0, new.event);
            }
            let mut unnamed = event(4, &tenant());
            unnamed.project_id = None;
            store.audit_insert(&unnamed).await.unwrap();
            let mine = names(&tenant());
            let listed = store.audit_list(&tenant(), &mine, None, Page::ALL).await;
            assert_eq!(listed.unwrap(), failed);
            for stranger in strangers() {
                let own = ["x", "y", "z"].map(str::to_owned);
                let seen = store.audit_list(&stranger, &own, None, Page::ALL).await;
                assert_eq!(seen.unwrap(), []);
            }
        }
    }

    #[tokio::test]
    async fn a_project_sees_its_events_which_age_and_number_limit() {
        for database in Database::each().await {
            let (store, operator) = (&database.store, &database.operator);
            for number in 1..=5 {
                let event = event(number, &tenant());
                store.audit_insert(&event).await.unwrap();
            }
            let listed = store
                .audit_list(&tenant(), &names(&tenant()), None, Page::ALL)
                .await
                .unwrap();
            assert_eq!(listed[0], event(5, &tenant()).event, "the newest");
            let part = Page {
                limit: 2,
                offset: 1,
            };
            let part = store
                .audit_list(&tenant(), &names(&tenant()), None, part)
                .await
                .unwrap();
            assert_eq!(part, listed[1..3]);
            for stranger in strangers() {
                let seen = store
                    .audit_list(&stranger, &names(&stranger), None, Page::ALL)
                    .await
                    .unwrap();
                assert_eq!(seen, []);
            }
            let mut of_shop = event(6, &tenant());
            of_shop.event.deployment = Some("shop".into());
            store.audit_insert(&of_shop).await.unwrap();
            let of_shop = of_shop.event;
            for (of, seen) in [
                (tenant(), vec![of_shop.clone()]),
                (strangers()[0].clone(), vec![]),
            ] {
                let listed = store
                    .audit_list(&of, &names(&of), Some("shop"), Page::ALL)
                    .await;
                assert_eq!(listed.unwrap(), seen);
            }
            let listed = [vec![of_shop], listed].concat();
            let other = strangers().into_iter().next().unwrap();
            store.audit_insert(&event(4, &other)).await.unwrap();

            let before = "2026-01-02T00:00:00Z";
            assert_eq!(operator.audit_sweep(before, 100).await.unwrap(), 1);
            assert_eq!(operator.audit_sweep(before, 2).await.unwrap(), 3);
            let left = store
                .audit_list(&tenant(), &names(&tenant()), None, Page::ALL)
                .await
                .unwrap();
            assert_eq!(left, listed[..2]);
            let left = store
                .audit_list(&other, &names(&other), None, Page::ALL)
                .await
                .unwrap();
            assert_eq!(left.len(), 1, "each project has its own number");
        }
    }
}
