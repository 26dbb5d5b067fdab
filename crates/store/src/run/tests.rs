use super::*;
use crate::testing::{Database, deployment_insert_with_run, execute, run_step, strangers, tenant};

#[tokio::test]
async fn a_deployment_has_one_change_at_work() {
    for database in Database::each().await {
        let (store, tenant) = (&database.store, tenant());
        deployment_insert_with_run(store, &tenant, "d", "r").await;
        let mut transaction = store.begin("testing").await.unwrap();
        let workflow = Workflow::default();
        let second = NewRun {
            id: "s",
            deployment: "d",
            kind: RunKind::Update,
            forced: false,
            rolls_back: false,
            roll_back: None,
            scaling: None,
            command: None,
            workflow: &workflow,
            changes: None,
            author: "demo",
            author_id: "demo-id",
        };
        let inserted = transaction.run_insert(&tenant, second).await;
        assert_eq!(inserted.unwrap(), Outcome::Conflict);
        let at_work = transaction.run_change_at_work(&tenant, "d").await.unwrap();
        assert_eq!(at_work.as_deref(), Some("r"));
        for stranger in strangers() {
            let hidden = transaction.run_change_at_work(&stranger, "d").await;
            assert_eq!(hidden.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn a_run_at_a_hook_waits_for_a_user_on_its_page_and_in_every_list() {
    for database in Database::each().await {
        let (store, tenant) = (&database.store, tenant());
        deployment_insert_with_run(store, &tenant, "d", "r").await;
        let mut transaction = store.begin("testing").await.unwrap();
        let claim = transaction.deployment_claim(&tenant, "d", "r", None);
        assert_eq!(claim.await.unwrap(), Outcome::Done);
        transaction.commit().await.unwrap();
        run_step(store, "r", "web:pre-create").await;
        let waits = async || {
            let run = store.run_find(&tenant, "r").await.unwrap().unwrap();
            let runs = store.run_list(&tenant, "d", Page::ALL).await.unwrap();
            let deployments = store.deployment_list(&tenant, Page::ALL).await.unwrap();
            let summary = deployments[0].summary.as_ref().unwrap();
            [&run.shown, &runs[0], summary.run.as_ref().unwrap()].map(|run| run.waits_for_user)
        };
        let change = async |statement: &'static str| {
            execute(store, sqlx::query(statement)).await;
        };
        change("UPDATE runs SET state = 'running'").await;
        assert_eq!(waits().await, [false; 3], "at the step of a resource");
        change("UPDATE steps SET kind = 'hook'").await;
        assert_eq!(waits().await, [true; 3]);
        change("UPDATE runs SET state = 'paused'").await;
        assert_eq!(waits().await, [false; 3], "it waits for a login");
        change("UPDATE runs SET state = 'running'").await;
        change("UPDATE steps SET state = 'succeeded'").await;
        assert_eq!(waits().await, [false; 3], "it was released");
    }
}
