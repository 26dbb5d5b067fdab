//! Viewers at the server that writes: stored and live events, slow viewers, the end of a stream.

use futures::StreamExt;
use store::Wanted;

use super::*;
use crate::journal::stream::{PAGE, PAGE_BYTES};

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
                        .queue(vec![line(writer * 1000 + number), line(number)])
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
    for is_reported in [true, false] {
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
        if is_reported {
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
        assert_eq!(rest.len(), usize::from(is_reported), "{rest:?}");
    }
}
