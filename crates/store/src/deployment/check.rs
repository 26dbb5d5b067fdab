//! The last check of a deployment.

use std::collections::BTreeMap;

use api::Check;
use sqlx::Row as _;

use crate::{
    Health, Outcome, Result, Store, Tenant, Transaction,
    column::{from_json_column, to_json},
    database::{Row, read_one},
    resource,
};

impl Store {
    /// Stores the last check of a deployment, and what it saw of the health of components. [`Outcome::Conflict`] if there
    /// is no such deployment.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_set_check(
        &self,
        tenant: &Tenant,
        id: &str,
        check: &Check,
        health: &BTreeMap<String, Health>,
    ) -> Result<Outcome> {
        let mut transaction = self.begin("storing a check").await?;
        let done = sqlx::query(
            "UPDATE deployments SET last_check = $4 WHERE id = $1 AND cloud = $2 AND project_id = $3",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(to_json(check))
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        let outcome = Outcome::of(done.rows_affected());
        if outcome == Outcome::Done {
            let seen = (check.run.as_deref(), check.time.as_str());
            for (name, health) in health {
                resource::set_health(transaction.connection(), id, name, *health, seen)
                    .await
                    .map_err(transaction.failed())?;
            }
        }
        transaction.commit().await?;
        Ok(outcome)
    }
}

impl Transaction {
    /// Makes the last check of a deployment outdated, and what its components said of their health, as another change
    /// does. The deployment is locked by [`Transaction::deployment_hold`].
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_outdate_check(&mut self, tenant: &Tenant, id: &str) -> Result<()> {
        let row = sqlx::query(
            "SELECT last_check FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(self.connection())
        .await;
        let read = |row: &Row| from_json_column::<Check>(row.try_get("last_check")?);
        let last = read_one(row, read, "reading a check")?;
        if let Some(check) = last.flatten() {
            let outdated = Check { run: None, ..check };
            sqlx::query(
                "UPDATE deployments SET last_check = $4 WHERE id = $1 AND cloud = $2 AND project_id = $3",
            )
            .bind(id)
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .bind(to_json(&outdated))
            .execute(self.connection())
            .await
            .map_err(self.failed())?;
        }
        sqlx::query(
            "UPDATE resources SET health_run = NULL WHERE deployment = $1 \
             AND deployment IN (SELECT id FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3)",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(self.connection())
        .await
        .map(drop)
        .map_err(self.failed())
    }
}
