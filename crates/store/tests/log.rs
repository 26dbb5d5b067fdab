//! Log lines: one sequence with the moves, read from any side, within quotas, for a limited time.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use api::{DeploymentState, Event, EventBody, LogLevel, LogLine, LogStream, RunState, StepState};
use jiff::Timestamp;
use store::{
    Appender, Ending, Entry, EventFilter, LogQuota, Range, Write,
    testing::{Database, deployment_insert_with_run, strangers, tenant},
};

async fn databases() -> [Database; 2] {
    let databases = Database::each().await;
    for Database { store, .. } in &databases {
        deployment_insert_with_run(store, &tenant(), "d", "r").await;
    }
    databases
}

fn output(step: &str, text: impl Into<String>) -> Entry {
    Entry::Log(LogLine {
        step: step.into(),
        host: None,
        play: None,
        task: None,
        stream: LogStream::Stdout,
        level: LogLevel::Info,
        text: text.into(),
        position: None,
    })
}

fn step_is(step: &str, state: StepState) -> Entry {
    Entry::Step {
        step: step.into(),
        state,
        attempt: 1,
        error: None,
        retry_at: None,
    }
}

fn run_is(state: RunState, ending: Option<Ending>) -> Entry {
    Entry::Run {
        state,
        ending,
        reason: None,
        deployment: Some(DeploymentState::Running),
    }
}

async fn append(appender: &mut Appender, entries: Vec<Entry>) -> Vec<Event> {
    let write = Write {
        tenant: tenant(),
        run: "r".into(),
        fence: 0,
        entries,
    };
    appender.append(&[&write]).await.unwrap().remove(0).events
}

fn texts(events: &[Event]) -> Vec<&str> {
    let lines = events.iter().filter_map(|event| match &event.body {
        EventBody::Log(line) => Some(line.text.as_str()),
        _ => None,
    });
    lines.collect()
}

/// Some hundred commits: three steps whose lines alternate, bursts, and moves between them.
async fn fill(appender: &mut Appender) -> Vec<Event> {
    let mut all = Vec::new();
    for round in 0..300 {
        let step = ["a", "b", "c"][round % 3];
        let count = if round % 50 == 7 { 400 } else { 1 + round % 4 };
        let mut entries: Vec<Entry> = (0..count)
            .map(|nth| {
                output(
                    step,
                    format!("{step}: line {nth} of round {round}, {}", "-".repeat(round)),
                )
            })
            .collect();
        if round % 10 == 0 {
            entries.insert(entries.len() / 2, step_is(step, StepState::Running));
        }
        all.extend(append(appender, entries).await);
    }
    all
}

#[tokio::test]
async fn lines_and_moves_are_one_sequence_from_any_side() {
    for database in databases().await {
        let store = &database.store;
        let all = fill(&mut store.appender(LogQuota::NONE)).await;
        let last = all.len() as u64;
        assert!(all.iter().zip(1..).all(|(event, seq)| event.seq == seq));
        assert_eq!(store.event_last(&tenant(), "r").await.unwrap(), Some(last));

        let mut forward = Vec::new();
        loop {
            let after = forward.last().map_or(0, |event: &Event| event.seq);
            let page = store.event_list(&tenant(), "r", after, 97).await.unwrap();
            if page.is_empty() {
                break;
            }
            forward.extend(page);
        }
        assert_eq!(forward, all);

        let mut backward: Vec<Event> = Vec::new();
        loop {
            let before = backward.first().map_or(u64::MAX, |event| event.seq);
            let range = Range::before(before, 101);
            let page = store
                .event_list_in(&tenant(), "r", range, EventFilter::All)
                .await
                .unwrap();
            if page.is_empty() {
                break;
            }
            backward.splice(0..0, page);
        }
        assert_eq!(backward, all);

        let between = Range {
            after: 1_000,
            before: Some(1_011),
            limit: 100,
        };
        let between = store
            .event_list_in(&tenant(), "r", between, EventFilter::All)
            .await
            .unwrap();
        assert_eq!(between, all[1_000..1_010]);

        let moves = Range::after(0, 1_000);
        let moves = store
            .event_list_in(&tenant(), "r", moves, EventFilter::Moves)
            .await
            .unwrap();
        assert_eq!(moves.len(), 30);
    }
}

