//! Migrations of a filled database: the new program reads the data of the old one.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{borrow::Cow, str::FromStr as _};

use api::{EventBody, RunState};
use sqlx::{
    Row as _, SqlitePool,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};
use store::Tenant;

/// The last migration before the store became a separate crate.
const BEFORE: i64 = 301;

async fn apply(pool: &SqlitePool, until: i64) {
    let all = Migrator::new(std::path::Path::new("../../migrations/sqlite"))
        .await
        .unwrap();
    let chosen = all.migrations.iter().filter(|one| one.version <= until);
    let chosen = Migrator {
        migrations: Cow::Owned(chosen.cloned().collect()),
        ..Migrator::DEFAULT
    };
    chosen.run(pool).await.unwrap();
}

#[tokio::test]
async fn migrations_keep_the_rows_of_a_filled_database() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    let options = SqliteConnectOptions::from_str(file.to_str().unwrap())
        .unwrap()
        .create_if_missing(true)
        .foreign_keys(true);
    let pool = SqlitePoolOptions::new()
        .connect_with(options)
        .await
        .unwrap();
    apply(&pool, BEFORE).await;
    for statement in [
        r#"INSERT INTO deployments (id, cloud, project_id, name, state, template, layout, parameters, outputs, author, created, updated, last_run, good)
           VALUES ('d', 'lab', 'p', 'shop', 'busy', 't', '{"nodes":{}}', '{}', '{}', 'demo', '1', '2', 'r',
                   '{"template":"g","beside":{},"layout":{"nodes":{}},"parameters":{},"hidden":"secret-1","design_version":3}')"#,
        r#"INSERT INTO resources (deployment, name, type, spec, physical_id, state) VALUES
           ('d', 'net', 'OS::Neutron::Net', '{"type":"OS::Neutron::Net","external_id":"n-1"}', 'n-1', 'ready'),
           ('d', 'other', 'OS::Neutron::Net', '{"type":"OS::Neutron::Net","external_id":{"get_param":"x"}}', 'n-2', 'ready'),
           ('d', 'own', 'OS::Neutron::Net', '{"type":"OS::Neutron::Net"}', 'n-3', 'ready')"#,
        r#"INSERT INTO runs (id, deployment, cloud, project_id, kind, state, ending, forced, workflow, author, created, ended, rolls_back, roll_back) VALUES
           ('f', 'd', 'lab', 'p', 'deploy', 'failed', 'failed', 0, '{"steps":[],"resources":{}}', 'demo', '1', '2', 1, '{}'),
           ('r', 'd', 'lab', 'p', 'update', 'queued', 'cancelled', 1, '{"steps":[],"resources":{}}', 'demo', '2', NULL, 0, NULL)"#,
        "INSERT INTO steps (run, id, position, kind, resource, waits_for, state, attempts, error) VALUES
           ('f', 'net:create', 0, 'create', 'net', '[]', 'failed', 2, 'no'), ('r', 'net:create', 0, 'create', 'net', '[]', 'waiting', 0, NULL)",
        r#"INSERT INTO events (run, seq, time, type, body) VALUES
           ('f', 1, 'x', 'run', '{"type":"run","state":"queued"}'), ('f', 2, 'x', 'run', '{"type":"run","state":"failed"}'),
           ('f', 3, 'x', 'log', '{"type":"log","step":"net:create","stream":"engine","level":"info","text":"hellö"}'),
           ('r', 1, 'x', 'run', '{"type":"run","state":"queued"}')"#,
    ] {
        sqlx::query(statement).execute(&pool).await.unwrap();
    }
    pool.close().await;

    let operator = store::open(&file).await.unwrap();
    let (store, tenant) = (operator.store(), store::testing::tenant());
    let listed = store
        .run_list(&tenant, "d", store::Page::ALL)
        .await
        .unwrap();
    let mut runs = Vec::new();
    for run in listed {
        runs.push(store.run_find(&tenant, &run.id).await.unwrap().unwrap());
    }
    let states: Vec<_> = runs
        .iter()
        .map(|run| (run.shown.id.as_str(), run.shown.state, run.resumed_from))
        .collect();
    assert_eq!(
        states,
        [
            ("r", RunState::Queued, Some(RunState::Cancelled)),
            ("f", RunState::Failed, None)
        ]
    );
    assert!(runs[0].forced && runs[1].shown.rolls_back && runs[1].roll_back.is_some());
    let steps = store.step_list(&tenant, "f").await.unwrap();
    assert_eq!(
        (steps[0].attempts, steps[0].error.as_deref()),
        (2, Some("no"))
    );
    let events = store.event_list(&tenant, "f", 0, 10).await.unwrap();
    assert_eq!(events.len(), 3);
    assert!(
        matches!(&events[2].body, EventBody::Log(line) if line.step == "net:create" && line.text == "hellö")
    );
    let range = store::Range::before(4, 10);
    let lines = store.event_list_in(&tenant, "f", range, store::EventFilter::LogOf("net:create"));
    assert_eq!(lines.await.unwrap(), events[2..]);
    assert!(matches!(
        events[1].body,
        EventBody::Run {
            state: RunState::Failed,
            ..
        }
    ));
    assert_eq!(store.event_count_bad_ends(&tenant, "f").await.unwrap(), 1);
    let deployment = store.deployment_find(&tenant, "d").await.unwrap().unwrap();
    let good = deployment.good.unwrap();
    assert_eq!(
        (good.template.as_str(), good.hidden.as_deref()),
        ("g", Some("secret-1"))
    );
    let ids: Vec<String> = ["n-1", "n-2", "n-3", "n-4"].map(String::from).into();
    let stranger = Tenant {
        cloud: "lab".into(),
        project_id: "other".into(),
    };
    let now = operator.creations_now(&stranger, "d", &ids).await.unwrap();
    assert!(now.creations.is_empty() && now.without_id.is_empty());
    assert_eq!(now.recorded.len(), 3, "by whichever project");
    store.close().await;

    // References, keys and the other checks are unchanged; kinds are not checked any more.
    let pool = SqlitePool::connect(&format!("sqlite:{}", file.display()))
        .await
        .unwrap();
    let external: Vec<String> = sqlx::query_scalar(
        "SELECT name || external_id FROM resources WHERE external_id IS NOT NULL",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert_eq!(external, ["netn-1"]);
    assert!(
        sqlx::query("PRAGMA foreign_key_check")
            .fetch_optional(&pool)
            .await
            .unwrap()
            .is_none()
    );
    for table in ["steps", "events"] {
        let parent = sqlx::query(sqlx::AssertSqlSafe(format!(
            "PRAGMA foreign_key_list({table})"
        )))
        .fetch_one(&pool)
        .await
        .unwrap();
        assert_eq!(parent.get::<String, _>("table"), "runs");
    }
    let with = |kind: &str, state: &str| {
        sqlx::AssertSqlSafe(format!(
            "INSERT INTO runs (id, deployment, cloud, project_id, kind, state, forced, workflow, author, created) \
             VALUES ('n-{kind}-{state}', 'd', 'lab', 'p', '{kind}', '{state}', 0, '{{}}', 'demo', '3')"
        ))
    };
    assert!(
        sqlx::query(with("deploy", "dancing"))
            .execute(&pool)
            .await
            .is_err()
    );
    assert!(
        sqlx::query(with("deploy", "queued"))
            .execute(&pool)
            .await
            .is_err(),
        "a run is at work"
    );
    sqlx::query(with("backup", "succeeded"))
        .execute(&pool)
        .await
        .unwrap();
    sqlx::query(
        "INSERT INTO events (run, seq, time, type, body) VALUES ('f', 4, 'x', 'note', '{}')",
    )
    .execute(&pool)
    .await
    .unwrap();
    let orphan = sqlx::query(
        "INSERT INTO events (run, seq, time, type, body) VALUES ('nobody', 1, 'x', 'note', '{}')",
    );
    assert!(orphan.execute(&pool).await.is_err());
}

