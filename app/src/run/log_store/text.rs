//! Lines as text for the clipboard.

use api::{Event, EventBody, ansi};

use crate::time;

/// Plain text of log lines, one line each with time and step, as a terminal would show it.
pub fn plain_text(lines: &[Event]) -> String {
    let mut text = String::new();
    for event in lines {
        let EventBody::Log(line) = &event.body else {
            continue;
        };
        let time_ms = time::parse(&event.time).unwrap_or_default();
        text.push_str(&time::time_of_day(time_ms, 0.0));
        text.push_str("Z  ");
        text.push_str(&line.step);
        text.push_str("  ");
        text.push_str(&ansi::plain(ansi::final_text(&line.text)));
        text.push('\n');
    }
    text
}