#[tokio::test]
async fn the_lines_of_a_step_are_read_from_both_ends() {
    for database in databases().await {
        let store = &database.store;
        let all = fill(&mut store.appender(LogQuota::NONE)).await;
        let is_of_b =
            |event: &&Event| matches!(&event.body, EventBody::Log(line) if line.step == "b");
        let of_b: Vec<Event> = all.iter().filter(is_of_b).cloned().collect();

        let mut forward: Vec<Event> = Vec::new();
        let mut backward: Vec<Event> = Vec::new();
        loop {
            let after = forward.last().map_or(0, |event| event.seq);
            let range = Range::after(after, 53);
            let page = store
                .event_list_in(&tenant(), "r", range, EventFilter::LogOf("b"))
                .await;
            let before = backward.first().map_or(u64::MAX, |event| event.seq);
            let range = Range::before(before, 53);
            let older = store
                .event_list_in(&tenant(), "r", range, EventFilter::LogOf("b"))
                .await;
            let (page, older) = (page.unwrap(), older.unwrap());
            assert_eq!(page.len(), older.len());
            if page.is_empty() {
                break;
            }
            forward.extend(page);
            backward.splice(0..0, older);
        }
        assert_eq!(forward, of_b);
        assert_eq!(backward, of_b);
    }
}

