//! Numbers without gaps, viewers that miss nothing.

use std::sync::Arc;

use std::collections::BTreeMap;

use api::{
    DeploymentState, Event, EventBody, LogLevel, LogStream, ResourceState, RunState, StepState,
};
use futures::StreamExt;
use serde_json::json;

use super::*;
use crate::{Tenant, machine::Ending, testing::resource};

/// A journal in a folder of its own, with one deployment `d` and one run `r` of one step.
async fn journal() -> (Journal, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let pool = open(&folder.path().join("test.db")).await.unwrap();
    sqlx::migrate!("../../migrations").run(&pool).await.unwrap();
    for statement in [
        "INSERT INTO deployments (id, cloud, project_id, name, state, template, layout, parameters, outputs, author, created, updated) \
         VALUES ('d', 'lab', 'p', 'shop', 'busy', '', '{}', '{}', '{}', 'demo', '', '')",
        "INSERT INTO runs (id, deployment, cloud, project_id, kind, state, forced, workflow, author, created) \
         VALUES ('r', 'd', 'lab', 'p', 'deploy', 'queued', 0, '{\"steps\":[],\"resources\":{}}', 'demo', '')",
        "INSERT INTO steps (run, id, position, kind, waits_for, state, attempts) VALUES ('r', 'net:create', 0, 'create', '[]', 'waiting', 0)",
    ] {
        sqlx::query(statement).execute(&pool).await.unwrap();
    }
    (Journal::start(pool), folder)
}

fn line(number: usize) -> Entry {
    Entry::Log {
        step: "net:create".into(),
        stream: LogStream::Engine,
        level: LogLevel::Info,
        text: format!("line {number}"),
    }
}

fn run_is(state: RunState, ending: Option<Ending>) -> Entry {
    Entry::Run {
        state,
        ending,
        reason: None,
        deployment: DeploymentState::Busy,
    }
}

fn is_dense(events: &[Event]) -> bool {
    events
        .iter()
        .enumerate()
        .all(|(index, event)| event.seq == index as u64 + 1)
}

