//! Event numbers without gaps, and viewers that miss no events.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use api::{
    DeploymentState, Event, EventBody, LogLevel, LogLine, LogStream, ResourceState, RunState,
    StepState,
};
use futures::{FutureExt, StreamExt};
use serde_json::json;

use store::{
    Ending, Notice, ResourceChange, Wanted,
    testing::{BreakingWay, Database, Lost, tenant},
};

use super::{
    stream::{PAGE, PAGE_BYTES, Viewer},
    *,
};
use crate::testing::resource;

/// Time limit of an append.
const LIMIT: Duration = Duration::from_secs(60);

/// A journal in a separate database, with one deployment `d` and one run `r` of one step.
async fn journal() -> (Journal, Database) {
    journal_in(Database::new().await).await
}

async fn journal_in(database: Database) -> (Journal, Database) {
    begin(&database.store).await;
    let journal = Journal::start(
        database.store.clone(),
        LogQuota::NONE,
        LIMIT,
        Arc::default(),
    );
    (journal, database)
}

async fn begin(store: &Store) {
    let tenant = tenant();
    store::testing::deployment_insert(store, &tenant, "d").await;
    let workflow = json!({"steps": [{"id": "net:create", "kind": "create", "resource": null, "after": [], "timeout_seconds": 60}], "resources": {}});
    let workflow = serde_json::from_value(workflow).unwrap();
    store::testing::run_insert(store, &tenant, "d", "r", &workflow).await;
}

fn line(number: usize) -> Entry {
    Entry::Log(LogLine {
        step: "net:create".into(),
        host: None,
        play: None,
        task: None,
        stream: LogStream::Engine,
        level: LogLevel::Info,
        text: format!("line {number}"),
        position: None,
    })
}

fn run_is(state: RunState, ending: Option<Ending>) -> Entry {
    Entry::Run {
        state,
        ending,
        reason: None,
        deployment: Some(DeploymentState::Busy),
    }
}

/// The events of the streams of a viewer who comes back whenever it is cut off.
async fn watch(journal: &Journal, after: u64) -> Vec<Event> {
    let mut seen = Vec::<Event>::new();
    let mut stream = journal.stream(&tenant(), "r", after);
    while let Some(events) = stream.next().await {
        match events {
            Ok(events) => seen.extend_from_slice(&events),
            Err(_interruption) => {
                let after = seen.last().map_or(after, |last| last.seq);
                stream = journal.stream(&tenant(), "r", after);
            }
        }
    }
    seen
}

