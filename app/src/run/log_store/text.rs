//! The view as a file: text or JSON lines.

use std::ops::RangeInclusive;

use api::ansi;

use super::{Line, LogStore};
use crate::time;

impl LogStore {
    /// Lines of the view as plain text, one line each with time and step. With `numbers`, only those with such a number.
    pub fn text(&self, numbers: Option<RangeInclusive<u64>>) -> String {
        let mut text = String::new();
        for line in self.chosen(numbers) {
            text.push_str(&time::time_of_day(line.time_ms, 0.0));
            text.push_str("Z  ");
            text.push_str(self.step_name(line.step));
            text.push_str("  ");
            text.push_str(&ansi::plain(&line.text));
            text.push('\n');
        }
        text
    }

    /// Lines of the view as JSON, one object each: number, time in RFC 3339, step, server, play, task, stream, level, and
    /// the text with its escape sequences.
    pub fn json_lines(&self) -> String {
        let mut text = String::new();
        for line in self.chosen(None) {
            let names = self.task_names(line);
            let object = serde_json::json!({
                "seq": line.seq,
                "time": time::rfc3339(line.time_ms),
                "step": self.step_name(line.step),
                "host": line.host.map(|host| self.hosts.name(host)),
                "play": names.map(|names| &names.0),
                "task": names.map(|names| &names.1),
                "stream": line.stream,
                "level": line.level,
                "text": line.text,
            });
            text.push_str(&object.to_string());
            text.push('\n');
        }
        text
    }

    fn chosen(&self, numbers: Option<RangeInclusive<u64>>) -> impl Iterator<Item = &Line> {
        let lines = self
            .view
            .iter()
            .filter_map(|at| self.lines.get(*at as usize));
        lines.filter(move |line| {
            numbers
                .as_ref()
                .is_none_or(|numbers| numbers.contains(&line.seq))
        })
    }
}
