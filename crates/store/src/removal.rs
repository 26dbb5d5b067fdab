//! Removal of undeployed deployments.

use crate::{Error, Outcome, Result, Store, Tenant};

/// Tables with rows of runs.
const OF_RUNS: [&str; 5] = [
    "events",
    "log_segments",
    "journals",
    "run_contents",
    "steps",
];
/// Tables with rows of deployments.
const OF_DEPLOYMENTS: [&str; 4] = ["signals", "runs", "resources", "creations"];

impl Store {
    /// Deletes an undeployed deployment with its runs, their events and their logs. [`Outcome::Conflict`] if the project
    /// has no such deployment, or it is not undeployed.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_remove(&self, tenant: &Tenant, id: &str) -> Result<Outcome> {
        const DOING: &str = "removing a deployment";
        let mut transaction = self.begin(DOING).await?;
        // The update locks the row, so that no run can begin meanwhile.
        let locked = sqlx::query(
            "UPDATE deployments SET updated = updated \
             WHERE id = $1 AND cloud = $2 AND project_id = $3 AND state = 'undeployed'",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(transaction.connection())
        .await
        .map_err(Error::at(DOING))?;
        if locked.rows_affected() == 0 {
            return Ok(Outcome::Conflict);
        }
        let of_runs = OF_RUNS.map(|table| {
            format!("DELETE FROM {table} WHERE run IN (SELECT id FROM runs WHERE deployment = $1)")
        });
        let of_deployments =
            OF_DEPLOYMENTS.map(|table| format!("DELETE FROM {table} WHERE deployment = $1"));
        let last = String::from("DELETE FROM deployments WHERE id = $1");
        for statement in of_runs.into_iter().chain(of_deployments).chain([last]) {
            sqlx::query(sqlx::AssertSqlSafe(statement))
                .bind(id)
                .execute(transaction.connection())
                .await
                .map_err(Error::at(DOING))?;
        }
        transaction.commit().await?;
        Ok(Outcome::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        Database, deployment_insert_with_run, deployment_set_state, references_to, strangers,
        tenant,
    };
    use api::DeploymentState;

    #[tokio::test]
    async fn an_undeployed_deployment_is_removed_with_its_runs_by_its_project_alone() {
        for Database { store, .. } in &Database::each().await {
            for (deployment, run) in [("d", "r"), ("kept", "kept-run")] {
                deployment_insert_with_run(store, &tenant(), deployment, run).await;
            }
            let remove =
                async |tenant: &Tenant| store.deployment_remove(tenant, "d").await.unwrap();
            assert_eq!(remove(&tenant()).await, Outcome::Conflict, "it is deployed");
            deployment_set_state(store, "d", DeploymentState::Undeployed).await;
            for stranger in strangers() {
                assert_eq!(remove(&stranger).await, Outcome::Conflict);
            }
            assert_eq!(remove(&tenant()).await, Outcome::Done);
            assert!(
                store
                    .deployment_find(&tenant(), "d")
                    .await
                    .unwrap()
                    .is_none()
            );
            assert!(store.run_find(&tenant(), "r").await.unwrap().is_none());
            assert!(
                store
                    .run_find(&tenant(), "kept-run")
                    .await
                    .unwrap()
                    .is_some()
            );
        }
    }

    #[tokio::test]
    async fn every_table_with_rows_of_a_deployment_or_run_is_emptied() {
        // Both databases have the same schema, by a separate test. SQLite comes first.
        let databases = Database::each().await;
        let references = references_to(&databases[0].store, ["runs", "deployments"]).await;
        assert!(references.len() > OF_RUNS.len());
        for (table, on_delete) in references {
            let is_listed = OF_RUNS.contains(&&*table) || OF_DEPLOYMENTS.contains(&&*table);
            assert!(is_listed || on_delete == "CASCADE", "`{table}` is missing");
        }
    }
}
