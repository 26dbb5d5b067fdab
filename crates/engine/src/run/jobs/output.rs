//! The output of a program in whole lines, with the position that each batch of lines ends at. Pure.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{sandbox::Lines, secrets::Mask};

/// Time from the beginning of a line until it is shown unfinished. It doubles each time, so that a progress bar of hours does not
/// fill the log.
const UNFINISHED_AFTER: Duration = Duration::from_secs(1);
/// Longest time between two states of an unfinished line.
const UNFINISHED_LONGEST: Duration = Duration::from_secs(10);

/// One stream of a program.
pub struct StreamLines {
    lines: Lines,
    /// Number of bytes that were taken, those before the first piece included.
    taken: u64,
    unfinished: Option<Unfinished>,
}

/// A line that the program has not ended.
struct Unfinished {
    /// Position of its beginning.
    begin: u64,
    /// Time from which its next state is shown.
    due: Instant,
    pause: Duration,
}

impl StreamLines {
    /// The lines of a stream from a byte on. A line that is too long is not cut within a secret.
    pub fn from(byte: u64, mask: Arc<Mask>) -> StreamLines {
        StreamLines {
            lines: Lines::masked(mask),
            taken: byte,
            unfinished: None,
        }
    }

    /// The lines that end in these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        self.taken += bytes.len() as u64;
        self.lines.take(bytes)
    }

    /// The present state of a progress bar: the line that has not ended, up to its last carriage return. `None` if there is
    /// none, or the line was looked at a moment ago. Called after each piece: a long line is not read again each time.
    pub fn unfinished(&mut self, now: Instant) -> Option<String> {
        let begin = self.position();
        let is_same = |line: &&mut Unfinished| line.begin == begin;
        let Some(line) = self.unfinished.as_mut().filter(is_same) else {
            self.unfinished = Some(Unfinished {
                begin,
                due: now + UNFINISHED_AFTER,
                pause: UNFINISHED_AFTER,
            });
            return None;
        };
        if now < line.due {
            return None;
        }
        line.due = now + line.pause;
        let text = self.lines.until_return()?;
        line.pause = (line.pause * 2).min(UNFINISHED_LONGEST);
        Some(text)
    }

    /// The line without an end.
    pub fn rest(&mut self) -> Option<String> {
        self.lines.rest()
    }

    /// Position of the end of the last whole line.
    pub fn position(&self) -> u64 {
        self.taken - self.lines.begun() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_the_end_of_the_last_whole_line() {
        let mut lines = StreamLines::from(100, Arc::default());
        assert_eq!(lines.take(b"one\ntw"), ["one"]);
        assert_eq!(lines.position(), 104);
        assert_eq!(lines.take(b"o\n"), ["two"]);
        assert_eq!(lines.position(), 108);
        assert_eq!(lines.take(b"end"), Vec::<String>::new());
        assert_eq!(lines.rest().as_deref(), Some("end"));
        assert_eq!(lines.position(), 111);
    }

    #[test]
    fn a_progress_bar_is_shown_now_and_then_while_it_runs() {
        let mut lines = StreamLines::from(0, Arc::default());
        let begin = Instant::now();
        let mut shown = Vec::new();
        assert_eq!(lines.take(b"one\n"), ["one"]);
        for second in 0..60 {
            assert_eq!(lines.take(format!("{second} s\r").as_bytes()), [""; 0]);
            let now = begin + Duration::from_secs(second);
            if let Some(text) = lines.unfinished(now) {
                assert!(text.ends_with(&format!("{second} s")), "{text}");
                shown.push(second);
            }
            assert_eq!(lines.position(), 4, "the line is read again after a crash");
        }
        assert_eq!(shown, [1, 2, 4, 8, 16, 26, 36, 46, 56]);

        // The next line begins anew.
        assert_eq!(lines.take(b"\n").len(), 1);
        let now = begin + Duration::from_secs(60);
        assert_eq!(lines.unfinished(now), None);
        assert_eq!(lines.take(b"again\r"), [""; 0]);
        let later = now + UNFINISHED_AFTER;
        assert_eq!(lines.unfinished(later).as_deref(), Some("again"));
    }

    #[test]
    fn a_line_without_a_carriage_return_is_looked_at_now_and_then() {
        let mut lines = StreamLines::from(0, Arc::default());
        let begin = Instant::now();
        let after = |milliseconds| begin + Duration::from_millis(milliseconds);
        assert_eq!(lines.take(b"50 %"), [""; 0]);
        assert_eq!(lines.unfinished(begin), None);
        assert_eq!(lines.unfinished(after(1000)), None);
        assert_eq!(lines.take(b"\r"), [""; 0]);
        assert_eq!(lines.unfinished(after(1500)), None);
        assert_eq!(lines.unfinished(after(2000)).as_deref(), Some("50 %"));
    }
}
