//! Databases for tests. Also writes and reads rows without the typed functions: leftovers of a crash, of another
//! program version or of a manual change.

mod breaking;
mod ha;
mod postgres;
mod script;

use api::{DeploymentState, Workflow};
use jiff::Timestamp;
use sqlx::{Column as _, Row as _};
use tempfile::TempDir;

use crate::{
    Creation, DeploymentContent, Error, NewRun, Operator, Outcome, SealedKind, Store, Tenant,
    column::to_json,
    connect,
    database::{self, Kind},
    deployment,
    event::{self, NewEvent},
};

pub use breaking::{BreakingWay, Lost};
pub use ha::HighlyAvailable;
pub use postgres::Postgres;

/// A separate database, which is removed on drop or when the process ends.
pub struct Database {
    /// The handle across tenants.
    pub operator: Operator,
    /// The handle for requests and runs.
    pub store: Store,
    /// The folder with the file.
    pub folder: TempDir,
    /// PostgreSQL server of this database.
    server: Option<Postgres>,
}

impl Database {
    /// An empty database in a file.
    pub async fn new() -> Database {
        let folder = tempfile::tempdir().expect("a folder");
        let operator = crate::open(&folder.path().join("test.db")).await;
        Database::of(operator.expect("a database"), folder)
    }

    /// An empty database on the shared PostgreSQL server of the tests.
    pub async fn postgres() -> Database {
        let url = Postgres::shared().create().await;
        let operator = crate::connect(&url).await;
        let folder = tempfile::tempdir().expect("a folder");
        Database::of(operator.expect("a database"), folder)
    }

    /// An empty database for figures: a file, or on a separate PostgreSQL server ([`Postgres::measured`]).
    pub async fn measured() -> Database {
        let Some(server) = Postgres::measured() else {
            return Database::new().await;
        };
        let operator = crate::connect(&server.create().await).await;
        let folder = tempfile::tempdir().expect("a folder");
        Database {
            server: Some(server),
            ..Database::of(operator.expect("a database"), folder)
        }
    }

    /// The start of the name of a figure of a package.
    pub fn figure(&self, package: &str) -> String {
        match self.server {
            Some(_) => format!("{package}, PostgreSQL"),
            None => package.to_owned(),
        }
    }

    /// An empty database of each kind, for tests of the whole store.
    pub async fn each() -> [Database; 2] {
        [Database::new().await, Database::postgres().await]
    }

    /// Size of a database in a file, after its write-ahead log is merged and freed pages are given back.
    pub async fn bytes(&self) -> u64 {
        for statement in ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"] {
            execute(&self.store, sqlx::query(statement)).await;
        }
        let file = self.folder.path().join("test.db");
        file.metadata().expect("a file").len()
    }

    fn of(operator: Operator, folder: TempDir) -> Database {
        Database {
            store: operator.store().clone(),
            operator,
            folder,
            server: None,
        }
    }
}

/// Two servers on an empty database.
pub async fn servers() -> [Operator; 2] {
    let url = Postgres::shared().create().await;
    let server = async || crate::connect(&url).await.expect("a database");
    [server().await, server().await]
}

/// A database in memory.
pub async fn memory() -> Operator {
    Operator::new(connect::memory().await.expect("a database"))
}

/// Project `p` of the cloud `lab`.
pub fn tenant() -> Tenant {
    Tenant {
        cloud: "lab".into(),
        project_id: "p".into(),
    }
}

/// Another project of the cloud, and a project with the same id in another cloud.
pub fn strangers() -> [Tenant; 2] {
    [("lab", "other"), ("elsewhere", "p")].map(|(cloud, project_id)| Tenant {
        cloud: cloud.into(),
        project_id: project_id.into(),
    })
}

/// A temporary failure.
pub fn transient_error() -> Error {
    Error::at("answering")(sqlx::Error::PoolTimedOut)
}

/// A failure to read a stored value.
pub fn unreadable_error() -> Error {
    Error::at("answering")(sqlx::Error::Decode("no JSON".into()))
}

