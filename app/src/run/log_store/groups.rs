//! Ansible's plays and tasks: groups of lines that can be folded, with their duration and results. A play of a step runs on
//! one server, so it is the server's group, too.

use std::collections::HashMap;

use api::{LogStream, ansi};

use super::{Line, LogStore};

/// Number of a play or task of a step. One that begins again, such as a task of a role that is used twice, has another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupId {
    /// A play.
    Play(u32),
    /// A task of a play.
    Task(u32),
}

impl GroupId {
    fn number(self) -> u32 {
        match self {
            GroupId::Play(number) | GroupId::Task(number) => number,
        }
    }

    /// Same kind of group with another number.
    fn with(self, number: u32) -> GroupId {
        match self {
            GroupId::Play(_) => GroupId::Play(number),
            GroupId::Task(_) => GroupId::Task(number),
        }
    }

    /// Name of the kind of group.
    pub fn word(self) -> &'static str {
        match self {
            GroupId::Play(_) => "play",
            GroupId::Task(_) => "task",
        }
    }

    fn heading(self) -> &'static str {
        match self {
            GroupId::Play(_) => "PLAY [",
            GroupId::Task(_) => "TASK [",
        }
    }
}

/// Facts about a play or task, from its loaded lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
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
    /// True if its heading is loaded. Otherwise lines are missing at its beginning.
    pub has_heading: bool,
}

impl Group {
    /// Facts in words: `2 changed, 1 failed, 12 lines`, or `12 lines loaded` if others are missing.
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
            let loaded = if self.has_heading { "" } else { " loaded" };
            parts.push(format!("{} lines{loaded}", self.lines));
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

/// All plays and tasks with loaded lines.
///
/// Lines have the names of their play and task. A group of a name begins with its heading, and has the lines up to the next
/// heading of this name.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Numbers of the names of step, play and task. A play's name has no task.
    names: HashMap<(u32, String, Option<String>), u32>,
    /// Numbers of groups by the number of their name and the number of their heading's event, which is 0 if it is not loaded.
    numbers: HashMap<(u32, u64), u32>,
    groups: Vec<Group>,
    /// Numbers of the groups' names.
    name_of: Vec<u32>,
    /// The last heading of each name, by the number of its event.
    headings: HashMap<u32, u64>,
}

impl Groups {
    /// A play whose heading is not known yet. See [`Groups::count`].
    pub(super) fn play(&mut self, step: u32, play: &str) -> GroupId {
        GroupId::Play(self.named(step, play, None))
    }

    /// A task whose heading is not known yet. See [`Groups::count`].
    pub(super) fn task(&mut self, step: u32, play: Option<&str>, task: &str) -> GroupId {
        GroupId::Task(self.named(step, play.unwrap_or_default(), Some(task)))
    }

    fn named(&mut self, step: u32, play: &str, task: Option<&str>) -> u32 {
        let key = (step, play.to_owned(), task.map(str::to_owned));
        let next = self.names.len() as u32;
        let name = *self.names.entry(key).or_insert(next);
        self.begun(name, 0)
    }

    fn begun(&mut self, name: u32, heading: u64) -> u32 {
        let next = self.groups.len() as u32;
        let number = *self.numbers.entry((name, heading)).or_insert(next);
        if number == next {
            self.groups.push(Group::default());
            self.name_of.push(name);
        }
        number
    }

    /// Counts a line that follows all counted ones, and gives it the numbers of its play and task.
    pub(super) fn count(&mut self, line: &mut Line) {
        line.play = line.play.map(|play| self.count_in(play, line));
        line.task = line.task.map(|task| self.count_in(task, line));
    }

    fn count_in(&mut self, group: GroupId, line: &Line) -> GroupId {
        let Some(name) = self.name_of.get(group.number() as usize).copied() else {
            return group;
        };
        if line.stream == LogStream::Ansible && line.text.starts_with(group.heading()) {
            self.headings.insert(name, line.seq);
        }
        let heading = self.headings.get(&name).copied().unwrap_or_default();
        let number = self.begun(name, heading);
        if let Some(facts) = self.groups.get_mut(number as usize) {
            facts.has_heading = heading > 0;
            facts.add(line);
        }
        group.with(number)
    }

    /// Counts all lines again.
    pub(super) fn count_all(&mut self, lines: &mut [Line]) {
        self.groups.fill(Group::default());
        self.headings.clear();
        for line in lines {
            self.count(line);
        }
    }
}

impl LogStore {
    /// The play or task whose first line in the view is the line with this index, with what is known about it. If the line is
    /// the first one of both, it is the task, unless the play is folded.
    pub fn group_at(&self, place: usize) -> Option<(GroupId, &Group)> {
        let at = *self.view.get(place)?;
        let line = self.lines.get(at as usize)?;
        let is_head = |group: &GroupId| self.heads.get(group) == Some(&at);
        let (play, task) = (line.play.filter(is_head), line.task.filter(is_head));
        let id = play
            .filter(|play| task.is_none() || self.is_folded(*play))
            .or(task)?;
        let group = self.groups.groups.get(id.number() as usize)?;
        (group.lines > 1).then_some((id, group))
    }

    /// True if only the first line of the group is in the view.
    pub fn is_folded(&self, group: GroupId) -> bool {
        self.settings.folds.hides(group)
    }

    /// True if some loaded lines belong to a play or task.
    pub fn has_groups(&self) -> bool {
        !self.groups.groups.is_empty()
    }
}
