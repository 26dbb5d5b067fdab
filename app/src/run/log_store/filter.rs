//! The filter of a view: which of the loaded lines it has.

use std::collections::HashSet;

use api::{LogLevel, LogStream};

use super::{Line, LogStore, TaskId};

/// Filter and layout of a view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewSettings {
    /// Step of the lines. `None` for all steps.
    pub step: Option<String>,
    /// Sources, level and server of the lines.
    pub filter: Filter,
    /// Tasks of which only the first line is in the view.
    pub folds: Folds,
    /// Search text in lower case. Its hits are counted and marked.
    pub needle: String,
    /// Characters per row. `None` disables wrapping.
    pub wrap: Option<u32>,
}

/// Lines by source, level and server. All of them by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Sources whose lines are hidden.
    pub hidden: Vec<Source>,
    /// True for warnings and errors only.
    pub only_problems: bool,
    /// Server of the lines, by resource name. `None` for all servers, and for lines of none.
    pub host: Option<String>,
}

impl Filter {
    /// True if all lines pass.
    pub fn is_empty(&self) -> bool {
        *self == Filter::default()
    }
}

/// Source of lines, as a user distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Programs on servers: standard output and standard error.
    Programs,
    /// Ansible's plays, tasks and results.
    Ansible,
    /// Stackloom itself.
    Engine,
    /// Consoles of servers.
    Console,
}

impl Source {
    /// All sources.
    pub const ALL: [Source; 4] = [
        Source::Programs,
        Source::Ansible,
        Source::Engine,
        Source::Console,
    ];

    /// Source of a stream.
    pub fn of(stream: LogStream) -> Source {
        match stream {
            LogStream::Stdout | LogStream::Stderr => Source::Programs,
            LogStream::Ansible => Source::Ansible,
            LogStream::Engine => Source::Engine,
            LogStream::Console => Source::Console,
        }
    }

    /// Name in the filter's menu.
    pub fn title(self) -> &'static str {
        match self {
            Source::Programs => "Output of programs",
            Source::Ansible => "Ansible",
            Source::Engine => "Stackloom",
            Source::Console => "Consoles of servers",
        }
    }
}

/// Folded tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    /// True if tasks are folded, apart from those in `others`.
    pub all: bool,
    /// Tasks for which the opposite of `all` holds.
    pub others: HashSet<TaskId>,
}

impl Folds {
    /// True if only the first line of the task is in the view.
    pub fn hides(&self, task: TaskId) -> bool {
        self.all != self.others.contains(&task)
    }

    /// Folds a task, or unfolds it.
    pub fn toggle(&mut self, task: TaskId) {
        if !self.others.remove(&task) {
            self.others.insert(task);
        }
    }
}

impl LogStore {
    pub(super) fn passes(&self, line: &Line) -> bool {
        let filter = &self.settings.filter;
        let is_of_host = filter.host.as_deref().is_none_or(|host| {
            line.host
                .is_some_and(|number| self.hosts.name(number) == host)
        });
        is_of_host
            && (!filter.only_problems || line.level >= LogLevel::Warning)
            && !filter.hidden.contains(&Source::of(line.stream))
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