/// Inserts a running deployment of an empty template.
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
        scaling: None,
        command: None,
        workflow,
        changes: None,
        author: "demo",
        author_id: "demo-id",
    };
    let inserted = transaction.run_insert(tenant, new).await;
    assert_eq!(inserted.expect("a run"), Outcome::Done);
    transaction.commit().await.expect("stored");
    for statement in [
        "DELETE FROM events WHERE run = $1",
        "UPDATE journals SET last_seq = 0 WHERE run = $1",
    ] {
        execute(store, sqlx::query(statement).bind(id)).await;
    }
}

/// Inserts a running deployment of an empty template, and its queued run without steps.
pub async fn deployment_insert_with_run(
    store: &Store,
    tenant: &Tenant,
    deployment: &str,
    run: &str,
) {
    deployment_insert(store, tenant, deployment).await;
    run_insert(store, tenant, deployment, run, &Workflow::default()).await;
}

/// Stores log lines as rows of their own, as before there were segments.
pub async fn event_insert_rows(store: &Store, run: &str, lines: &[api::Event]) {
    let mut transaction = store.begin("testing").await.expect("a transaction");
    let rows: Vec<NewEvent<'_>> = lines
        .iter()
        .map(|line| NewEvent {
            run,
            seq: line.seq,
            kind: "log",
            body: to_json(&line.body),
        })
        .collect();
    let time = &lines[0].time;
    event::insert_all(transaction.connection(), &rows, time)
        .await
        .expect("rows");
    transaction.commit().await.expect("stored");
}

