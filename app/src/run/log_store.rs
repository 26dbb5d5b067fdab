//! All log lines of a run, and the visible part of them. Pure.
//!
//! Lines are stored once, in order. A view is a list of the line numbers that pass the filter. Its heights are counted
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
pub struct Look {
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
    steps: Vec<String>,
    step_numbers: HashMap<String, u32>,
    look: Look,
    /// Indices into `lines` of the lines that pass the filter.
    view: Vec<u32>,
    /// First row of each line in `view`, if lines wrap.
    rows: Vec<u32>,
    row_count: u32,
    widest: u32,
    /// Indices into `view` of the lines with a hit.
    hits: Vec<u32>,
}

impl LogStore {
    /// Adds the event's line, if there is one.
    pub fn push(&mut self, event: Event) {
        let EventBody::Log(line) = event.body else {
            return;
        };
        let step = self.step_number(line.step);
        let mut text = ansi::settled(&line.text).to_owned();
        if text.contains('\t') {
            text = text.replace('\t', "    ");
        }
        let columns = ansi::plain(&text).chars().count() as u32;
        self.lines.push(Line {
            seq: event.seq,
            time_ms: crate::time::parse(&event.time).unwrap_or_default(),
            step,
            stream: line.stream,
            level: line.level,
            text: text.into(),
            columns,
        });
        self.show(self.lines.len() as u32 - 1);
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
    pub fn set_look(&mut self, look: Look) {
        if look == self.look {
            return;
        }
        self.look = look;
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
        if let Some(step) = &self.look.step
            && self.steps[line.step as usize] != *step
        {
            return;
        }
        if !self.look.needle.is_empty()
            && ansi::contains(&ansi::plain(&line.text), &self.look.needle)
        {
            self.hits.push(self.view.len() as u32);
        }
        self.view.push(at);
        self.widest = self.widest.max(line.columns);
        match self.look.wrap {
            None => self.row_count += 1,
            Some(columns) => {
                self.rows.push(self.row_count);
                self.row_count += line.columns.max(1).div_ceil(columns.max(1));
            }
        }
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
        if self.look.wrap.is_some() {
            self.rows.get(place).copied().unwrap_or(self.row_count)
        } else {
            place as u32
        }
    }

    /// Index in the view of the line at a row.
    pub fn place_at(&self, row: u32) -> usize {
        if self.look.wrap.is_some() {
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

    /// Most relevant lines of a step: errors and warnings, otherwise the last lines. At most `count`, without lines
    /// that repeat `reason`, which is displayed above them.
    pub fn that_matter(&self, step: &str, reason: &str, count: usize) -> Vec<String> {
        let Some(number) = self.step_numbers.get(step) else {
            return Vec::new();
        };
        let of_step = || {
            let lines = self.lines.iter().rev().filter(|line| line.step == *number);
            lines
                .map(|line| (line.level, ansi::plain(&line.text)))
                .filter(|(_, text)| !text.trim().is_empty() && text != reason)
        };
        let mut found: Vec<String> = of_step()
            .filter(|(level, _)| *level >= LogLevel::Warning)
            .map(|(_, text)| text)
            .take(count)
            .collect();
        if found.len() < 2 {
            found = of_step().map(|(_, text)| text).take(count).collect();
        }
        found.reverse();
        found
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

    fn store(lines: &[(&str, &str)]) -> LogStore {
        let mut store = LogStore::default();
        for (index, (step, text)) in lines.iter().enumerate() {
            store.push(Event {
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
            });
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
        store.set_look(Look {
            step: Some(String::from("a")),
            ..Look::default()
        });
        assert_eq!(shown(&store), ["one", "three"]);
        store.set_look(Look::default());
        assert_eq!(shown(&store), ["one", "two", "three"]);
    }

    #[test]
    fn wrapped_lines_take_rows() {
        let mut store = store(&[("a", "12345678901"), ("a", ""), ("a", "1234567890")]);
        store.set_look(Look {
            wrap: Some(5),
            ..Look::default()
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
        store.set_look(Look {
            needle: String::from("error"),
            ..Look::default()
        });
        assert_eq!((store.hits(), store.hit(1)), (2, Some(2)));
        store.set_look(Look {
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
            store.that_matter("a", "the reason, bad", 3),
            ["bad thing", "bad end"]
        );
        assert_eq!(store.that_matter("b", "", 2), ["two", "three"]);
        assert!(store.that_matter("c", "", 2).is_empty());
    }

    #[test]
    fn a_downloaded_line_has_time_and_step() {
        assert_eq!(
            store(&[("a:create", "\u{1b}[1mhi")]).text(),
            "00:00:00Z  a:create  hi\n"
        );
    }
}