#[tokio::test]
async fn moves_change_rows_and_become_events() {
    let (journal, _folder) = journal().await;
    let tenant = Tenant {
        cloud: "lab".into(),
        project_id: "p".into(),
    };
    let step = |state, attempt| Entry::Step {
        step: "net:create".into(),
        state,
        attempt,
        error: None,
    };
    let net = |change| Entry::Resource {
        name: "net".into(),
        change,
    };
    let spec = Box::new(resource("OS::Neutron::Net", []));
    journal
        .write(
            "r",
            vec![
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
            ],
        )
        .await
        .unwrap();
    let attributes = json!({"name": "front"}).as_object().unwrap().clone();
    journal
        .write(
            "r",
            vec![
                net(ResourceChange::Ready {
                    reference: json!("n1"),
                    attributes: attributes.clone(),
                    physical_id: Some("n1".into()),
                    made_from: BTreeMap::new(),
                    made_with: BTreeMap::new(),
                }),
                step(StepState::Succeeded, 1),
            ],
        )
        .await
        .unwrap();

    let row = journal
        .run(Scoped::To(&tenant), "r")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.shown.state, RunState::Running);
    let steps = journal.steps("r").await.unwrap();
    assert_eq!(
        (steps[0].state, steps[0].attempts, steps[0].ended.is_some()),
        (StepState::Succeeded, 1, true)
    );
    let resources = journal.resources("d").await.unwrap();
    assert_eq!(
        (resources[0].state, resources[0].physical_id.as_deref()),
        (ResourceState::Ready, Some("n1"))
    );
    assert_eq!(resources[0].attributes, attributes);
    let events = journal.events("r", 0, 100).await.unwrap();
    assert!(is_dense(&events) && events.len() == 6);

    journal
        .write(
            "r",
            vec![net(ResourceChange::To {
                state: ResourceState::Deleted,
                physical_id: None,
            })],
        )
        .await
        .unwrap();
    assert!(journal.resources("d").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_stranger_sees_nothing() {
    let (journal, _folder) = journal().await;
    for stranger in [("lab", "other"), ("elsewhere", "p")] {
        let stranger = Tenant {
            cloud: stranger.0.into(),
            project_id: stranger.1.into(),
        };
        assert!(
            journal
                .run(Scoped::To(&stranger), "r")
                .await
                .unwrap()
                .is_none()
        );
        assert!(
            journal
                .deployment(Scoped::To(&stranger), "d")
                .await
                .unwrap()
                .is_none()
        );
        assert!(journal.deployments(&stranger).await.unwrap().is_empty());
        assert!(journal.runs(&stranger, "d").await.unwrap().is_empty());
        assert!(
            journal
                .runs_at_work(Scoped::To(&stranger))
                .await
                .unwrap()
                .is_empty()
        );
    }
}

#[tokio::test]
async fn a_state_that_cannot_be_is_refused_and_hurts_nobody_else() {
    let (journal, _folder) = journal().await;
    let bad = journal.write("r", vec![run_is(RunState::Failed, None)]);
    let good = journal.write("r", vec![line(1)]);
    let (bad, good) = tokio::join!(bad, good);
    assert!(matches!(bad, Err(Error::Storage { .. })));
    good.unwrap();
    assert!(
        is_dense(&journal.events("r", 0, 10).await.unwrap()),
        "the refused event has no number"
    );
}

#[tokio::test]
async fn viewers_that_come_at_any_time_see_every_event_once() {
    let (journal, _folder) = journal().await;
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let journal = journal.clone();
            tokio::spawn(async move {
                for number in 0..500 {
                    journal
                        .tell("r", vec![line(writer * 1000 + number), line(number)])
                        .await
                        .unwrap();
                    if number % 50 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    let viewers: Vec<_> = (0..8u64)
        .map(|viewer| {
            let journal = journal.clone();
            tokio::spawn(async move {
                let after = viewer * 100;
                let mut stream = journal.stream("r", after);
                let mut seen = after;
                while let Some(events) = stream.next().await {
                    for event in events {
                        assert_eq!(event.seq, seen + 1, "viewer {viewer}");
                        seen = event.seq;
                    }
                    // Some are slow, and must be served from storage.
                    if viewer % 2 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                seen
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    journal
        .write("r", vec![run_is(RunState::Succeeded, None)])
        .await
        .unwrap();
    for viewer in viewers {
        assert_eq!(viewer.await.unwrap(), 4001);
    }
}

#[tokio::test]
async fn a_viewer_that_sleeps_through_everything_is_served_from_storage() {
    let (journal, _folder) = journal().await;
    let mut stream = journal.stream("r", 0);
    journal.write("r", vec![line(0)]).await.unwrap();
    let first = stream.next().await.unwrap();
    for number in 0..600 {
        journal.write("r", vec![line(number)]).await.unwrap();
    }
    journal
        .write(
            "r",
            vec![run_is(RunState::Cancelled, Some(Ending::Cancelled))],
        )
        .await
        .unwrap();
    let rest: Vec<Event> = stream.collect::<Vec<_>>().await.concat();
    let all = [first, rest].concat();
    assert!(is_dense(&all) && all.len() == 602);
}

#[tokio::test]
async fn a_stream_of_a_run_that_was_resumed_goes_on_past_its_first_end() {
    let (journal, _folder) = journal().await;
    journal
        .write("r", vec![run_is(RunState::Failed, Some(Ending::Failed))])
        .await
        .unwrap();
    assert_eq!(
        journal
            .stream("r", 0)
            .collect::<Vec<_>>()
            .await
            .concat()
            .len(),
        1
    );
    journal
        .write("r", vec![run_is(RunState::Running, None)])
        .await
        .unwrap();
    let stream = journal.stream("r", 0);
    journal
        .write("r", vec![line(1), run_is(RunState::Succeeded, None)])
        .await
        .unwrap();
    assert_eq!(stream.collect::<Vec<_>>().await.concat().len(), 4);
}

/// It says why it cannot be, or ends without a word once it is.
#[tokio::test]
async fn a_stream_of_a_run_that_shall_be_rolled_back_tells_what_comes_of_that() {
    for is_told in [true, false] {
        let (journal, _folder) = journal().await;
        sqlx::query("UPDATE runs SET roll_back = '{}'")
            .execute(journal.pool())
            .await
            .unwrap();
        let failed = run_is(RunState::Failed, Some(Ending::Failed));
        journal.write("r", vec![failed]).await.unwrap();
        let mut stream = journal.stream("r", 0);
        assert_eq!(stream.next().await.unwrap().len(), 1);
        if is_told {
            let entry = Entry::RollBack {
                reason: "the login has ended".into(),
                wanted: Wanted::NoMore,
            };
            journal.write("r", vec![entry]).await.unwrap();
        } else {
            sqlx::query("UPDATE runs SET roll_back = NULL")
                .execute(journal.pool())
                .await
                .unwrap();
        }
        let rest = stream.collect::<Vec<_>>().await.concat();
        assert_eq!(rest.len(), usize::from(is_told), "{rest:?}");
    }
}

#[tokio::test]
async fn a_go_is_known_by_how_often_its_run_ended_badly() {
    let (journal, _folder) = journal().await;
    assert_eq!(journal.bad_ends("r").await.unwrap(), 0);
    let states = [
        run_is(RunState::Running, None),
        run_is(RunState::Failed, Some(Ending::Failed)),
        run_is(RunState::Running, None),
    ];
    journal.write("r", states.into()).await.unwrap();
    assert_eq!(journal.bad_ends("r").await.unwrap(), 1);
}

#[tokio::test]
async fn numbers_go_on_after_a_restart() {
    let (journal, _folder) = journal().await;
    journal.write("r", vec![line(1), line(2)]).await.unwrap();
    let again = Journal::start(journal.pool().clone());
    again.write("r", vec![line(3)]).await.unwrap();
    let events = Arc::new(again.events("r", 0, 10).await.unwrap());
    assert!(is_dense(&events) && events.len() == 3);
    assert!(matches!(&events[2].body, EventBody::Log { text, .. } if text == "line 3"));
}

#[tokio::test]
async fn a_viewer_that_comes_at_the_very_end_still_sees_the_end() {
    for delay in 0..40 {
        let (journal, _folder) = journal().await;
        let writer = journal.clone();
        let viewer = tokio::spawn(async move {
            for _ in 0..delay {
                tokio::task::yield_now().await;
            }
            journal.stream("r", 0).collect::<Vec<_>>().await.concat()
        });
        writer.write("r", vec![line(1)]).await.unwrap();
        writer
            .write("r", vec![run_is(RunState::Succeeded, None)])
            .await
            .unwrap();
        let seen = viewer.await.unwrap();
        assert_eq!(seen.len(), 2, "after {delay}");
    }
}