/// Inserts a running step of a run.
pub async fn run_step(store: &Store, run: &str, id: &str) {
    execute(
        store,
        sqlx::query(
            "INSERT INTO steps (run, id, position, kind, waits_for, state, attempts) \
             VALUES ($1, $2, 0, 'create', '[]', 'running', 1)",
        )
        .bind(run)
        .bind(id),
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
            .bind(deployment::column_word(state))
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

/// Marks a resource as deleted and removes its id, as if it had never had one.
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

/// Marks a creation as of unknown outcome since a time.
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

/// Drops all sealed values that are stored from now on.
pub async fn sealed_lose_all(store: &Store) {
    let triggers: &[&'static str] = match store.kind {
        Kind::Sqlite => &[
            "CREATE TRIGGER lost AFTER INSERT ON sealed BEGIN DELETE FROM sealed WHERE name = new.name; END",
        ],
        Kind::Postgres => &[
            "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            "CREATE TRIGGER lost BEFORE INSERT ON sealed FOR EACH ROW EXECUTE FUNCTION nothing()",
        ],
    };
    for trigger in triggers {
        execute(store, sqlx::query(*trigger)).await;
    }
}

/// Keeps all sealed values that are deleted from now on.
pub async fn sealed_keep_all(store: &Store) {
    let trigger = match store.kind {
        Kind::Sqlite => {
            "CREATE TRIGGER stays BEFORE DELETE ON sealed BEGIN SELECT RAISE(IGNORE); END"
        }
        Kind::Postgres => "CREATE RULE stays AS ON DELETE TO sealed DO INSTEAD NOTHING",
    };
    execute(store, sqlx::query(trigger)).await;
}

/// Ends [`sealed_lose_all`] and [`sealed_keep_all`].
pub async fn sealed_restore(store: &Store) {
    let drops = match store.kind {
        Kind::Sqlite => [
            "DROP TRIGGER IF EXISTS lost",
            "DROP TRIGGER IF EXISTS stays",
        ],
        Kind::Postgres => [
            "DROP FUNCTION IF EXISTS nothing CASCADE",
            "DROP RULE IF EXISTS stays ON sealed",
        ],
    };
    for drop in drops {
        execute(store, sqlx::query(drop)).await;
    }
}

/// Refuses the event of each step that succeeds from now on, with an error that looks permanent.
pub async fn event_refuse_successes(store: &Store) {
    let triggers: &[&'static str] = match store.kind {
        Kind::Sqlite => &["CREATE TRIGGER refused BEFORE INSERT ON events \
             WHEN new.type = 'step' AND new.body LIKE '%\"succeeded\"%' BEGIN SELECT RAISE(ABORT, 'refused'); END"],
        Kind::Postgres => &[
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'",
            "CREATE TRIGGER refused BEFORE INSERT ON events FOR EACH ROW \
             WHEN (new.type = 'step' AND new.body LIKE '%\"succeeded\"%') EXECUTE FUNCTION refuse()",
        ],
    };
    for trigger in triggers {
        execute(store, sqlx::query(*trigger)).await;
    }
}

/// Ends [`event_refuse_successes`].
pub async fn event_accept_all(store: &Store) {
    let drop = match store.kind {
        Kind::Sqlite => "DROP TRIGGER refused",
        Kind::Postgres => "DROP FUNCTION refuse CASCADE",
    };
    execute(store, sqlx::query(drop)).await;
}

/// Number of names of hidden parameters.
pub async fn hidden_count(store: &Store) -> i64 {
    count(store, "SELECT COUNT(*) FROM hidden_parameters").await
}

/// Adds a component that was set up on a server: its type, the version of its item, and the server.
pub async fn component_insert(
    store: &Store,
    deployment: &str,
    name: &str,
    (resource_type, version, server): (&str, &str, &str),
) {
    let spec = serde_json::json!({
        "type": resource_type,
        "properties": {"host": {"get_resource": server}},
        "origin": {"from": "drawn"},
        "requires": [server],
        "version": version,
    });
    let query = sqlx::query(
        "INSERT INTO resources (deployment, name, type, spec, state) VALUES ($1, $2, $3, $4, 'ready')",
    );
    let query = query
        .bind(deployment)
        .bind(name)
        .bind(resource_type)
        .bind(spec.to_string());
    execute(store, query).await;
}

/// Removes all items of a version.
pub async fn item_delete(store: &Store, version: &str) {
    execute(
        store,
        sqlx::query("DELETE FROM catalog_items WHERE version = $1").bind(version),
    )
    .await;
}

/// Size of a database on a PostgreSQL server in bytes.
pub async fn postgres_bytes(store: &Store) -> u64 {
    let bytes = count(store, "SELECT pg_database_size(current_database())").await;
    bytes.unsigned_abs()
}

/// All rows of a table as text, a line each.
pub async fn table(store: &Store, table: &str) -> Vec<String> {
    let rows = sqlx::query(sqlx::AssertSqlSafe(format!("SELECT * FROM {table}")))
        .fetch_all(&store.pool)
        .await
        .expect("rows");
    let line = |row: &database::Row| {
        let columns = row
            .columns()
            .iter()
            .map(|column| cell(row, column.ordinal()));
        columns.collect::<Vec<_>>().join("|")
    };
    rows.iter().map(line).collect()
}

fn cell(row: &database::Row, column: usize) -> String {
    if let Ok(text) = row.try_get::<Option<String>, _>(column) {
        return text.unwrap_or_default();
    }
    if let Ok(number) = row.try_get::<i64, _>(column) {
        return number.to_string();
    }
    let bytes: Vec<u8> = row.get(column);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// All rows of all tables as text, a line each.
pub async fn all_tables(store: &Store) -> Vec<String> {
    let tables: Vec<String> = sqlx::query_scalar(match store.kind {
        Kind::Sqlite => {
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'"
        }
        Kind::Postgres => {
            "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE '\\_%'"
        }
    })
    .fetch_all(&store.pool)
    .await
    .expect("tables");
    let mut all = Vec::new();
    for name in tables {
        all.extend(table(store, &name).await);
    }
    all
}

pub(crate) async fn execute(
    store: &Store,
    query: sqlx::query::Query<'_, database::Database, sqlx::any::AnyArguments>,
) {
    query.execute(&store.pool).await.expect("the change");
}

async fn count(store: &Store, query: &'static str) -> i64 {
    sqlx::query_scalar(query)
        .fetch_one(&store.pool)
        .await
        .expect("a number")
}

/// Makes the next checks of all permissions due now.
pub async fn permission_make_due(store: &Store) {
    let due = sqlx::query("UPDATE permissions SET next_check = '2026-01-02T00:00:00.000Z'");
    execute(store, due).await;
}

/// Tables of SQLite with a reference to one of two tables, and what a deletion there does to their rows.
pub async fn references_to(store: &Store, tables: [&str; 2]) -> Vec<(String, String)> {
    sqlx::query_as(
        "SELECT t.name, f.on_delete FROM sqlite_master t, pragma_foreign_key_list(t.name) f \
         WHERE f.\"table\" IN ($1, $2)",
    )
    .bind(tables[0])
    .bind(tables[1])
    .fetch_all(&store.pool)
    .await
    .expect("the schema")
}
