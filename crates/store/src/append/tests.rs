//! Numbers without gaps, whoever appends and whatever is lost.

use api::{LogLevel, LogLine, LogStream};

use super::*;
use crate::testing::{BreakingWay, Database, Lost, deployment_insert_with_run, strangers, tenant};

fn lines(count: usize) -> Write {
    let line = |number| {
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
    };
    Write {
        tenant: tenant(),
        run: "r".into(),
        fence: 0,
        entries: (0..count).map(line).collect(),
    }
}

/// Databases with a deployment `d` and a run `r`.
async fn databases() -> [Database; 2] {
    let databases = Database::each().await;
    for Database { store, .. } in &databases {
        begin(store).await;
    }
    databases
}

async fn begin(store: &Store) {
    deployment_insert_with_run(store, &tenant(), "d", "r").await;
}

#[tokio::test]
async fn two_appenders_share_the_numbers_of_a_run() {
    for database in databases().await {
        let mut appenders = [
            database.store.appender(LogQuota::NONE),
            database.store.appender(LogQuota::NONE),
        ];
        for round in 0..6 {
            let appender = &mut appenders[round % 2];
            let stored = appender.append(&[&lines(2), &lines(1)]).await.unwrap();
            assert_eq!((stored.len(), stored[0].events.len()), (1, 3));
        }
        let events = database.store.event_list(&tenant(), "r", 0, 100).await;
        let numbers: Vec<u64> = events.unwrap().iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (1..=18).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_run_of_another_tenant_is_not_written_to() {
    for database in databases().await {
        let mut appender = database.store.appender(LogQuota::NONE);
        appender.append(&[&lines(1)]).await.unwrap();
        for tenant in strangers() {
            let write = Write { tenant, ..lines(1) };
            assert!(appender.append(&[&write]).await.is_err());
        }
        let events = database.store.event_list(&tenant(), "r", 0, 100).await;
        assert_eq!(events.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_batch_whose_commit_breaks_is_stored_once() {
    for lost in [Lost::Question, Lost::Answer] {
        let way = BreakingWay::new().await;
        let store = way.operator.store();
        begin(store).await;
        let mut appender = store.appender(LogQuota::NONE);
        appender.append(&[&lines(1)]).await.unwrap();
        way.break_at_commit(lost);
        let stored = appender.append(&[&lines(2), &lines(1)]).await.unwrap();
        assert!(way.has_broken());
        let numbers: Vec<u64> = stored[0].events.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, [2, 3, 4]);
        appender.append(&[&lines(1)]).await.unwrap();
        let events = store.event_list(&tenant(), "r", 0, 100).await.unwrap();
        let text = |event: &Event| match &event.body {
            EventBody::Log(line) => line.text.clone(),
            other => panic!("{other:?}"),
        };
        let texts: Vec<String> = events.iter().map(text).collect();
        assert_eq!(texts, ["line 0", "line 0", "line 1", "line 0", "line 0"]);
    }
}

#[tokio::test]
async fn a_batch_that_is_given_up_in_its_commit_is_stored_once() {
    let way = BreakingWay::new().await;
    let store = way.operator.store();
    begin(store).await;
    let mut appender = store.appender(LogQuota::NONE);
    appender.append(&[&lines(1)]).await.unwrap();
    way.break_at_commit(Lost::AnswerForGood);
    let is_committing = async {
        while !way.has_broken() {
            tokio::task::yield_now().await;
        }
    };
    let (one, two) = (lines(1), lines(2));
    let batch = [&two, &one];
    tokio::select! {
        stored = appender.append(&batch) => panic!("{stored:?}"),
        () = is_committing => {}
    }
    let stored = appender.append(&batch).await.unwrap();
    let numbers: Vec<u64> = stored[0].events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, [2, 3, 4]);
    let events = store.event_list(&tenant(), "r", 0, 100).await.unwrap();
    assert_eq!(events.len(), 4);
}
