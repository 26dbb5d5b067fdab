//! Calls for runs and their events.

use api::{Event, HookRelease, LogHits, Plan, Run, RunContent};

use super::transport::{Answer, done, done_with, get, get_lines};
use crate::browser;

/// `GET /runs/{id}`.
pub async fn run(id: &str) -> Answer<Run> {
    get(&format!("/runs/{}", browser::encode(id))).await
}

/// `GET /runs/{id}/content`.
pub async fn run_content(id: &str) -> Answer<RunContent> {
    get(&format!("/runs/{}/content", browser::encode(id))).await
}

/// `GET /runs/{id}/plan`.
pub async fn run_plan(id: &str) -> Answer<Plan> {
    get(&format!("/runs/{}/plan", browser::encode(id))).await
}

/// `POST /runs/{id}/cancel`.
pub async fn run_cancel(id: &str) -> Answer<()> {
    done("POST", &format!("/runs/{}/cancel", browser::encode(id))).await
}

/// `POST /runs/{id}/resume`.
pub async fn run_resume(id: &str) -> Answer<()> {
    done("POST", &format!("/runs/{}/resume", browser::encode(id))).await
}

/// `POST /runs/{id}/release`: releases a run that waits at a hook.
pub async fn run_release(id: &str, step: &str) -> Answer<()> {
    let path = format!("/runs/{}/release", browser::encode(id));
    let hook = HookRelease {
        step: step.to_owned(),
    };
    done_with("POST", &path, &hook).await
}

/// `GET /runs/{id}/events`: the first events after a number, or the first log lines of a step.
pub async fn events_after(
    run: &str,
    after: u64,
    limit: u32,
    step: Option<&str>,
) -> Answer<Vec<Event>> {
    let step = of_step(step);
    get(&format!(
        "/runs/{}/events?after={after}&limit={limit}{step}",
        browser::encode(run)
    ))
    .await
}

/// `GET /runs/{id}/events`, backward: the last events before a number, or the last log lines of a step.
pub async fn events_before(
    run: &str,
    before: u64,
    limit: u32,
    step: Option<&str>,
) -> Answer<Vec<Event>> {
    let step = of_step(step);
    get(&format!(
        "/runs/{}/events?before={before}&limit={limit}{step}",
        browser::encode(run)
    ))
    .await
}

/// `GET /runs/{id}/search`
pub async fn search_log(run: &str, text: &str, before: u64, step: Option<&str>) -> Answer<LogHits> {
    let step = of_step(step);
    get(&format!(
        "/runs/{}/search?text={}&before={before}{step}",
        browser::encode(run),
        browser::encode(text)
    ))
    .await
}

/// The parameter `step` of a query, or nothing.
fn of_step(step: Option<&str>) -> String {
    step.map(|step| format!("&step={}", browser::encode(step)))
        .unwrap_or_default()
}

/// The address of the log as a file: `format` is `text` or `json`, `filter` a query that chooses lines.
pub fn log_file(run: &str, format: &str, filter: &str) -> String {
    format!(
        "/api/v1/runs/{}/log?format={format}{filter}",
        browser::encode(run)
    )
}

/// `GET /runs/{id}/log`: the first lines of a filter, at most `limit`.
pub async fn log_lines(run: &str, filter: &str, limit: usize) -> Answer<Vec<Event>> {
    get_lines(&format!(
        "/runs/{}/log?format=json&limit={limit}{filter}",
        browser::encode(run)
    ))
    .await
}

/// `GET /runs/{id}/events`, without log lines.
pub async fn moves(run: &str, after: u64, limit: u32) -> Answer<Vec<Event>> {
    get(&format!(
        "/runs/{}/events?moves=true&after={after}&limit={limit}",
        browser::encode(run)
    ))
    .await
}
