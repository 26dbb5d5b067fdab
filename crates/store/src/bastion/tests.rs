//! Users that enter, leave and are gone.

use std::time::Duration;

use super::*;
use crate::testing::{
    Database, deployment_insert, deployment_insert_with_run, execute, servers, strangers, tenant,
};

const PATIENCE: Duration = Duration::from_secs(60);

fn user(id: &str, kind: BastionUserKind) -> BastionUser<'_> {
    let is_terminal = kind == BastionUserKind::Person;
    BastionUser {
        id,
        kind,
        deployment: "d",
        bastion: "gate",
        address: "192.0.2.7",
        user_id: is_terminal.then_some("demo-id"),
        sealed: is_terminal.then_some("token"),
    }
}

async fn enter(store: &Store, id: &str, kind: BastionUserKind) {
    let entered = store.bastion_enter(&tenant(), &user(id, kind)).await;
    assert_eq!(entered.unwrap(), Outcome::Done);
}

async fn leave(store: &Store, id: &str) -> BastionLeaving {
    store.bastion_leave(&tenant(), "d", id).await.unwrap()
}

fn rule() -> Vec<(String, String)> {
    vec![("gate".to_owned(), "192.0.2.7".to_owned())]
}

#[tokio::test]
async fn the_last_user_of_a_rule_removes_it() {
    for Database {
        operator, store, ..
    } in &Database::each().await
    {
        operator.server_join(PATIENCE, "key").await.unwrap();
        deployment_insert_with_run(store, &tenant(), "d", "r").await;
        enter(store, "r", BastionUserKind::Run).await;
        enter(store, "t", BastionUserKind::Person).await;

        let first = leave(store, "r").await;
        assert_eq!(
            (first.users.as_slice(), first.still_used.clone()),
            (&["r".to_owned()][..], rule())
        );
        let is_closing = async || store.bastion_is_closing(&tenant(), "d").await.unwrap();
        assert!(is_closing().await, "a new user waits");
        store.bastion_left(&tenant(), &first).await.unwrap();
        assert!(!is_closing().await);

        let last = leave(store, "t").await;
        assert_eq!(
            (last.users.as_slice(), last.still_used.len()),
            (&["t".to_owned()][..], 0)
        );
        assert_eq!(last.bastions, ["gate"]);
        store.bastion_left(&tenant(), &last).await.unwrap();
        assert_eq!(leave(store, "t").await, BastionLeaving::default());
    }
}

#[tokio::test]
async fn users_that_are_gone_leave_with_the_next_one() {
    for Database {
        operator, store, ..
    } in &Database::each().await
    {
        operator.server_join(PATIENCE, "key").await.unwrap();
        deployment_insert_with_run(store, &tenant(), "d", "r").await;
        enter(store, "r", BastionUserKind::Run).await;
        enter(store, "t1", BastionUserKind::Person).await;
        enter(store, "t2", BastionUserKind::Person).await;
        let gone = async || store.bastion_list_gone(&tenant()).await.unwrap().len();
        assert_eq!(gone().await, 0);

        let failed =
            sqlx::query("UPDATE runs SET state = 'failed', ending = 'failed' WHERE id = 'r'");
        execute(store, failed).await;
        assert_eq!(
            gone().await,
            1,
            "a run that has ended without closing the rule"
        );
        assert_eq!(leave(store, "t1").await.users, ["r", "t1"]);

        // Its server is gone.
        operator.server_leave().await.unwrap();
        assert_eq!(gone().await, 3);
        assert_eq!(operator.bastion_list_abandoned().await.unwrap().len(), 2);
        operator.server_join(PATIENCE, "key").await.unwrap();
        let all = leave(store, "t1").await;
        assert_eq!((all.users.len(), all.still_used.len()), (3, 0));
        store.bastion_stays(&tenant(), &all).await.unwrap();
        assert_eq!(gone().await, 3, "the cloud did not answer");

        let owner = async |id| store.bastion_has_terminal(&tenant(), id).await.unwrap();
        assert!(owner("demo-id").await && !owner("other-id").await);
        for terminal in ["t1", "t2"] {
            store
                .bastion_forget_token(&tenant(), terminal)
                .await
                .unwrap();
        }
        assert!(operator.bastion_list_abandoned().await.unwrap().is_empty());
        assert!(!owner("demo-id").await);
    }
}

#[tokio::test]
async fn two_servers_know_of_each_others_users() {
    let [first, second] = servers().await;
    first.server_join(PATIENCE, "key").await.unwrap();
    second.server_join(PATIENCE, "key").await.unwrap();
    deployment_insert(first.store(), &tenant(), "d").await;
    enter(first.store(), "t1", BastionUserKind::Person).await;
    enter(second.store(), "t2", BastionUserKind::Person).await;
    let leaving = leave(first.store(), "t1").await;
    assert_eq!(
        (leaving.users.as_slice(), leaving.still_used.clone()),
        (&["t1".to_owned()][..], rule())
    );

    // The first one crashes while it closes.
    let store = second.store();
    assert!(store.bastion_is_closing(&tenant(), "d").await.unwrap());
    first.server_leave().await.unwrap();
    assert!(!store.bastion_is_closing(&tenant(), "d").await.unwrap());
    let abandoned = second.bastion_list_abandoned().await.unwrap();
    assert_eq!(abandoned.len(), 1);
    assert_eq!(abandoned[0].id, "t1");
    second
        .bastion_replace_sealed(&abandoned[0], "anew")
        .await
        .unwrap();
    assert_eq!(
        second.bastion_list_sealed().await.unwrap()[0].sealed,
        "anew"
    );
}

#[tokio::test]
async fn another_project_finds_no_user() {
    for Database {
        operator, store, ..
    } in &Database::each().await
    {
        operator.server_join(PATIENCE, "key").await.unwrap();
        deployment_insert(store, &tenant(), "d").await;
        let terminal = user("t", BastionUserKind::Person);
        enter(store, "t", BastionUserKind::Person).await;
        operator.server_leave().await.unwrap();
        for stranger in strangers() {
            let entered = store.bastion_enter(&stranger, &terminal).await.unwrap();
            assert_eq!(entered, Outcome::Conflict);
            let leaving = store.bastion_leave(&stranger, "d", "t").await.unwrap();
            assert_eq!(leaving, BastionLeaving::default());
            assert!(store.bastion_list_gone(&stranger).await.unwrap().is_empty());
            assert!(
                !store
                    .bastion_has_terminal(&stranger, "demo-id")
                    .await
                    .unwrap()
            );
            store.bastion_forget_token(&stranger, "t").await.unwrap();
        }
        assert_eq!(operator.bastion_list_abandoned().await.unwrap().len(), 1);
    }
}
