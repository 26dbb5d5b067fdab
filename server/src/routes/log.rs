//! The log of a run as a file.
//!
//! The lines are read from storage as the client takes them, so a log of any length needs little memory. A download counts as
//! one of the project's live streams while it lasts.

use api::{Event, EventBody, LogLevel, LogStream};
use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::header,
    response::{IntoResponse, Response},
};
use engine::LogFilter;
use futures::{StreamExt, TryStreamExt};
use serde::{Deserialize, de::DeserializeOwned};

use super::stream;
use crate::{
    auth::Caller,
    codes,
    extract::Query,
    problem::{Error, Result},
    services::Services,
};

/// Format of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// Time, step and text.
    #[default]
    Text,
    /// An event as JSON.
    Json,
}

/// `?format=json&step=ID&stream=stdout,stderr&host=web,db&level=warning&after=N&before=N&limit=N`
#[derive(Deserialize)]
pub struct LogQuery {
    #[serde(default)]
    format: Format,
    step: Option<String>,
    /// Names of streams, with commas in between.
    #[serde(default)]
    stream: String,
    /// Names of servers, with commas in between.
    #[serde(default)]
    host: String,
    level: Option<LogLevel>,
    #[serde(default)]
    after: u64,
    before: Option<u64>,
    limit: Option<usize>,
}

impl LogQuery {
    fn filter(&self) -> Result<LogFilter> {
        let streams = list(&self.stream).map(|name| word(name).ok_or(name));
        let streams = streams.collect::<Result<Vec<LogStream>, &str>>();
        let streams = streams.map_err(|name| {
            Error::new(
                codes::INVALID_REQUEST,
                format!("`stream` names `{name}`, which is no stream."),
            )
            .hint("Streams are `engine`, `ansible`, `stdout`, `stderr` and `console`, with commas in between.")
        })?;
        Ok(LogFilter {
            step: self.step.clone(),
            streams,
            hosts: list(&self.host).map(str::to_owned).collect(),
            level: self.level,
            after: self.after,
            before: self.before,
        })
    }
}

fn list(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').filter(|name| !name.is_empty())
}

/// A value of an enum by its name in JSON.
fn word<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(name.into()).ok()
}

/// The log lines of a run as a file: all, or those of a filter.
///
/// `format=text` (the default) has a line of time, step and text each, with colours and other control characters as the
/// program wrote them. `format=json` has an event a line, as in `/events`. `step`, `stream`, `host` and `level` (the lowest
/// one) choose lines; `stream` and `host` take several names with commas in between. `after`, `before` and `limit` are a range
/// of numbers and a number of lines. Lines that a program has not ended are left out, and of an active run those that come
/// later.
#[utoipa::path(get, path = "/api/v1/runs/{id}/log", tag = "runs", params(("id" = String, Path), ("format" = Option<String>, Query, description = "`text` or `json`."), ("step" = Option<String>, Query), ("stream" = Option<String>, Query), ("host" = Option<String>, Query), ("level" = Option<LogLevel>, Query), ("after" = Option<u64>, Query), ("before" = Option<u64>, Query), ("limit" = Option<u64>, Query)), responses((status = 200, body = String, content_type = "text/plain")))]
pub async fn download(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<LogQuery>,
) -> Result<Response> {
    let pages = services
        .engine
        .log_lines(caller.tenant(), &id, query.filter()?);
    let pages = pages.await?;
    let slot = stream::slot(&services, caller.tenant())?;
    let (media_type, ending) = match query.format {
        Format::Text => ("text/plain; charset=utf-8", "log"),
        Format::Json => ("application/jsonl", "jsonl"),
    };
    let name = query.step.as_deref().unwrap_or("run");
    let headers = [
        (header::CONTENT_TYPE, media_type.to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}.{ending}\"", file_name(name)),
        ),
    ];
    let mut left = query.limit.unwrap_or(usize::MAX);
    let format = query.format;
    let pages = pages.map_err(|error| {
        // The client sees a download that broke off.
        tracing::warn!(%error, "the download of a log ends early");
        std::io::Error::other(error)
    });
    let parts = pages.map_ok(move |page| {
        let text = text_of(&page[..page.len().min(left)], format);
        left = left.saturating_sub(page.len());
        (Bytes::from(text), left > 0)
    });
    // The part that reaches the limit is the last one.
    let mut is_over = false;
    let parts = parts.take_while(move |part| {
        let is_taken = !is_over;
        is_over = matches!(part, Ok((_, false)));
        std::future::ready(is_taken)
    });
    // The stream owns the slot, until the download ends.
    let parts = parts.map_ok(move |(part, _)| {
        let _held = &slot;
        part
    });
    Ok((headers, Body::from_stream(parts)).into_response())
}

/// Letters, digits, dashes and dots of a step's id.
fn file_name(step: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_');
    step.replace(|letter: char| !is_plain(letter), "-")
}

fn text_of(page: &[Event], format: Format) -> String {
    let mut text = String::new();
    for event in page {
        let EventBody::Log(line) = &event.body else {
            continue;
        };
        match format {
            Format::Text => {
                for part in [event.time.as_str(), "  ", &line.step, "  ", &line.text] {
                    text.push_str(part);
                }
            }
            Format::Json => {
                text.push_str(&serde_json::to_string(event).expect("an event is JSON"));
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use api::LogLine;

    use super::*;

    #[test]
    fn a_file_has_the_lines_as_the_program_wrote_them() {
        let line = Event {
            seq: 7,
            time: "2026-01-01T00:00:02.000Z".into(),
            body: EventBody::Log(LogLine {
                step: "web:configure".into(),
                host: Some("web".into()),
                play: None,
                task: None,
                stream: LogStream::Stdout,
                level: LogLevel::Info,
                text: "\u{1b}[32mok\u{1b}[0m 10 %\r100 %".into(),
                position: None,
            }),
        };
        let page = [line];
        assert_eq!(
            text_of(&page, Format::Text),
            "2026-01-01T00:00:02.000Z  web:configure  \u{1b}[32mok\u{1b}[0m 10 %\r100 %\n"
        );
        let json = text_of(&page, Format::Json);
        let [read]: [Event; 1] = serde_json::Deserializer::from_str(&json)
            .into_iter::<Event>()
            .collect::<Result<Vec<_>, _>>()
            .unwrap()
            .try_into()
            .unwrap();
        assert_eq!(read, page[0]);
        assert_eq!(
            file_name("web:configure \"x\"/../é"),
            "web-configure--x--..--"
        );
    }
}
