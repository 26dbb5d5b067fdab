//! The filter of a view: which of the loaded lines it has.

use std::{collections::HashSet, ops::RangeInclusive};

use api::{LogLevel, LogStream};

use super::{GroupId, Line, LogStore};
use crate::browser;

/// Filter and layout of a view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewSettings {
    /// Step of the lines. `None` for all steps.
    pub step: Option<String>,
    /// Streams, level and servers of the lines.
    pub filter: Filter,
    /// Plays and tasks of which only the first line is in the view.
    pub folds: Folds,
    /// Search text in lower case. Its hits are counted and marked.
    pub needle: String,
    /// Characters per row. `None` disables wrapping.
    pub wrap: Option<u32>,
}

/// Lines by stream, level and server. All of them by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Streams whose lines are hidden.
    pub hidden: Vec<LogStream>,
    /// Lowest level of the lines. `None` for all levels.
    pub level: Option<LogLevel>,
    /// Servers of the lines, by resource name. Empty for all servers, and for lines of none.
    pub hosts: Vec<String>,
}

/// All streams, in the order of the filter's menu.
pub const STREAMS: [LogStream; 5] = [
    LogStream::Stdout,
    LogStream::Stderr,
    LogStream::Ansible,
    LogStream::Engine,
    LogStream::Console,
];

/// Name of a stream in the filter's menu.
pub fn stream_title(stream: LogStream) -> &'static str {
    match stream {
        LogStream::Stdout => "Output of programs",
        LogStream::Stderr => "Errors of programs",
        LogStream::Ansible => "Ansible",
        LogStream::Engine => "Stackloom",
        LogStream::Console => "Consoles of servers",
    }
}

/// Name of a stream in the API.
fn stream_word(stream: LogStream) -> &'static str {
    match stream {
        LogStream::Stdout => "stdout",
        LogStream::Stderr => "stderr",
        LogStream::Ansible => "ansible",
        LogStream::Engine => "engine",
        LogStream::Console => "console",
    }
}

impl Filter {
    /// True if all lines pass.
    pub fn is_empty(&self) -> bool {
        *self == Filter::default()
    }

    /// The filter of an address. `value` returns the value of a field of its query, which has the names and words of
    /// [`Filter::query`].
    pub fn of_query(value: impl Fn(&str) -> Option<String>) -> Filter {
        let hidden = value("stream").map(|shown| {
            let is_hidden = |stream: &LogStream| {
                let word = stream_word(*stream);
                shown.split(',').all(|shown| shown != word)
            };
            STREAMS.into_iter().filter(is_hidden).collect()
        });
        let level = match value("level").as_deref() {
            Some("info") => Some(LogLevel::Info),
            Some("warning") => Some(LogLevel::Warning),
            Some("error") => Some(LogLevel::Error),
            _ => None,
        };
        let hosts = value("host").map(|hosts| hosts.split(',').map(str::to_owned).collect());
        Filter {
            hidden: hidden.unwrap_or_default(),
            level,
            hosts: hosts.unwrap_or_default(),
        }
    }

    /// The lines of this filter, of one step or of all and with these numbers or all, as a query of `GET /runs/{id}/log`.
    /// Begins with `&`, unless it is empty.
    pub fn query(&self, step: Option<&str>, numbers: Option<RangeInclusive<u64>>) -> String {
        let mut query = String::new();
        let mut add = |name: &str, value: &str| {
            for part in ["&", name, "=", &browser::encode(value)] {
                query.push_str(part);
            }
        };
        if let Some(step) = step {
            add("step", step);
        }
        if !self.hidden.is_empty() {
            let shown = STREAMS
                .iter()
                .filter(|stream| !self.hidden.contains(stream));
            let shown: Vec<&str> = shown.map(|stream| stream_word(*stream)).collect();
            add("stream", &shown.join(","));
        }
        // An empty list of streams would mean all of them.
        let hides_all = STREAMS.iter().all(|stream| self.hidden.contains(stream));
        if hides_all {
            add("before", "1");
        } else if let Some(numbers) = numbers {
            add("after", &numbers.start().saturating_sub(1).to_string());
            add("before", &numbers.end().saturating_add(1).to_string());
        }
        match self.level {
            None | Some(LogLevel::Debug) => {}
            Some(LogLevel::Info) => add("level", "info"),
            Some(LogLevel::Warning) => add("level", "warning"),
            Some(LogLevel::Error) => add("level", "error"),
        }
        if !self.hosts.is_empty() {
            add("host", &self.hosts.join(","));
        }
        query
    }
}

/// Folded plays and tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    /// True if plays are folded, apart from those in `others`.
    pub all_plays: bool,
    /// True if tasks are folded, apart from those in `others`.
    pub all_tasks: bool,
    /// Plays and tasks for which the opposite holds.
    pub others: HashSet<GroupId>,
}

impl Folds {
    /// True if only the first line of the group is in the view.
    pub fn hides(&self, group: GroupId) -> bool {
        let all = match group {
            GroupId::Play(_) => self.all_plays,
            GroupId::Task(_) => self.all_tasks,
        };
        all != self.others.contains(&group)
    }

    /// Folds a group, or unfolds it.
    pub fn toggle(&mut self, group: GroupId) {
        if !self.others.remove(&group) {
            self.others.insert(group);
        }
    }
}

impl LogStore {
    pub(super) fn passes(&self, line: &Line) -> bool {
        let filter = &self.settings.filter;
        let is_of_host = |number: u32| {
            filter
                .hosts
                .iter()
                .any(|host| self.hosts.name(number) == host)
        };
        (filter.hosts.is_empty() || line.host.is_some_and(is_of_host))
            && filter.level.is_none_or(|level| line.level >= level)
            && !filter.hidden.contains(&line.stream)
    }

    /// Number of loaded lines of the view's step that its filter hides.
    pub fn filtered(&self) -> usize {
        self.filtered
    }

    /// Servers with lines, by resource name.
    pub fn hosts(&self) -> Vec<String> {
        let mut hosts = self.hosts.names.clone();
        hosts.sort();
        hosts
    }
}