fn is_dense(events: &[Event]) -> bool {
    events
        .iter()
        .enumerate()
        .all(|(index, event)| event.seq == index as u64 + 1)
}

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
            state: ResourceState::Deleted,
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
    let journal = Journal::start(store.clone(), LogQuota::NONE, limit, Arc::default());
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
async fn a_viewer_who_joins_at_any_time_sees_every_event_once() {
    let (journal, _database) = journal().await;
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let journal = journal.clone();
            tokio::spawn(async move {
                for number in 0..500 {
                    journal
                        .of(&tenant(), "r", 0)
                        .tell(vec![line(writer * 1000 + number), line(number)])
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
                let mut stream = journal.stream(&tenant(), "r", after);
                let mut seen = after;
                while let Some(events) = stream.next().await {
                    let Ok(events) = events else {
                        stream = journal.stream(&tenant(), "r", seen);
                        continue;
                    };
                    for event in &*events {
                        assert_eq!(event.seq, seen + 1, "viewer {viewer}");
                        seen = event.seq;
                    }
                    // Some viewers are slow, and must read from storage.
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
        .of(&tenant(), "r", 0)
        .write(vec![run_is(RunState::Succeeded, None)])
        .await
        .unwrap();
    for viewer in viewers {
        assert_eq!(viewer.await.unwrap(), 4001);
    }
}

/// A viewer who has read all stored events and waits for live ones.
fn live_viewer(journal: &Journal, seen: u64) -> Viewer {
    let mut viewer = journal.viewer(&tenant(), "r", seen);
    viewer.behind = false;
    viewer
}

#[tokio::test]
async fn a_viewer_who_lags_is_cut_off_and_reads_the_rest_from_the_database() {
    let (journal, _database) = journal().await;
    let run = journal.of(&tenant(), "r", 0);
    let mut live = live_viewer(&journal, 0);
    let mut stored = journal.viewer(&tenant(), "r", 0);
    run.write(vec![line(0)]).await.unwrap();
    let mut seen = live.next().await.unwrap().unwrap().to_vec();
    for number in 1..600 {
        run.write(vec![line(number)]).await.unwrap();
    }
    let cut_off = live.next().await;
    assert!(matches!(cut_off, Err(Interruption::TooSlow)), "{cut_off:?}");
    // Events that come before a viewer has read the stored ones cut nobody off.
    let mut read = 0;
    while read < 600 {
        let page = stored.next().await.unwrap().unwrap();
        assert!(page.len() <= PAGE as usize, "a viewer holds a page");
        read += page.len();
    }
    assert_eq!(read, 600);

    let end = run_is(RunState::Cancelled, Some(Ending::Cancelled));
    run.write(vec![end]).await.unwrap();
    seen.extend(watch(&journal, 1).await);
    assert!(is_dense(&seen) && seen.len() == 601);
    assert_eq!(stored.next().await.unwrap().unwrap().len(), 1);
    assert!(stored.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_viewer_of_stored_events_holds_few_long_ones() {
    const LINE_BYTES: usize = 16 * 1024;
    let (journal, _database) = journal().await;
    let run = journal.of(&tenant(), "r", 0);
    let long = |number| match line(number) {
        Entry::Log(line) => Entry::Log(LogLine {
            text: "x".repeat(LINE_BYTES),
            ..line
        }),
        other => other,
    };
    run.write((0..100).map(long).collect()).await.unwrap();
    run.write(vec![run_is(RunState::Succeeded, None)])
        .await
        .unwrap();
    let mut stream = journal.stream(&tenant(), "r", 0);
    let mut seen = Vec::new();
    while let Some(events) = stream.next().await {
        let events = events.unwrap();
        assert!(events.bytes() < PAGE_BYTES + 2 * LINE_BYTES);
        seen.extend_from_slice(&events);
    }
    assert!(is_dense(&seen) && seen.len() == 101);
}

/// Such as the viewer of a run from before a backup was restored.
#[tokio::test]
async fn a_viewer_beyond_the_last_event_sees_the_end_of_the_run() {
    let (journal, _database) = journal().await;
    let mut viewer = live_viewer(&journal, 1000);
    let run = journal.of(&tenant(), "r", 0);
    let end = run_is(RunState::Succeeded, None);
    run.write(vec![line(1), end]).await.unwrap();
    assert!(viewer.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_waiting_viewer_holds_little_memory() {
    let (journal, _database) = journal().await;
    let mut viewer = live_viewer(&journal, 0);
    let size = size_of_val(&viewer.next());
    assert!(size <= 1024, "{size} bytes");
}

#[tokio::test]
async fn the_json_of_a_live_batch_is_written_once_for_all_viewers() {
    let (journal, _database) = journal().await;
    let mut viewers = [(); 2].map(|()| live_viewer(&journal, 0));
    let run = journal.of(&tenant(), "r", 0);
    run.write(vec![line(1), line(2)]).await.unwrap();
    let mut texts = Vec::new();
    for viewer in &mut viewers {
        let batch = viewer.next().await.unwrap().unwrap();
        assert_eq!(batch.texts().len(), 1);
        texts.push(batch.texts()[0].json.clone());
    }
    assert_eq!(texts[0].as_ptr(), texts[1].as_ptr());
    let events: Vec<Event> = serde_json::from_slice(&texts[0]).unwrap();
    assert!(is_dense(&events) && events.len() == 2);
}

#[tokio::test]
async fn viewers_at_another_server_share_one_read_of_new_events() {
    let (journal, _database) = journal().await;
    let run = journal.of(&tenant(), "r", 0);
    run.write(vec![line(1)]).await.unwrap();
    let store = journal.store.clone();
    let other = Journal::start(store, LogQuota::NONE, LIMIT, Arc::default());
    let mut viewers = [(); 2].map(|()| live_viewer(&other, 1));
    let notice = async |seq| announce::forward(&other.store, &other.hub, "r", seq).await;
    notice(1).await;
    run.write(vec![line(2), line(3)]).await.unwrap();
    notice(3).await;
    notice(3).await;
    let mut texts = Vec::new();
    for viewer in &mut viewers {
        let batch = viewer.next().await.unwrap().unwrap();
        assert_eq!(batch.len(), 2);
        texts.push(batch.texts()[0].json.clone());
        assert!(viewer.next().now_or_never().is_none(), "it is told once");
    }
    assert_eq!(texts[0].as_ptr(), texts[1].as_ptr());

    // After a long silence, each viewer reads by itself.
    run.write((4..2004).map(line).collect()).await.unwrap();
    notice(2003).await;
    let [viewer, _] = &mut viewers;
    let mut last = 3;
    while last < 2003 {
        let batch = viewer.next().await.unwrap().unwrap();
        assert_eq!(batch[0].seq, last + 1);
        last = batch.last().unwrap().seq;
    }
}

#[tokio::test]
async fn events_whose_notices_were_missed_are_found_in_storage() {
    let (journal, _database) = journal().await;
    let run = journal.of(&tenant(), "r", 0);
    run.write(vec![line(1)]).await.unwrap();
    let store = journal.store.clone();
    let other = Journal::start(store, LogQuota::NONE, LIMIT, Arc::default());
    let mut viewer = live_viewer(&other, 1);
    run.write(vec![line(2)]).await.unwrap();
    assert!(viewer.next().now_or_never().is_none(), "nobody told it");
    announce::look(&other.store, &other.hub).await;
    let batch = viewer.next().await.unwrap().unwrap();
    assert_eq!(batch[0].seq, 2);
}

#[tokio::test]
async fn other_servers_get_the_last_number_of_a_burst_in_few_notices() {
    let (journal, database) = journal_in(Database::postgres().await).await;
    let mut listener = database.store.listen().await.unwrap().unwrap();
    let run = journal.of(&tenant(), "r", 0);
    let begun = Instant::now();
    for number in 0..100 {
        run.write(vec![line(number)]).await.unwrap();
    }
    let last = database.store.event_last(&tenant(), "r").await.unwrap();
    let last = vec![("r".to_owned(), last.unwrap())];
    let mut notices = 1;
    let told = async {
        while listener.next().await.unwrap() != Notice::Events(last.clone()) {
            notices += 1;
        }
    };
    let told = tokio::time::timeout(LIMIT, told).await;
    told.expect("the last number is told");
    let intervals = begun.elapsed().as_millis() / 20;
    assert!(
        notices <= intervals + 1,
        "{notices} in {intervals} intervals"
    );
}

#[tokio::test]
async fn a_stream_of_a_run_that_was_resumed_goes_on_past_its_first_end() {
    let (journal, _database) = journal().await;
    journal
        .of(&tenant(), "r", 0)
        .write(vec![run_is(RunState::Failed, Some(Ending::Failed))])
        .await
        .unwrap();
    assert_eq!(watch(&journal, 0).await.len(), 1);
    journal
        .of(&tenant(), "r", 0)
        .write(vec![run_is(RunState::Running, None)])
        .await
        .unwrap();
    let watched = watch(&journal, 0);
    let run = journal.of(&tenant(), "r", 0);
    let written = run.write(vec![line(1), run_is(RunState::Succeeded, None)]);
    let (watched, written) = tokio::join!(watched, written);
    written.unwrap();
    assert_eq!(watched.len(), 4);
}

/// The stream contains the reason for the roll-back's delay, and ends when the roll-back has started.
#[tokio::test]
async fn the_stream_of_a_failed_run_ends_when_its_roll_back_has_started_or_is_abandoned() {
    for is_told in [true, false] {
        let (journal, _database) = journal().await;
        store::testing::run_set_roll_back(&journal.store, "r", Some("{}")).await;
        let failed = run_is(RunState::Failed, Some(Ending::Failed));
        journal
            .of(&tenant(), "r", 0)
            .write(vec![failed])
            .await
            .unwrap();
        let mut stream = journal.stream(&tenant(), "r", 0);
        assert_eq!(stream.next().await.unwrap().unwrap().len(), 1);
        if is_told {
            let entry = Entry::RollBack {
                reason: "the login has ended".into(),
                wanted: Wanted::NoMore,
            };
            journal
                .of(&tenant(), "r", 0)
                .write(vec![entry])
                .await
                .unwrap();
        } else {
            store::testing::run_set_roll_back(&journal.store, "r", None).await;
        }
        let rest: Vec<EventBatch> = stream.map(|events| events.unwrap()).collect().await;
        assert_eq!(rest.len(), usize::from(is_told), "{rest:?}");
    }
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
    let again = Journal::start(journal.store.clone(), LogQuota::NONE, LIMIT, Arc::default());
    again
        .of(&tenant(), "r", 0)
        .write(vec![line(3)])
        .await
        .unwrap();
    let events = Arc::new(again.store.event_list(&tenant(), "r", 0, 10).await.unwrap());
    assert!(is_dense(&events) && events.len() == 3);
    assert!(matches!(&events[2].body, EventBody::Log(LogLine { text, .. }) if text == "line 3"));
}

#[tokio::test]
async fn a_viewer_who_joins_at_the_end_sees_the_last_event() {
    for delay in 0..40 {
        let (journal, _database) = journal().await;
        let writer = journal.clone();
        let viewer = tokio::spawn(async move {
            for _ in 0..delay {
                tokio::task::yield_now().await;
            }
            watch(&journal, 0).await
        });
        writer
            .of(&tenant(), "r", 0)
            .write(vec![line(1)])
            .await
            .unwrap();
        writer
            .of(&tenant(), "r", 0)
            .write(vec![run_is(RunState::Succeeded, None)])
            .await
            .unwrap();
        let seen = viewer.await.unwrap();
        assert_eq!(seen.len(), 2, "after {delay}");
    }
}
