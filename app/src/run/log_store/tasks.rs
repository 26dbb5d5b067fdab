//! Ansible's tasks: groups of lines that can be folded, with their duration and results.

use std::collections::HashMap;

use api::{LogStream, ansi};

use super::{Line, LogStore};

/// Number of a task of a step.
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
        if self.lines == 0 {
            self.span_ms.0 = line.time_ms;
        }
        self.lines += 1;
        self.span_ms.1 = line.time_ms;
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
#[derive(Debug, Default)]
pub(super) struct Tasks {
    ids: HashMap<(u32, String, String), TaskId>,
    /// Names of play and task, by number.
    names: Vec<(String, String)>,
    tasks: Vec<Task>,
}

impl Tasks {
    pub(super) fn id(&mut self, step: u32, play: Option<&str>, task: &str) -> TaskId {
        let names = (play.unwrap_or_default().to_owned(), task.to_owned());
        let next = TaskId(self.tasks.len() as u32);
        let key = (step, names.0.clone(), names.1.clone());
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.names.push(names);
            self.tasks.push(Task::default());
        }
        id
    }

    pub(super) fn count(&mut self, line: &Line) {
        let task = line.task.and_then(|id| self.tasks.get_mut(id.0 as usize));
        if let Some(task) = task {
            task.add(line);
        }
    }

    pub(super) fn count_all(&mut self, lines: &[Line]) {
        self.tasks.fill(Task::default());
        for line in lines {
            self.count(line);
        }
    }
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

    /// Names of the play and the task of a line.
    pub(super) fn task_names(&self, line: &Line) -> Option<&(String, String)> {
        self.tasks.names.get(line.task?.0 as usize)
    }
}
