//! The content of a run: the template, files, parameters, drawing and design of its deployment when the run was queued,
//! and the changes of its plan.
//!
//! Each run of a deployment has a copy of its template, also a command. So a deployment keeps the contents of its newest
//! runs, up to [`CONTENTS_BYTES_MAX`]. The state to which a failed change is rolled back is not among them.

use api::{Change, RunContent};
use sqlx::Row as _;

use crate::{
    Result, Store, Tenant,
    column::{from_json, from_json_column, to_json, to_u32},
    database::{Connection, Row, read_one},
};

/// Total size of the contents of a deployment's runs, in bytes: some thousand usual ones, or eight of the largest.
const CONTENTS_BYTES_MAX: i64 = 16 << 20;

impl Store {
    /// The content of a run. `None` if newer runs have taken its place, and for a run from before contents were stored,
    /// unless it was the newest one then.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_content(&self, tenant: &Tenant, id: &str) -> Result<Option<RunContent>> {
        let row = sqlx::query(
            "SELECT template, beside, layout, parameters, design, design_version FROM run_contents \
             WHERE run IN (SELECT id FROM runs WHERE id = $1 AND cloud = $2 AND project_id = $3)",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await;
        read_one(row, content, "reading the content of a run")
    }

    /// The changes of a run's plan. `None` for a run without a plan, for one from before they were stored, and if newer runs
    /// have taken their place.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_changes(&self, tenant: &Tenant, id: &str) -> Result<Option<Vec<Change>>> {
        let row = sqlx::query(
            "SELECT changes FROM run_contents \
             WHERE run IN (SELECT id FROM runs WHERE id = $1 AND cloud = $2 AND project_id = $3)",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await;
        let changes = |row: &Row| from_json_column(row.try_get("changes")?);
        Ok(read_one(row, changes, "reading the plan of a run")?.flatten())
    }
}

/// Inserts the present content of a run's deployment as that of the run, with the changes of its plan. Deletes the oldest
/// contents of the deployment's runs above the limit.
pub(super) async fn insert(
    connection: &mut Connection,
    run: &str,
    changes: Option<&[Change]>,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO run_contents (run, template, beside, layout, parameters, design, design_version, changes) \
         SELECT runs.id, deployments.template, deployments.beside, deployments.layout, deployments.parameters, deployments.design, \
         deployments.design_version, CAST($2 AS TEXT) \
         FROM runs JOIN deployments ON deployments.id = runs.deployment WHERE runs.id = $1",
    )
    .bind(run)
    .bind(changes.map(|changes| to_json(&changes)))
    .execute(&mut *connection)
    .await?;
    // Counted from the newest run: the content that exceeds the limit and all older ones are deleted.
    sqlx::query(
        "DELETE FROM run_contents WHERE run <> $1 AND run IN ( \
             SELECT run FROM ( \
                 SELECT run, SUM(octet_length(template) + octet_length(beside) + octet_length(layout) \
                         + COALESCE(octet_length(parameters), 0) + COALESCE(octet_length(changes), 0)) \
                     OVER (ORDER BY run DESC) AS bytes \
                 FROM run_contents WHERE run IN ( \
                     SELECT id FROM runs WHERE deployment IN (SELECT deployment FROM runs WHERE id = $1))) AS sizes \
             WHERE bytes > $2)",
    )
    .bind(run)
    .bind(CONTENTS_BYTES_MAX)
    .execute(connection)
    .await
    .map(drop)
}

fn content(row: &Row) -> sqlx::Result<RunContent> {
    let version: Option<i64> = row.try_get("design_version")?;
    Ok(RunContent {
        template: row.try_get("template")?,
        beside: from_json(row.try_get("beside")?)?,
        layout: from_json(row.try_get("layout")?)?,
        parameters: from_json_column(row.try_get("parameters")?)?,
        design: row.try_get("design")?,
        design_version: version.map(to_u32).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use api::Change;

    use super::CONTENTS_BYTES_MAX;
    use crate::{
        NewRun, Outcome,
        testing::{
            Database, deployment_insert, deployment_insert_with_run, run_insert, strangers, tenant,
        },
    };

    #[tokio::test]
    async fn only_its_project_reads_the_content_of_a_run() {
        for Database { store, .. } in &Database::each().await {
            deployment_insert_with_run(store, &tenant(), "d", "r").await;
            let row = store
                .deployment_find(&tenant(), "d")
                .await
                .unwrap()
                .unwrap();
            let content = store.run_content(&tenant(), "r").await.unwrap().unwrap();
            assert_eq!(content.template, row.shown.template);
            for stranger in strangers() {
                assert_eq!(store.run_content(&stranger, "r").await.unwrap(), None);
            }
        }
    }

    #[tokio::test]
    async fn a_deployment_keeps_the_contents_of_its_newest_runs() {
        for Database { store, .. } in &Database::each().await {
            for deployment in ["d", "e"] {
                deployment_insert(store, &tenant(), deployment).await;
            }
            run_insert(store, &tenant(), "e", "other", &Default::default()).await;
            let large = "#".repeat(usize::try_from(CONTENTS_BYTES_MAX).unwrap() / 3);
            sqlx::query("UPDATE deployments SET template = $1 WHERE id = 'd'")
                .bind(&large)
                .execute(&store.pool)
                .await
                .unwrap();
            let runs = ["r1", "r2", "r3", "r4"];
            for run in runs {
                run_insert(store, &tenant(), "d", run, &Default::default()).await;
                let ended = "UPDATE runs SET state = 'succeeded' WHERE id = $1";
                let ended = sqlx::query(ended).bind(run).execute(&store.pool).await;
                ended.unwrap();
            }
            let mut kept = Vec::new();
            for run in runs {
                let content = store.run_content(&tenant(), run).await.unwrap();
                kept.push(content.is_some());
            }
            // Beside three templates there is no room for anything else.
            assert_eq!(kept, [false, false, true, true]);
            let other = store.run_content(&tenant(), "other").await.unwrap();
            assert!(other.is_some(), "of another deployment");
        }
    }

    #[tokio::test]
    async fn only_its_project_reads_the_plan_of_a_run() {
        let change: Change = serde_json::from_value(serde_json::json!({
            "action": "create", "resource": "net", "type": "OS::Neutron::Net", "origin": {"from": "drawn"},
        }))
        .unwrap();
        for Database { store, .. } in &Database::each().await {
            deployment_insert_with_run(store, &tenant(), "d", "unplanned").await;
            assert_eq!(
                store.run_changes(&tenant(), "unplanned").await.unwrap(),
                None
            );
            deployment_insert(store, &tenant(), "e").await;
            let mut transaction = store.begin("testing").await.unwrap();
            let planned = NewRun {
                id: "planned",
                deployment: "e",
                kind: api::RunKind::Deploy,
                forced: false,
                rolls_back: false,
                roll_back: None,
                scaling: None,
                command: None,
                workflow: &Default::default(),
                changes: Some(std::slice::from_ref(&change)),
                author: "demo",
                author_id: "demo-id",
            };
            let inserted = transaction.run_insert(&tenant(), planned).await.unwrap();
            assert_eq!(inserted, Outcome::Done);
            transaction.commit().await.unwrap();
            let changes = store.run_changes(&tenant(), "planned").await.unwrap();
            assert_eq!(changes.as_deref(), Some(&[change.clone()][..]));
            for stranger in strangers() {
                assert_eq!(store.run_changes(&stranger, "planned").await.unwrap(), None);
            }
        }
    }
}
