//! Writes: rows, events and their numbers.

use std::collections::BTreeMap;

use api::{EventBody, ResourceState, StepState};
use store::{
    ResourceChange,
    testing::{BreakingWay, Lost},
};

use super::*;
use crate::testing::resource;

#[tokio::test]
async fn moves_change_rows_and_become_events() {
    let (journal, _database) = journal().await;
    let step = |state, attempt| Entry::Step {
        step: "net:create".into(),
        state,
        attempt,
        error: None,
        retry_at: None,
    };
    let net = |change| Entry::Resource {
        name: "net".into(),
        change,
    };
    let spec = Box::new(resource("OS::Neutron::Net", []));
    journal
        .of(&tenant(), "r", 0)
        .write(vec![
            run_is(RunState::Running, None),
            step(StepState::Running, 1),
            net(ResourceChange::Begin {
                spec,
                state: ResourceState::Creating,
                incarnation: 0,
            }),
            net(ResourceChange::Known {
                physical_id: "n1".into(),
            }),
        ])
        .await
        .unwrap();
    let attributes = json!({"name": "front"}).as_object().unwrap().clone();
    journal
        .of(&tenant(), "r", 0)
        .write(vec![
            net(ResourceChange::Ready {
                reference: json!("n1"),
                attributes: attributes.clone(),
                physical_id: Some("n1".into()),
                made_from: BTreeMap::new(),
                made_with: BTreeMap::new(),
                health: None,
            }),
            step(StepState::Succeeded, 1),
        ])
        .await
        .unwrap();

    let row = journal.store.run_find(&tenant(), "r").await;
    let row = row.unwrap().unwrap();
    assert_eq!(row.shown.state, RunState::Running);
    let steps = journal.store.step_list(&tenant(), "r").await.unwrap();
    assert_eq!(
        (steps[0].state, steps[0].attempts, steps[0].ended.is_some()),
        (StepState::Succeeded, 1, true)
    );
    let resources = journal.store.resource_list(&tenant(), "d").await.unwrap();
    assert_eq!(
        (resources[0].state, resources[0].physical_id.as_deref()),
        (ResourceState::Ready, Some("n1"))
    );
    assert_eq!(resources[0].attributes, attributes);
    let events = journal
        .store
        .event_list(&tenant(), "r", 0, 100)
        .await
        .unwrap();
    assert!(is_dense(&events) && events.len() == 6);

    journal
        .of(&tenant(), "r", 0)
        .write(vec![net(ResourceChange::To {
            state: ResourceState::Removed,
            physical_id: None,
        })])
        .await
        .unwrap();
    assert!(
        journal
            .store
            .resource_list(&tenant(), "d")
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn another_project_sees_nothing() {
    let (journal, _database) = journal().await;
    let begun = Entry::Resource {
        name: "net".into(),
        change: ResourceChange::Begin {
            spec: Box::new(resource("OS::Neutron::Net", [])),
            state: ResourceState::Creating,
            incarnation: 0,
        },
    };
    let entries = vec![begun, line(1)];
    journal.of(&tenant(), "r", 0).write(entries).await.unwrap();
    let store = &journal.store;
    for stranger in store::testing::strangers() {
        assert!(store.run_find(&stranger, "r").await.unwrap().is_none());
        let deployment = store.deployment_find(&stranger, "d").await;
        assert!(deployment.unwrap().is_none());
        assert!(
            store
                .deployment_list(&stranger, store::Page::ALL)
                .await
                .unwrap()
                .is_empty()
        );
        assert!(
            store
                .run_list_open(&stranger, "d")
                .await
                .unwrap()
                .is_empty()
        );
        let unfinished = store.run_list_unfinished(&stranger).await.unwrap();
        assert!(unfinished.is_empty());
        assert!(store.step_list(&stranger, "r").await.unwrap().is_empty());
        let resources = store.resource_list_all(&stranger, "d").await.unwrap();
        assert!(resources.is_empty());
        let creations = store.creation_list(&stranger, "d").await.unwrap();
        assert!(creations.is_empty());
        let events = store.event_list(&stranger, "r", 0, 10).await.unwrap();
        assert!(events.is_empty());
        let written = journal.of(&stranger, "r", 0).write(vec![line(1)]).await;
        assert!(matches!(written, Err(Error::Storage(_))));
    }
    let owned = store.resource_list_all(&tenant(), "d").await.unwrap();
    assert_eq!(owned.len(), 1);
}

#[tokio::test]
async fn an_invalid_state_is_refused_and_fails_no_other_write() {
    let (journal, _database) = journal().await;
    let tenant = tenant();
    let run = journal.of(&tenant, "r", 0);
    let bad = run.write(vec![run_is(RunState::Failed, None)]);
    let good = run.write(vec![line(1)]);
    let (bad, good) = tokio::join!(bad, good);
    assert!(matches!(bad, Err(Error::Storage(_))));
    good.unwrap();
    assert!(
        is_dense(&journal.store.event_list(&tenant, "r", 0, 10).await.unwrap()),
        "the refused event has no number"
    );
}

#[tokio::test]
async fn a_database_that_falls_silent_does_not_stall_the_journal() {
    let way = BreakingWay::new().await;
    let store = way.operator.store();
    begin(store).await;
    let limit = Duration::from_millis(500);
    let journal = Journal::start(
        store.clone(),
        LogQuota::NONE,
        Arc::default(),
        limit,
        Arc::default(),
    );
    let run = journal.of(&tenant(), "r", 0);
    run.write(vec![line(1), line(2)]).await.unwrap();
    way.break_at_commit(Lost::AnswerForGood);
    let written = run.write(vec![line(3)]);
    let written = tokio::time::timeout(LIMIT, written).await;
    written.expect("another connection is used").unwrap();
    assert!(way.has_broken());
    let events = store.event_list(&tenant(), "r", 0, 10).await.unwrap();
    assert!(is_dense(&events) && events.len() == 3);
}

#[tokio::test]
async fn an_attempt_is_numbered_by_the_runs_failed_endings() {
    let (journal, _database) = journal().await;
    assert_eq!(
        journal
            .store
            .event_count_bad_ends(&tenant(), "r")
            .await
            .unwrap(),
        0
    );
    let states = [
        run_is(RunState::Running, None),
        run_is(RunState::Failed, Some(Ending::Failed)),
        run_is(RunState::Running, None),
    ];
    journal
        .of(&tenant(), "r", 0)
        .write(states.into())
        .await
        .unwrap();
    assert_eq!(
        journal
            .store
            .event_count_bad_ends(&tenant(), "r")
            .await
            .unwrap(),
        1
    );
}

#[tokio::test]
async fn numbers_go_on_after_a_restart() {
    let (journal, _database) = journal().await;
    journal
        .of(&tenant(), "r", 0)
        .write(vec![line(1), line(2)])
        .await
        .unwrap();
    let again = Journal::start(
        journal.store.clone(),
        LogQuota::NONE,
        Arc::default(),
        LIMIT,
        Arc::default(),
    );
    again
        .of(&tenant(), "r", 0)
        .write(vec![line(3)])
        .await
        .unwrap();
    let events = Arc::new(again.store.event_list(&tenant(), "r", 0, 10).await.unwrap());
    assert!(is_dense(&events) && events.len() == 3);
    assert!(matches!(&events[2].body, EventBody::Log(LogLine { text, .. }) if text == "line 3"));
}
