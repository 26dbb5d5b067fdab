//! Databases for tests, and rows that tests write and read without the typed functions: leftovers of a crash, of another program
//! version or of a manual change.

use api::{DeploymentState, Workflow};
use jiff::Timestamp;
use sqlx::{Row as _, sqlite::SqlitePoolOptions};
use tempfile::TempDir;

use crate::{
    Creation, DeploymentContent, Error, NewRun, Operator, Outcome, SealedKind, Store, Tenant,
    column::to_text, database,
};

/// A database in a folder of its own, which is removed with it.
pub struct Database {
    /// The handle across tenants.
    pub operator: Operator,
    /// The handle for requests and runs.
    pub store: Store,
    /// The folder with the file.
    pub folder: TempDir,
}

impl Database {
    /// An empty database.
    pub async fn new() -> Database {
        let folder = tempfile::tempdir().expect("a folder");
        let operator = crate::open(&folder.path().join("test.db"))
            .await
            .expect("a database");
        Database {
            store: operator.store().clone(),
            operator,
            folder,
        }
    }
}

/// A database in memory.
pub async fn memory() -> Operator {
    let pool = SqlitePoolOptions::new().max_connections(1);
    let pool = pool.connect("sqlite::memory:").await.expect("a database");
    database::migrate(&pool).await.expect("its tables");
    Operator::new(Store { pool })
}

/// Project `p` of the cloud `lab`.
pub fn tenant() -> Tenant {
    Tenant {
        cloud: "lab".into(),
        project_id: "p".into(),
    }
}

/// Another project of the cloud, and a project of the same id in another cloud.
pub fn strangers() -> [Tenant; 2] {
    [("lab", "other"), ("elsewhere", "p")].map(|(cloud, project_id)| Tenant {
        cloud: cloud.into(),
        project_id: project_id.into(),
    })
}

/// A failure that may pass.
pub fn transient_error() -> Error {
    Error::at("answering")(sqlx::Error::PoolTimedOut)
}

/// A failure to read a stored value.
pub fn unreadable_error() -> Error {
    Error::at("answering")(sqlx::Error::Decode("no JSON".into()))
}

/// Inserts a busy deployment of an empty template.
pub async fn deployment_insert(store: &Store, tenant: &Tenant, id: &str) {
    let mut transaction = store.begin("testing").await.expect("a transaction");
    let content = DeploymentContent {
        template: "",
        beside: &Default::default(),
        layout: &Default::default(),
        parameters: &Default::default(),
        outputs: &Default::default(),
        hidden: None,
        design: None,
        design_version: None,
    };
    let inserted = transaction.deployment_insert(tenant, id, id, "demo", content);
    assert_eq!(inserted.await.expect("a deployment"), Outcome::Done);
    transaction.commit().await.expect("stored");
}

/// Inserts a queued deploy run without events.
pub async fn run_insert(
    store: &Store,
    tenant: &Tenant,
    deployment: &str,
    id: &str,
    workflow: &Workflow,
) {
    let mut transaction = store.begin("testing").await.expect("a transaction");
    let new = NewRun {
        id,
        deployment,
        kind: api::RunKind::Deploy,
        forced: false,
        rolls_back: false,
        roll_back: None,
        workflow,
        author: "demo",
    };
    let inserted = transaction.run_insert(tenant, new).await;
    assert_eq!(inserted.expect("a run"), Outcome::Done);
    transaction.commit().await.expect("stored");
    execute(
        store,
        sqlx::query("DELETE FROM events WHERE run = $1").bind(id),
    )
    .await;
}

/// Stores or removes the request to roll a run back, with the cloud's facts in JSON.
pub async fn run_set_roll_back(store: &Store, run: &str, facts: Option<&str>) {
    execute(
        store,
        sqlx::query("UPDATE runs SET roll_back = $1 WHERE id = $2")
            .bind(facts)
            .bind(run),
    )
    .await;
}

/// Number of runs with a requested roll-back.
pub async fn run_count_to_roll_back(store: &Store) -> i64 {
    count(
        store,
        "SELECT COUNT(*) FROM runs WHERE roll_back IS NOT NULL",
    )
    .await
}

/// Sets the name of the secret with a deployment's hidden parameters.
pub async fn deployment_set_hidden(store: &Store, id: &str, hidden: &str) {
    execute(
        store,
        sqlx::query("UPDATE deployments SET hidden = $1 WHERE id = $2")
            .bind(hidden)
            .bind(id),
    )
    .await;
}

/// Sets the state of a deployment.
pub async fn deployment_set_state(store: &Store, id: &str, state: DeploymentState) {
    execute(
        store,
        sqlx::query("UPDATE deployments SET state = $1 WHERE id = $2")
            .bind(to_text(&state))
            .bind(id),
    )
    .await;
}

