//! The loaded log lines of a run, and the part of them that is on the screen. Pure.
//!
//! A run is read from its end: all lines from a number on are here, and for some steps older ones, too. A [`window`] far
//! before them may be here as well. Lines are stored once, in order. A view is a list of the line numbers that pass the
//! filter and are not folded away with their play or task. Its heights are counted in rows of text, so that every line has a
//! known position, wrapped or not, and a million lines do not need a million elements.

mod filter;
mod groups;
mod search;
#[cfg(test)]
mod tests;
mod text;
mod unfinished;
mod window;

use std::{collections::HashMap, ops::Range};

use api::{Event, EventBody, LogLevel, LogStream, ansi};

pub use self::{
    filter::{Filter, Folds, STREAMS, ViewSettings, stream_title},
    groups::{Group, GroupId},
    text::plain_text,
};
use self::{groups::Groups, search::OlderHits, unfinished::Unfinished};

/// One log line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Number of the event.
    pub seq: u64,
    /// Time, in milliseconds since 1970.
    pub time_ms: f64,
    /// Number of the step of this line; see [`LogStore::step_name`].
    pub step: u32,
    /// Ansible's play, if the line belongs to one.
    play: Option<GroupId>,
    /// Ansible's task, if the line belongs to one.
    task: Option<GroupId>,
    /// Number of the server; see [`LogStore::hosts`].
    host: Option<u32>,
    /// Output stream.
    pub stream: LogStream,
    /// The log level.
    pub level: LogLevel,
    /// True if the program had not ended the line. The next line of the step, server and stream takes its place.
    is_unfinished: bool,
    /// True if another line has taken its place. It is in no view.
    is_replaced: bool,
    /// Text with its escape sequences.
    pub text: Box<str>,
    /// Width in characters.
    pub columns: u32,
}

/// All lines, and the current view.
#[derive(Debug, Default)]
pub struct LogStore {
    lines: Vec<Line>,
    /// Index of each step's last line, by the step's number.
    last_of_step: HashMap<u32, u32>,
    /// All lines from this number on are here. 0 and 1 mean all lines of the run.
    from: u64,
    /// For some steps, all lines from this number on are here.
    from_of_step: HashMap<String, u64>,
    /// Older lines that the view has instead of those at the end: all of this range, of the view's step or of all.
    window: Option<Range<u64>>,
    steps: Names,
    hosts: Names,
    groups: Groups,
    unfinished: Unfinished,
    settings: ViewSettings,
    /// Indices into `lines` of the lines that pass the filter.
    view: Vec<u32>,
    /// First row of each line in `view`, if lines wrap.
    rows: Vec<u32>,
    row_count: u32,
    widest: u32,
    /// Numbers of the lines with a hit, of those at the end.
    hits: Vec<u64>,
    /// Hits in older lines, which are not loaded.
    older_hits: OlderHits,
    /// The first line of each play and task in the view.
    heads: HashMap<GroupId, u32>,
    /// Number of lines that the filter hides.
    filtered: usize,
    /// Number of changes of the lines' indices in the view, other than by the settings.
    insertions: u32,
    /// Rows by which they have moved the lines of the view, all together.
    moved: u32,
}

/// Names by their number, in the order in which they came.
#[derive(Debug, Default)]
struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: String) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }
}

impl LogStore {
    /// Adds the event's line at the end, if it has one.
    pub fn push(&mut self, event: Event) {
        if let Some(mut line) = self.line_of(event) {
            let replaced = self.unfinished.replaced_by(&line, self.lines.len());
            if let Some(at) = replaced {
                self.replace(at);
            }
            self.groups.count(&mut line);
            (self.last_of_step).insert(line.step, self.lines.len() as u32);
            self.lines.push(line);
            let (shown, end) = (self.shown(), self.from(self.settings.step.as_deref()));
            self.show(self.lines.len() as u32 - 1, &shown, end);
        }
    }

