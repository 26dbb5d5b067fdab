//! The loaded log lines of a run, and the part of them that is on the screen. Pure.
//!
//! A run is read from its end: all lines from a number on are here, and for some steps older ones, too. Lines are stored once, in
//! order. A view is a list of the line numbers that pass the filter. Its heights are counted
//! in rows of text, so that every line has a known position, wrapped or not, and a million lines do not need a million
//! elements.

use std::collections::HashMap;

use api::{Event, EventBody, LogLevel, LogStream};

use super::ansi;

/// One log line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Number of the event.
    pub seq: u64,
    /// Time, in milliseconds since 1970.
    pub time_ms: f64,
    /// Number of the step of this line; see [`LogStore::step_name`].
    pub step: u32,
    /// Output stream.
    pub stream: LogStream,
    /// The log level.
    pub level: LogLevel,
    /// Text with its escape sequences.
    pub text: Box<str>,
    /// Width in characters.
    pub columns: u32,
}

/// Filter and layout of a view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewSettings {
    /// Step of the lines. `None` for all steps.
    pub step: Option<String>,
    /// Search text in lower case. Its hits are counted and marked.
    pub needle: String,
    /// Characters per row. `None` disables wrapping.
    pub wrap: Option<u32>,
}

/// All lines, and the current view.
#[derive(Debug, Default)]
pub struct LogStore {
    lines: Vec<Line>,
    /// All lines from this number on are here. 0 and 1 mean all lines of the run.
    from: u64,
    /// For some steps, all lines from this number on are here.
    from_of_step: HashMap<String, u64>,
    steps: Vec<String>,
    step_numbers: HashMap<String, u32>,
    settings: ViewSettings,
    /// Indices into `lines` of the lines that pass the filter.
    view: Vec<u32>,
    /// First row of each line in `view`, if lines wrap.
    rows: Vec<u32>,
    row_count: u32,
    widest: u32,
    /// Indices into `view` of the lines with a hit.
    hits: Vec<u32>,
    /// Number of insertions of older lines.
    insertions: u32,
    /// Rows by which they have moved the lines of the view, all together.
    moved: u32,
}

impl LogStore {
    /// Adds the event's line at the end, if it has one.
    pub fn push(&mut self, event: Event) {
        if let Some(line) = self.line_of(event) {
            self.lines.push(line);
            self.show(self.lines.len() as u32 - 1);
        }
    }

    /// Adds older lines: all from the number `from` on, of one step or of all.
    pub fn insert(&mut self, events: Vec<Event>, step: Option<&str>, from: u64) {
        let first = self.line(0).map(|line| line.seq);
        for event in events {
            let line = self.line_of(event);
            self.lines.extend(line);
        }
        self.lines.sort_by_key(|line| line.seq);
        self.lines.dedup_by_key(|line| line.seq);
        match step {
            Some(step) => {
                self.from_of_step.insert(step.to_owned(), from);
            }
            None => self.from = from,
        }
        self.show_all();
        self.insertions += 1;
        self.moved += first.map_or(0, |first| self.row_of(self.place_of(first)));
    }