#[tokio::test]
async fn another_project_reads_no_lines() {
    for database in databases().await {
        let store = &database.store;
        append(&mut store.appender(LogQuota::NONE), vec![output("a", "x")]).await;
        let range = Range::before(u64::MAX, 10);
        for stranger in strangers() {
            let events = store
                .event_list_in(&stranger, "r", range, EventFilter::All)
                .await
                .unwrap();
            let lines = store
                .event_list_in(&stranger, "r", range, EventFilter::LogOf("a"))
                .await;
            assert!(events.is_empty() && lines.unwrap().is_empty());
            assert_eq!(store.event_last(&stranger, "r").await.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn output_above_a_quota_is_replaced_by_what_was_cut() {
    for database in databases().await {
        let line = LogQuota::LINE_BYTES + 10;
        let quota = LogQuota {
            step_bytes: 2 * line,
            project_bytes: 3 * line + 5,
        };
        let mut appender = database.store.appender(quota);
        let tens = |step: &str, count| vec![output(step, "ten bytes."); count];
        append(&mut appender, tens("a", 2)).await;
        // Another appender, as after a restart, knows what is stored.
        let mut appender = database.store.appender(quota);
        let mut shown = append(&mut appender, tens("a", 3)).await;
        shown.extend(append(&mut appender, vec![step_is("a", StepState::Succeeded)]).await);
        shown.extend(append(&mut appender, tens("b", 2)).await);
        let texts = texts(&shown);
        let [step, extent, fits, project] = texts[..] else {
            panic!("{texts:?}");
        };
        assert!(
            step.contains(&format!("limit of {} bytes", quota.step_bytes)),
            "{step}"
        );
        assert_eq!(extent, "3 lines (30 bytes) of output were not stored.");
        assert_eq!(fits, "ten bytes.");
        assert!(
            project.contains(&format!("limit of {} bytes", quota.project_bytes)),
            "{project}"
        );
        let stored = database.store.event_list(&tenant(), "r", 0, 100).await;
        assert_eq!(stored.unwrap()[2..], shown, "viewers see what is stored");
    }
}

#[tokio::test]
async fn moves_are_stored_in_the_reserve_of_the_disk_and_output_is_not() {
    for database in databases().await {
        let is_reserved = Arc::<AtomicBool>::default();
        let appender = database.store.appender(LogQuota::NONE);
        let mut appender = appender.with_reserve(is_reserved.clone());
        let mut shown = append(&mut appender, vec![output("a", "before")]).await;
        is_reserved.store(true, Ordering::Relaxed);
        let entries = vec![
            output("a", "during"),
            step_is("b", StepState::Succeeded),
            output("a", "during"),
        ];
        shown.extend(append(&mut appender, entries).await);
        is_reserved.store(false, Ordering::Relaxed);
        let entries = vec![output("a", "after"), step_is("a", StepState::Succeeded)];
        shown.extend(append(&mut appender, entries).await);

        let texts = texts(&shown);
        let [before, notice, after, extent] = texts[..] else {
            panic!("{texts:?}");
        };
        assert_eq!([before, after], ["before", "after"]);
        assert!(notice.contains("is almost full"), "{notice}");
        assert_eq!(extent, "2 lines (12 bytes) of output were not stored.");
        let is_move = |event: &&Event| matches!(event.body, EventBody::Step { .. });
        assert_eq!(shown.iter().filter(is_move).count(), 2);
        let stored = database.store.event_list(&tenant(), "r", 0, 100).await;
        assert_eq!(stored.unwrap(), shown, "viewers see what is stored");
    }
}

#[tokio::test]
async fn the_runs_of_a_project_share_its_quota_and_another_project_has_its_own() {
    for database in databases().await {
        let store = &database.store;
        let [stranger, _] = strangers();
        for (tenant, deployment, run) in [(tenant(), "e", "s"), (stranger.clone(), "f", "t")] {
            deployment_insert_with_run(store, &tenant, deployment, run).await;
        }
        let quota = LogQuota {
            step_bytes: u64::MAX,
            project_bytes: 2 * (LogQuota::LINE_BYTES + 10),
        };
        let mut appender = store.appender(quota);
        let mut shown = Vec::new();
        for (tenant, run) in [
            (tenant(), "r"),
            (tenant(), "s"),
            (tenant(), "s"),
            (stranger, "t"),
        ] {
            let write = Write {
                tenant,
                run: run.into(),
                fence: 0,
                entries: vec![output("a", "ten bytes.")],
            };
            shown.extend(appender.append(&[&write]).await.unwrap().remove(0).events);
        }
        let texts = texts(&shown);
        let [first, second, notice, other] = texts[..] else {
            panic!("{texts:?}");
        };
        assert_eq!([first, second, other], ["ten bytes."; 3]);
        assert!(notice.contains("this project"), "{notice}");
    }
}

#[tokio::test]
async fn old_logs_are_deleted_and_the_moves_stay() {
    for database in databases().await {
        let (store, operator) = (&database.store, &database.operator);
        let mut appender = store.appender(LogQuota::NONE);
        append(&mut appender, vec![run_is(RunState::Running, None)]).await;
        fill(&mut appender).await;
        let failed = run_is(RunState::Failed, Some(Ending::Failed));
        append(&mut appender, vec![failed]).await;
        let last = store.event_last(&tenant(), "r").await.unwrap().unwrap();

        let (long_ago, soon) = (Timestamp::UNIX_EPOCH, Timestamp::MAX);
        assert_eq!(operator.log_sweep(long_ago).await.unwrap(), 0);
        assert!(operator.log_bytes().await.unwrap() > 0);
        assert_eq!(operator.log_sweep(soon).await.unwrap(), 1);
        assert_eq!(operator.log_bytes().await.unwrap(), 0);
        assert_eq!(operator.log_sweep(soon).await.unwrap(), 0);
        let run = store.run_find(&tenant(), "r").await.unwrap().unwrap();
        assert!(run.shown.log_deleted.is_some());

        // The run is resumed: numbers go on, and readers pass the gap in both directions.
        append(
            &mut appender,
            vec![run_is(RunState::Running, None), output("a", "again")],
        )
        .await;
        let (mut forward, mut after) = (Vec::new(), 0);
        while let Some(event) = {
            let page = store.event_list(&tenant(), "r", after, 50).await.unwrap();
            forward.extend(page.clone());
            page.last().cloned()
        } {
            after = event.seq;
        }
        let (mut backward, mut before) = (Vec::new(), u64::MAX);
        while let Some(event) = {
            let range = Range::before(before, 50);
            let page = store
                .event_list_in(&tenant(), "r", range, EventFilter::All)
                .await
                .unwrap();
            backward.splice(0..0, page.clone());
            page.first().cloned()
        } {
            before = event.seq;
        }
        assert_eq!(forward, backward);
        assert_eq!(texts(&forward), ["again"]);
        assert_eq!((forward.len(), forward.last().unwrap().seq), (34, last + 2));
    }
}

/// The size of a line on the disk, as a row of `events` and in a segment.
#[tokio::test]
async fn a_line_on_the_disk_takes_a_fraction_of_a_row() {
    const LINES: u32 = 20_000;
    let text = |nth| {
        format!(
            "Get:{nth} http://apt.an.example/debian bookworm/main amd64 libexample{nth} amd64 1.{nth}-2 [{} kB]",
            nth * 37 % 991
        )
    };
    let database = Database::new().await;
    let run = "0197f3a0-0000-7000-8000-000000000000";
    deployment_insert_with_run(&database.store, &tenant(), "d", run).await;
    let empty = database.bytes().await;
    let mut appender = database.store.appender(LogQuota::NONE);
    // A step writes ten lines at a time.
    for ten in 0..LINES / 10 {
        let entries = (0..10).map(|nth| output("web:software", text(10 * ten + nth)));
        let write = Write {
            tenant: tenant(),
            run: run.into(),
            fence: 0,
            entries: entries.collect(),
        };
        appender.append(&[&write]).await.unwrap();
    }
    let segments = database.bytes().await - empty;
    let events = database.store.event_list(&tenant(), run, 0, LINES).await;
    let before = database.bytes().await;
    store::testing::event_insert_rows(&database.store, run, &events.unwrap()).await;
    let rows = database.bytes().await - before;
    for (name, bytes) in [("a row each", rows), ("segments", segments)] {
        let bytes = bytes as f64 / f64::from(LINES);
        println!("store, a log line on the disk, {name}\t{bytes:.1}\tbytes");
    }
    assert!(
        segments * 5 < rows,
        "{segments} bytes in segments, {rows} in rows"
    );
}