/// The last migration before audit events had the deployment.
const BEFORE_DEPLOYMENTS_OF_EVENTS: i64 = 1171;

#[tokio::test]
async fn stored_audit_events_get_their_deployment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    let options = SqliteConnectOptions::from_str(file.to_str().unwrap())
        .unwrap()
        .create_if_missing(true)
        .foreign_keys(true);
    let pool = SqlitePoolOptions::new()
        .connect_with(options)
        .await
        .unwrap();
    apply(&pool, BEFORE_DEPLOYMENTS_OF_EVENTS).await;
    let shop = "11111111-1111-7111-8111-111111111111";
    let run = "22222222-2222-7222-8222-222222222222";
    sqlx::query(
        r#"INSERT INTO deployments (id, cloud, project_id, name, state, template, layout, parameters, outputs, author, created, updated)
           VALUES ($1, 'lab', 'p', 'shop', 'deployed', 't', '{"nodes":{}}', '{}', '{}', 'demo', '1', '2')"#,
    )
    .bind(shop)
    .execute(&pool)
    .await
    .unwrap();
    sqlx::query(
        r#"INSERT INTO runs (id, deployment, cloud, project_id, kind, state, forced, workflow, author, created)
           VALUES ($1, $2, 'lab', 'p', 'deploy', 'succeeded', 0, '{"steps":[],"resources":{}}', 'demo', '1')"#,
    )
    .bind(run)
    .bind(shop)
    .execute(&pool)
    .await
    .unwrap();
    for (id, project, target) in [
        ("1", "p", "/api/v1/designs/3".to_owned()),
        ("2", "p", format!("/api/v1/runs/{run}")),
        ("3", "p", format!("/api/v1/deployments/{shop}/check")),
        ("4", "other", format!("/api/v1/runs/{run}/cancel")),
    ] {
        sqlx::query(
            "INSERT INTO audit_events (id, time, cloud, project_id, actor, action, target, status, request_id)
             VALUES ($1, '2026-01-01T00:00:00Z', 'lab', $2, 'demo', 'POST', $3, 200, 'r')",
        )
        .bind(id)
        .bind(project)
        .bind(target)
        .execute(&pool)
        .await
        .unwrap();
    }
    pool.close().await;

    let operator = store::open(&file).await.unwrap();
    let (store, tenant) = (operator.store(), store::testing::tenant());
    let of_shop = store
        .audit_list(&tenant, &Default::default(), Some(shop), store::Page::ALL)
        .await
        .unwrap();
    let ids: Vec<&str> = of_shop.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["3", "2"]);
    let stranger = Tenant {
        cloud: "lab".into(),
        project_id: "other".into(),
    };
    let theirs = store
        .audit_list(&stranger, &Default::default(), None, store::Page::ALL)
        .await
        .unwrap();
    assert_eq!(theirs[0].deployment, None);
    store.close().await;
}