    /// Adds older lines: all from the number `from` on, of one step or of all.
    pub fn insert(&mut self, events: Vec<Event>, step: Option<&str>, from: u64) {
        let first = self.first_shown();
        self.add(events);
        match step {
            Some(step) => {
                self.from_of_step.insert(step.to_owned(), from);
            }
            None => self.from = from,
        }
        self.join_window();
        self.show_again(first);
    }

    fn add(&mut self, events: Vec<Event>) {
        for event in events {
            let line = self.line_of(event);
            self.lines.extend(line);
        }
        self.lines.sort_by_key(|line| line.seq);
        self.lines.dedup_by_key(|line| line.seq);
        let places = self.lines.iter().zip(0..);
        self.last_of_step = places.map(|(line, at)| (line.step, at)).collect();
        self.find_replaced();
        self.groups.count_all(&mut self.lines);
    }

    /// Number of the first line of the view.
    fn first_shown(&self) -> Option<u64> {
        self.line(0).map(|line| line.seq)
    }

    /// Builds the view again, in which the line that was the first one may be further down.
    fn show_again(&mut self, first: Option<u64>) {
        self.show_all();
        self.insertions += 1;
        self.moved += first.map_or(0, |first| self.row_of(self.place_of(first)));
    }

    /// The number of insertions of lines, and the rows by which they have moved the lines of the view.
    pub fn insertions(&self) -> (u32, u32) {
        (self.insertions, self.moved)
    }

    /// The number from which on all lines are here, of one step or of all. 1 if none is missing.
    pub fn from(&self, step: Option<&str>) -> u64 {
        let of_step = step.and_then(|step| self.from_of_step.get(step));
        of_step
            .map_or(self.from, |from| self.from.min(*from))
            .max(1)
    }

    fn line_of(&mut self, event: Event) -> Option<Line> {
        let EventBody::Log(line) = event.body else {
            return None;
        };
        let is_unfinished = line.is_unfinished();
        let step = self.steps.number(line.step);
        let names = (line.play.as_deref(), line.task.as_deref());
        let play = names.0.map(|play| self.groups.play(step, play));
        let task = names.1.map(|task| self.groups.task(step, names.0, task));
        let mut text = ansi::final_text(&line.text).to_owned();
        if text.contains('\t') {
            text = text.replace('\t', "    ");
        }
        let columns = ansi::plain(&text).chars().count() as u32;
        Some(Line {
            seq: event.seq,
            time_ms: crate::time::parse(&event.time).unwrap_or_default(),
            step,
            play,
            task,
            host: line.host.map(|host| self.hosts.number(host)),
            stream: line.stream,
            level: line.level,
            is_unfinished,
            is_replaced: false,
            text: text.into(),
            columns,
        })
    }

    /// Changes the filter and the layout.
    pub fn set_view(&mut self, settings: ViewSettings) {
        if settings == self.settings {
            return;
        }
        let is_other_search =
            settings.needle != self.settings.needle || settings.step != self.settings.step;
        if is_other_search {
            self.older_hits = OlderHits::default();
        }
        if settings.step != self.settings.step {
            self.window = None;
        }
        self.settings = settings;
        self.show_all();
    }

    fn show_all(&mut self) {
        self.view.clear();
        self.rows.clear();
        self.hits.clear();
        self.row_count = 0;
        self.widest = 0;
        self.heads.clear();
        self.filtered = 0;
        let (shown, end) = (self.shown(), self.from(self.settings.step.as_deref()));
        for at in 0..self.lines.len() as u32 {
            self.show(at, &shown, end);
        }
    }

