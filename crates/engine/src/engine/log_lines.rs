//! The log lines of a run for a download.
//!
//! They are read a page at a time, when the reader asks for more, so that a log of any length needs little memory. Lines that
//! are stored after the first page was read are left out: a download of an active run ends.

use api::{Event, EventBody, LogLevel, LogLine, LogStream};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use store::{EventFilter, Range, Store};

use super::Engine;
use crate::{Error, Result, Tenant, slots::Slots};

/// Number of events that are read at once.
const PAGE: u32 = 2_000;

/// Log lines of a run. All of them by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Step of the lines. `None` for all steps.
    pub step: Option<String>,
    /// Streams of the lines. Empty for all streams.
    pub streams: Vec<LogStream>,
    /// Servers of the lines, by resource name. Empty for all servers, and for lines of none.
    pub hosts: Vec<String>,
    /// Lowest level of the lines. `None` for all levels.
    pub level: Option<LogLevel>,
    /// Only lines with a higher number.
    pub after: u64,
    /// Only lines with a lower number. `None` for all up to the end.
    pub before: Option<u64>,
}

impl LogFilter {
    /// True for a line of a stream, server and level of the filter. A line that has not ended never passes: its end follows.
    fn passes(&self, line: &LogLine) -> bool {
        let is_of_host =
            |hosts: &[String]| (line.host.as_ref()).is_some_and(|host| hosts.contains(host));
        !line.is_unfinished()
            && (self.streams.is_empty() || self.streams.contains(&line.stream))
            && (self.hosts.is_empty() || is_of_host(&self.hosts))
            && self.level.is_none_or(|level| line.level >= level)
    }
}

/// A reader of log lines.
struct Reader {
    store: Store,
    reads: Slots<Tenant>,
    tenant: Tenant,
    run: String,
    filter: LogFilter,
    /// Number of the last event that was read.
    at: u64,
    /// Number of the last event to read.
    end: u64,
}

impl Reader {
    /// The lines of the next page that pass the filter. `None` at the end.
    async fn next_page(&mut self) -> Result<Option<Vec<Event>>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let step = self.filter.step.as_deref();
        let kind = step.map_or(EventFilter::All, EventFilter::LogOf);
        let range = Range::after(self.at, PAGE);
        let _turn = self.reads.turn(&self.tenant).await;
        let page = self
            .store
            .event_list_in(&self.tenant, &self.run, range, kind);
        let mut page = page.await?;
        let Some(last) = page.last() else {
            return Ok(None);
        };
        self.at = last.seq;
        page.retain(|event| {
            event.seq <= self.end
                && matches!(&event.body, EventBody::Log(line) if self.filter.passes(line))
        });
        Ok(Some(page))
    }
}

impl Engine {
    /// The log lines of a run as of now, in order and in pieces.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn log_lines(
        &self,
        tenant: &Tenant,
        run: &str,
        filter: LogFilter,
    ) -> Result<BoxStream<'static, Result<Vec<Event>>>> {
        self.run_row(tenant, run).await?;
        let store = self.core.store.clone();
        let last = store.event_last(tenant, run).await?.unwrap_or_default();
        let end = (filter.before).map_or(last, |before| last.min(before.saturating_sub(1)));
        let reader = Reader {
            store,
            reads: self.core.event_reads.clone(),
            tenant: tenant.clone(),
            run: run.to_owned(),
            at: filter.after,
            end,
            filter,
        };
        let pages = stream::try_unfold(reader, |mut reader| async move {
            let page = reader.next_page().await?;
            Ok::<_, Error>(page.map(|page| (page, reader)))
        });
        Ok(pages.boxed())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use store::testing::{Database, strangers, tenant};

    use super::*;

    #[tokio::test]
    async fn downloads_of_a_project_take_turns_and_delay_no_other_project() {
        let database = Database::new().await;
        let reads = Slots::new(1);
        let download = |tenant: Tenant| Reader {
            store: database.store.clone(),
            reads: reads.clone(),
            tenant,
            run: "r".to_owned(),
            filter: LogFilter::default(),
            at: 0,
            end: 1,
        };
        let turn = reads.turn(&tenant()).await;
        let mut waiting = download(tenant());
        let mut page = pin!(waiting.next_page());
        let others = async {
            for stranger in strangers() {
                assert_eq!(download(stranger).next_page().await.unwrap(), None);
            }
        };
        tokio::select! {
            biased;
            page = &mut page => panic!("the project has no slot left: {page:?}"),
            () = others => {}
        }
        drop(turn);
        assert_eq!(page.await.unwrap(), None);
    }

    #[test]
    fn lines_pass_by_stream_server_and_level() {
        let line = |host: Option<&str>, stream, level, text: &str| LogLine {
            step: String::from("web:configure"),
            host: host.map(str::to_owned),
            play: None,
            task: None,
            stream,
            level,
            text: text.to_owned(),
            position: None,
        };
        let output = line(Some("web"), LogStream::Stdout, LogLevel::Info, "hello");
        let error = line(Some("db"), LogStream::Stderr, LogLevel::Warning, "no");
        let engine = line(None, LogStream::Engine, LogLevel::Error, "failed");
        let passed =
            |filter: &LogFilter| [&output, &error, &engine].map(|line| filter.passes(line));
        let all = LogFilter::default();
        assert_eq!(passed(&all), [true, true, true]);
        let of_programs = LogFilter {
            streams: vec![LogStream::Stdout, LogStream::Stderr],
            ..all.clone()
        };
        assert_eq!(passed(&of_programs), [true, true, false]);
        let of_servers = LogFilter {
            hosts: vec!["db".into(), "cache".into()],
            ..all.clone()
        };
        assert_eq!(passed(&of_servers), [false, true, false]);
        let of_level = LogFilter {
            level: Some(LogLevel::Warning),
            ..all.clone()
        };
        assert_eq!(passed(&of_level), [false, true, true]);
        let bar = line(None, LogStream::Stdout, LogLevel::Info, "45 %\r");
        assert!(!all.passes(&bar));
    }
}