/// The columns of a resource as stored.
#[derive(Debug)]
pub struct ResourceColumns {
    /// Name.
    pub name: String,
    /// Value of `get_resource` as JSON.
    pub reference: Option<String>,
    /// Values of `get_attr` as JSON.
    pub attributes: Option<String>,
    /// Values of the properties at its creation as JSON.
    pub made_from: Option<String>,
}

/// All resources of all deployments.
pub async fn resource_columns(store: &Store) -> Vec<ResourceColumns> {
    let rows =
        sqlx::query("SELECT name, reference, attributes, made_from FROM resources ORDER BY name")
            .fetch_all(&store.pool)
            .await
            .expect("rows");
    let read = |row: database::Row| ResourceColumns {
        name: row.get("name"),
        reference: row.get("reference"),
        attributes: row.get("attributes"),
        made_from: row.get("made_from"),
    };
    rows.into_iter().map(read).collect()
}

/// Forgets a resource, as if it had never had an id.
pub async fn resource_forget(store: &Store, deployment: &str, name: &str) {
    execute(
        store,
        sqlx::query(
            "UPDATE resources SET state = 'deleted', physical_id = NULL WHERE deployment = $1 AND name = $2",
        )
        .bind(deployment)
        .bind(name),
    )
    .await;
}

/// Gives a creation an unknown outcome since a time.
pub async fn creation_set_uncertain(
    store: &Store,
    deployment: &str,
    creation: &Creation,
    since: Timestamp,
) {
    execute(
        store,
        sqlx::query(
            "UPDATE creations SET uncertain_since = $1 WHERE deployment = $2 AND name = $3 AND incarnation = $4",
        )
        .bind(format!("{since:.3}"))
        .bind(deployment)
        .bind(&creation.key.name)
        .bind(i64::from(creation.key.incarnation)),
    )
    .await;
}

/// Number of sealed values of a kind.
pub async fn sealed_count(store: &Store, kind: SealedKind) -> i64 {
    let all = match kind {
        SealedKind::Run => "SELECT COUNT(*) FROM sealed WHERE kind = 'run'",
        SealedKind::Vault => "SELECT COUNT(*) FROM sealed WHERE kind = 'vault'",
    };
    count(store, all).await
}

/// Drops sealed values when they are stored, from now on.
pub async fn sealed_lose_all(store: &Store) {
    execute(
        store,
        sqlx::query("CREATE TRIGGER lost AFTER INSERT ON sealed BEGIN DELETE FROM sealed WHERE name = new.name; END"),
    )
    .await;
}

/// Keeps sealed values when they are deleted, from now on.
pub async fn sealed_keep_all(store: &Store) {
    execute(
        store,
        sqlx::query("CREATE TRIGGER stays BEFORE DELETE ON sealed BEGIN SELECT RAISE(IGNORE); END"),
    )
    .await;
}

/// Ends [`sealed_lose_all`] and [`sealed_keep_all`].
pub async fn sealed_restore(store: &Store) {
    for drop in [
        "DROP TRIGGER IF EXISTS lost",
        "DROP TRIGGER IF EXISTS stays",
    ] {
        execute(store, sqlx::query(drop)).await;
    }
}

/// Number of names of hidden parameters.
pub async fn hidden_count(store: &Store) -> i64 {
    count(store, "SELECT COUNT(*) FROM hidden_parameters").await
}

/// Removes all items of a version.
pub async fn item_delete(store: &Store, version: &str) {
    execute(
        store,
        sqlx::query("DELETE FROM catalog_items WHERE version = $1").bind(version),
    )
    .await;
}

/// All rows of a table as text, a line each.
pub async fn table(store: &Store, table: &str) -> Vec<String> {
    let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info($1)")
        .bind(table)
        .fetch_all(&store.pool)
        .await
        .expect("columns");
    let all: Vec<String> = columns
        .iter()
        .map(|column| format!("COALESCE(CAST({column} AS TEXT), '')"))
        .collect();
    let all = all.join(" || '|' || ");
    sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT {all} FROM {table}")))
        .fetch_all(&store.pool)
        .await
        .expect("rows")
}

/// All rows of all tables as text, a line each.
pub async fn all_tables(store: &Store) -> Vec<String> {
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'",
    )
    .fetch_all(&store.pool)
    .await
    .expect("tables");
    let mut all = Vec::new();
    for name in tables {
        all.extend(table(store, &name).await);
    }
    all
}

async fn execute(
    store: &Store,
    query: sqlx::query::Query<'_, database::Database, sqlx::sqlite::SqliteArguments>,
) {
    query.execute(&store.pool).await.expect("the change");
}

async fn count(store: &Store, query: &'static str) -> i64 {
    sqlx::query_scalar(query)
        .fetch_one(&store.pool)
        .await
        .expect("a number")
}