    /// Adds a line to the view, if its number is among the shown ones. Hits are counted from the number `end` on.
    fn show(&mut self, at: u32, shown: &Range<u64>, end: u64) {
        let line = &self.lines[at as usize];
        let step = self.settings.step.as_ref();
        let (is_shown, is_at_end) = (shown.contains(&line.seq), line.seq >= end);
        let is_of_step = step.is_none_or(|step| self.steps.name(line.step) == step);
        if line.is_replaced || !is_of_step || !(is_shown || is_at_end) {
            return;
        }
        if !self.passes(line) {
            self.filtered += usize::from(is_shown);
            return;
        }
        if is_shown {
            for group in [line.play, line.task].into_iter().flatten() {
                let is_head = !self.heads.contains_key(&group);
                if is_head {
                    self.heads.insert(group, at);
                } else if self.settings.folds.hides(group) {
                    return;
                }
            }
        }
        if is_at_end
            && !self.settings.needle.is_empty()
            && ansi::contains(&ansi::plain(&line.text), &self.settings.needle)
        {
            self.hits.push(line.seq);
        }
        if !is_shown {
            return;
        }
        self.view.push(at);
        self.widest = self.widest.max(line.columns);
        match self.settings.wrap {
            None => self.row_count += 1,
            Some(columns) => {
                self.rows.push(self.row_count);
                self.row_count += line.columns.max(1).div_ceil(columns.max(1));
            }
        }
    }

    /// The index in the view of the first line from a number on.
    pub fn place_of(&self, seq: u64) -> usize {
        self.view
            .partition_point(|at| self.lines[*at as usize].seq < seq)
    }

    /// Number of the newest line, 0 if there is none.
    pub fn newest(&self) -> u64 {
        self.lines.last().map_or(0, |line| line.seq)
    }

    /// Number of lines in the view that came after a line.
    pub fn newer_than(&self, seq: u64) -> usize {
        self.view.len() - self.place_of(seq + 1)
    }

    /// Number of all lines, without the filter.
    pub fn total(&self) -> usize {
        self.lines.len()
    }

    /// Number of lines in the view.
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// True if the view has no lines.
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// Number of text rows in the view.
    pub fn rows(&self) -> u32 {
        self.row_count
    }

    /// Width of the widest line in the view, in characters.
    pub fn widest(&self) -> u32 {
        self.widest
    }

    /// Line of the view by its index.
    pub fn line(&self, place: usize) -> Option<&Line> {
        self.lines.get(*self.view.get(place)? as usize)
    }

    /// First row of a line of the view.
    pub fn row_of(&self, place: usize) -> u32 {
        if self.settings.wrap.is_some() {
            self.rows.get(place).copied().unwrap_or(self.row_count)
        } else {
            place as u32
        }
    }

    /// Index in the view of the line at a row.
    pub fn place_at(&self, row: u32) -> usize {
        if self.settings.wrap.is_some() {
            self.rows
                .partition_point(|first| *first <= row)
                .saturating_sub(1)
        } else {
            (row as usize).min(self.view.len().saturating_sub(1))
        }
    }

    /// Name of a step by its number.
    pub fn step_name(&self, number: u32) -> &str {
        self.steps.name(number)
    }

    /// Most relevant lines of a step: the last output of its program, otherwise errors and warnings, otherwise the last
    /// lines. At most `count`. Lines of the engine do not repeat `reason`, which is displayed below them.
    pub fn excerpt(&self, step: &str, reason: &str, count: usize) -> Vec<String> {
        let Some(number) = self.steps.numbers.get(step) else {
            return Vec::new();
        };
        let last = |is_relevant: &dyn Fn(&Line, &str) -> bool| {
            let lines = self.lines.iter().rev();
            let lines = lines.filter(|line| line.step == *number && !line.is_replaced);
            let mut found: Vec<String> = lines
                .map(|line| (line, ansi::plain(&line.text)))
                .filter(|(line, text)| !text.trim().is_empty() && is_relevant(line, text.trim()))
                .map(|(_, text)| text)
                .take(count)
                .collect();
            found.reverse();
            found
        };
        let output = last(&|line, _| matches!(line.stream, LogStream::Stdout | LogStream::Stderr));
        if !output.is_empty() {
            return output;
        }
        let bad = last(&|line, text| line.level >= LogLevel::Warning && !reason.contains(text));
        if !bad.is_empty() {
            return bad;
        }
        last(&|_, text| !reason.contains(text))
    }

    /// The last line of a step.
    pub fn last_line(&self, step: &str) -> Option<String> {
        let number = self.steps.numbers.get(step)?;
        let line = self.lines.get(*self.last_of_step.get(number)? as usize)?;
        Some(ansi::plain(&line.text))
    }
}
