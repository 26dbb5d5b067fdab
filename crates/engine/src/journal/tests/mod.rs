//! Event numbers without gaps, and viewers that miss no events.

use std::{sync::Arc, time::Duration};

use api::{DeploymentState, Event, LogLevel, LogLine, LogStream, RunState};
use serde_json::json;

use store::{
    Ending,
    testing::{Database, tenant},
};

use super::{stream::Viewer, *};

mod servers;
mod viewers;
mod writes;

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
        Arc::default(),
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
        deployment: Some(DeploymentState::Running),
    }
}

fn is_dense(events: &[Event]) -> bool {
    events
        .iter()
        .enumerate()
        .all(|(index, event)| event.seq == index as u64 + 1)
}

/// A viewer who has read all stored events and waits for live ones.
fn live_viewer(journal: &Journal, seen: u64) -> Viewer {
    let mut viewer = journal.viewer(&tenant(), "r", seen);
    viewer.behind = false;
    viewer
}