    /// The number of insertions of older lines, and the rows by which they have moved the lines of the view.
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
        let step = self.step_number(line.step);
        let mut text = ansi::final_text(&line.text).to_owned();
        if text.contains('\t') {
            text = text.replace('\t', "    ");
        }
        let columns = ansi::plain(&text).chars().count() as u32;
        Some(Line {
            seq: event.seq,
            time_ms: crate::time::parse(&event.time).unwrap_or_default(),
            step,
            stream: line.stream,
            level: line.level,
            text: text.into(),
            columns,
        })
    }

    fn step_number(&mut self, name: String) -> u32 {
        if let Some(number) = self.step_numbers.get(&name) {
            return *number;
        }
        let number = self.steps.len() as u32;
        self.steps.push(name.clone());
        self.step_numbers.insert(name, number);
        number
    }

    /// Changes the filter and the layout.
    pub fn set_view(&mut self, settings: ViewSettings) {
        if settings == self.settings {
            return;
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
        for at in 0..self.lines.len() as u32 {
            self.show(at);
        }
    }

    fn show(&mut self, at: u32) {
        let line = &self.lines[at as usize];
        let is_shown = match &self.settings.step {
            Some(step) => self.steps[line.step as usize] == *step,
            // Older ones are a part of what was there.
            None => line.seq >= self.from,
        };
        if !is_shown {
            return;
        }
        if !self.settings.needle.is_empty()
            && ansi::contains(&ansi::plain(&line.text), &self.settings.needle)
        {
            self.hits.push(self.view.len() as u32);
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

    /// Number of lines in the view with a hit.
    pub fn hits(&self) -> usize {
        self.hits.len()
    }

    /// Index in the view of the hit with this number.
    pub fn hit(&self, number: usize) -> Option<usize> {
        self.hits.get(number).map(|place| *place as usize)
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
        self.steps.get(number as usize).map_or("", String::as_str)
    }

    /// Most relevant lines of a step: the last output of its program, otherwise errors and warnings, otherwise the last
    /// lines. At most `count`. Lines of the engine do not repeat `reason`, which is displayed below them.
    pub fn excerpt(&self, step: &str, reason: &str, count: usize) -> Vec<String> {
        let Some(number) = self.step_numbers.get(step) else {
            return Vec::new();
        };
        let last = |is_relevant: &dyn Fn(&Line, &str) -> bool| {
            let lines = self.lines.iter().rev().filter(|line| line.step == *number);
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
        let number = self.step_numbers.get(step)?;
        let line = self.lines.iter().rev().find(|line| line.step == *number)?;
        Some(ansi::plain(&line.text))
    }

    /// View as plain text, one line each with time and step.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in self
            .view
            .iter()
            .filter_map(|at| self.lines.get(*at as usize))
        {
            text.push_str(&crate::time::time_of_day(line.time_ms, 0.0));
            text.push_str("Z  ");
            text.push_str(self.step_name(line.step));
            text.push_str("  ");
            text.push_str(&ansi::plain(&line.text));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use api::LogLine;

    use super::*;

    fn events(lines: &[(&str, &str)]) -> Vec<Event> {
        let lines = lines.iter().enumerate();
        lines
            .map(|(index, (step, text))| Event {
                seq: index as u64 + 1,
                time: String::from("2026-01-01T00:00:00Z"),
                body: EventBody::Log(LogLine {
                    step: (*step).to_owned(),
                    host: None,
                    play: None,
                    task: None,
                    stream: LogStream::Engine,
                    level: if text.contains("bad") {
                        LogLevel::Error
                    } else {
                        LogLevel::Info
                    },
                    text: (*text).to_owned(),
                    position: None,
                }),
            })
            .collect()
    }

    fn store(lines: &[(&str, &str)]) -> LogStore {
        let mut store = LogStore::default();
        for event in events(lines) {
            store.push(event);
        }
        store
    }

    fn shown(store: &LogStore) -> Vec<String> {
        (0..store.len())
            .filter_map(|place| store.line(place))
            .map(|line| line.text.to_string())
            .collect()
    }

    #[test]
    fn a_filter_of_one_step_applies_to_new_lines_too() {
        let mut store = store(&[("a", "one"), ("b", "two"), ("a", "three")]);
        store.set_view(ViewSettings {
            step: Some(String::from("a")),
            ..ViewSettings::default()
        });
        assert_eq!(shown(&store), ["one", "three"]);
        store.set_view(ViewSettings::default());
        assert_eq!(shown(&store), ["one", "two", "three"]);
    }

    #[test]
    fn older_lines_come_before_the_others() {
        let mut all = events(&[("a", "1"), ("b", "2"), ("a", "3"), ("b", "4"), ("a", "5")]);
        let mut store = LogStore::default();
        store.insert(all.split_off(3), None, 4);
        assert_eq!((store.from(None), store.from(Some("a"))), (4, 4));
        assert_eq!(shown(&store), ["4", "5"]);

        let of_a = vec![all[0].clone(), all[2].clone()];
        store.insert(of_a, Some("a"), 1);
        assert_eq!(shown(&store), ["4", "5"], "lines of `b` are missing");
        assert_eq!((store.from(None), store.from(Some("a"))), (4, 1));
        store.set_view(ViewSettings {
            step: Some(String::from("a")),
            ..ViewSettings::default()
        });
        assert_eq!(shown(&store), ["1", "3", "5"]);

        store.set_view(ViewSettings::default());
        store.insert(all, None, 1);
        assert_eq!(shown(&store), ["1", "2", "3", "4", "5"]);
        assert_eq!((store.from(None), store.place_of(4)), (1, 3));
        assert_eq!(store.insertions(), (3, 3), "line 4 was the first one");
    }

    #[test]
    fn wrapped_lines_take_rows() {
        let mut store = store(&[("a", "12345678901"), ("a", ""), ("a", "1234567890")]);
        store.set_view(ViewSettings {
            wrap: Some(5),
            ..ViewSettings::default()
        });
        assert_eq!(store.rows(), 3 + 1 + 2);
        assert_eq!(
            (0..3).map(|place| store.row_of(place)).collect::<Vec<_>>(),
            [0, 3, 4]
        );
        assert_eq!(
            (0..6).map(|row| store.place_at(row)).collect::<Vec<_>>(),
            [0, 0, 0, 1, 2, 2]
        );
        assert_eq!(store.place_at(99), 2);
    }

    #[test]
    fn colours_do_not_count_in_the_width_of_a_line() {
        let store = store(&[("a", "\u{1b}[31mred\u{1b}[0m")]);
        assert_eq!(store.line(0).map(|line| line.columns), Some(3));
        assert_eq!(store.widest(), 3);
    }

    #[test]
    fn search_results_are_counted_in_the_filtered_log() {
        let mut store = store(&[("a", "an Error"), ("b", "fine"), ("a", "ERROR again")]);
        store.set_view(ViewSettings {
            needle: String::from("error"),
            ..ViewSettings::default()
        });
        assert_eq!((store.hits(), store.hit(1)), (2, Some(2)));
        store.set_view(ViewSettings {
            needle: String::from("error"),
            step: Some(String::from("a")),
            wrap: None,
        });
        assert_eq!((store.hits(), store.hit(1)), (2, Some(1)));
    }

    #[test]
    fn an_excerpt_has_the_error_lines_or_the_last_ones() {
        let store = store(&[
            ("a", "bad thing"),
            ("a", "fine"),
            ("a", "bad end"),
            ("a", "the reason, bad"),
            ("b", "one"),
            ("b", "two"),
            ("b", "three"),
        ]);
        assert_eq!(
            store.excerpt("a", "the reason, bad", 3),
            ["bad thing", "bad end"]
        );
        assert_eq!(store.excerpt("b", "", 2), ["two", "three"]);
        assert!(store.excerpt("c", "", 2).is_empty());
    }

    #[test]
    fn an_excerpt_has_the_programs_own_last_words() {
        let mut all = events(&[
            ("a", "one"),
            ("a", "two"),
            ("a", "bad result"),
            ("a", "bad"),
        ]);
        for event in &mut all[..2] {
            if let EventBody::Log(line) = &mut event.body {
                line.stream = LogStream::Stderr;
            }
        }
        let mut store = LogStore::default();
        all.into_iter().for_each(|event| store.push(event));
        assert_eq!(store.excerpt("a", "", 1), ["two"]);
        assert_eq!(store.excerpt("a", "it said two", 3), ["one", "two"]);
        assert_eq!(store.last_line("a").as_deref(), Some("bad"));
        assert_eq!(store.last_line("b"), None);
    }

    #[test]
    fn a_downloaded_line_has_time_and_step() {
        assert_eq!(
            store(&[("a:create", "\u{1b}[1mhi")]).text(),
            "00:00:00Z  a:create  hi\n"
        );
    }
}
