//! Ansible's tasks: groups of lines that can be folded, with their duration and results.

use std::collections::HashMap;

use api::{LogStream, ansi};

use super::{Line, LogStore};

/// Number of a task of a step. A task that begins again, such as a role's that is used twice, has another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId(u32);

/// Facts about a task, from its loaded lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Number of lines.
    pub lines: usize,
    /// Times of the first and the last line, in milliseconds since 1970.
    pub span_ms: (f64, f64),
    /// Results that changed nothing.
    pub ok: usize,
    /// Results that changed something.
    pub changed: usize,
    /// Failures, also of servers that could not be reached.
    pub failed: usize,
}

impl Task {
    /// Facts in words: `2 changed, 1 failed, 12 lines`.
    pub fn summary(&self) -> String {
        let results = [
            (self.failed, "failed"),
            (self.changed, "changed"),
            (self.ok, "ok"),
        ];
        let mut parts: Vec<String> = results
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        if self.lines > 1 {
            parts.push(format!("{} lines", self.lines));
        }
        parts.join(", ")
    }

    fn add(&mut self, line: &Line) {
        if self.span_ms.0 <= 0.0 {
            self.span_ms.0 = line.time_ms;
        }
        self.span_ms.1 = line.time_ms;
        // The end of the line follows.
        if line.is_unfinished {
            return;
        }
        self.lines += 1;
        if line.stream == LogStream::Ansible {
            let text = ansi::plain(&line.text);
            match text.split_once(": [").map(|(status, _)| status) {
                Some("ok") => self.ok += 1,
                Some("changed") => self.changed += 1,
                Some("failed" | "unreachable") => self.failed += 1,
                _ => {}
            }
        }
    }
}

/// All tasks with loaded lines.
///
/// Lines have the names of their play and task. A task of a name begins with its heading, and has the lines up to the next
/// heading of this name.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// Numbers of the names of step, play and task.
    names: HashMap<(u32, String, String), u32>,
    /// Tasks by the number of their name and the number of their heading's event, which is 0 if it is not loaded.
    ids: HashMap<(u32, u64), TaskId>,
    tasks: Vec<Task>,
    /// Numbers of the tasks' names.
    name_of: Vec<u32>,
    /// The last heading of each name, by the number of its event.
    headings: HashMap<u32, u64>,
}

impl Tasks {
    /// Number of a task whose heading is not known yet. See [`Tasks::count`].
    pub(super) fn id(&mut self, step: u32, play: Option<&str>, task: &str) -> TaskId {
        let key = (step, play.unwrap_or_default().to_owned(), task.to_owned());
        let next = self.names.len() as u32;
        let name = *self.names.entry(key).or_insert(next);
        self.begun(name, 0)
    }

    fn begun(&mut self, name: u32, heading: u64) -> TaskId {
        let next = TaskId(self.tasks.len() as u32);
        let id = *self.ids.entry((name, heading)).or_insert(next);
        if id == next {
            self.tasks.push(Task::default());
            self.name_of.push(name);
        }
        id
    }

    /// Counts a line that follows all counted ones, and gives it the number of its task.
    pub(super) fn count(&mut self, line: &mut Line) {
        let name = line.task.and_then(|id| self.name_of.get(id.0 as usize));
        let Some(name) = name.copied() else {
            return;
        };
        if is_heading(line) {
            self.headings.insert(name, line.seq);
        }
        let heading = self.headings.get(&name).copied().unwrap_or_default();
        let id = self.begun(name, heading);
        line.task = Some(id);
        if let Some(task) = self.tasks.get_mut(id.0 as usize) {
            task.add(line);
        }
    }

    /// Counts all lines again.
    pub(super) fn count_all(&mut self, lines: &mut [Line]) {
        self.tasks.fill(Task::default());
        self.headings.clear();
        for line in lines {
            self.count(line);
        }
    }
}

fn is_heading(line: &Line) -> bool {
    line.stream == LogStream::Ansible && line.text.starts_with("TASK [")
}

impl LogStore {
    /// The task whose first line in the view is the line with this index, with what is known about it.
    pub fn task_at(&self, place: usize) -> Option<(TaskId, &Task)> {
        let at = *self.view.get(place)?;
        let id = self.lines.get(at as usize)?.task?;
        let is_head = self.heads.get(&id) == Some(&at);
        let task = self.tasks.tasks.get(id.0 as usize)?;
        (is_head && task.lines > 1).then_some((id, task))
    }

    /// True if only the first line of the task is in the view.
    pub fn is_folded(&self, task: TaskId) -> bool {
        self.settings.folds.hides(task)
    }

    /// True if some loaded lines belong to a task.
    pub fn has_tasks(&self) -> bool {
        !self.tasks.tasks.is_empty()
    }
}
