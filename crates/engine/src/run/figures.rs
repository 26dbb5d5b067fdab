//! Figures of logs, for `cargo xtask bench`: the way of a line from a step to its viewers, and what an end of a long log costs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use api::{EventBody, LogLevel, LogStream};
use futures::StreamExt;
use store::{
    EventFilter, LogQuota, Range,
    testing::{Database, deployment_insert_with_run, tenant},
};

use super::log::StepLog;
use crate::{journal::Journal, secrets::Mask};

/// Time of a measurement.
const TIME: Duration = Duration::from_secs(5);
/// Time limit of an append.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval at which a sandbox's output is read.
const PIECE: Duration = Duration::from_millis(10);

/// A journal in a separate database, with a run `r`.
async fn journal() -> (Journal, Database) {
    let database = Database::measured().await;
    let store = &database.store;
    deployment_insert_with_run(store, &tenant(), "d", "r").await;
    let journal = Journal::start(
        store.clone(),
        LogQuota::NONE,
        Arc::default(),
        PATIENCE,
        Arc::default(),
    );
    (journal, database)
}

fn log(journal: &Journal) -> StepLog {
    StepLog {
        journal: journal.of(&tenant(), "r", 0),
        step: "net:create".into(),
        mask: Arc::new(Mask::default()),
    }
}

/// Delays of lines between a step and the frame of a socket, shortest first, and the start of the figure's name.
async fn delays(lines_per_second: usize) -> (Vec<Duration>, String) {
    let (journal, database) = journal().await;
    let log = log(&journal);
    let began = Instant::now();
    let lines_per_piece = lines_per_second / 100;
    let pieces = TIME.as_millis() / PIECE.as_millis();
    let writer = tokio::spawn(async move {
        let mut pace = tokio::time::interval(PIECE);
        for _ in 0..pieces {
            pace.tick().await;
            let line = format!(
                "{} Setting up libexample (1.2-3) ...",
                began.elapsed().as_micros()
            );
            let lines = vec![(LogLevel::Info, line); lines_per_piece];
            log.say(LogStream::Stdout, lines).await;
        }
    });
    let mut stream = journal.stream(&tenant(), "r", 0);
    let mut delays = Vec::new();
    while delays.len() < lines_per_piece * pieces as usize {
        let events = stream.next().await.unwrap().unwrap();
        assert!(!events.texts().is_empty());
        let now = began.elapsed();
        for event in &*events {
            if let EventBody::Log(line) = &event.body {
                let sent = line.text.split(' ').next().unwrap().parse().unwrap();
                delays.push(now.saturating_sub(Duration::from_micros(sent)));
            }
        }
    }
    writer.await.unwrap();
    delays.sort();
    (delays, database.figure("engine"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures for ten seconds"]
async fn log_lines_reach_their_viewers() {
    for (rate, p50_ms, p99_ms) in [(1_000, 50, 200), (10_000, 100, 400)] {
        let (delays, figure) = delays(rate).await;
        for (name, percent, aim_ms) in [("p50", 50, p50_ms), ("p99", 99, p99_ms)] {
            let delay = delays[(delays.len() - 1) * percent / 100];
            let delay_ms = delay.as_secs_f64() * 1e3;
            println!(
                "{figure}, log line from step to socket, {rate}/s, {name}\t{delay_ms:.1}\tms\t{aim_ms}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes 100,000 lines"]
async fn the_end_of_a_long_log_is_read_at_once() {
    let (journal, database) = journal().await;
    let log = log(&journal);
    for hundred in 0..1_000 {
        let line = |nth| {
            format!(
                "Get:{nth} http://apt.an.example/debian bookworm/main amd64 libexample{hundred} amd64 1.{nth}-2"
            )
        };
        let lines = (0..100).map(|nth| (LogLevel::Info, line(nth)));
        log.say(LogStream::Stdout, lines).await;
    }
    let run = journal.of(&tenant(), "r", 0);
    run.write(Vec::new()).await.unwrap();
    for (name, before, filter) in [
        ("the end", u64::MAX, EventFilter::All),
        ("the middle", 50_000, EventFilter::All),
        (
            "the end of a step",
            u64::MAX,
            EventFilter::LogOf("net:create"),
        ),
    ] {
        let began = Instant::now();
        let range = Range::before(before, 2_000);
        let tenant = tenant();
        let events = database.store.event_list_in(&tenant, "r", range, filter);
        assert_eq!(events.await.unwrap().len(), 2_000);
        let took_ms = began.elapsed().as_secs_f64() * 1e3;
        let figure = database.figure("engine");
        println!("{figure}, 2,000 of 100,000 log lines, {name}\t{took_ms:.1}\tms");
    }
}
