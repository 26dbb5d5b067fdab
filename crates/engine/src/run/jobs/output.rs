//! The output of a program in whole lines, with the position that each batch of lines ends at. Pure.

use std::sync::Arc;

use crate::{sandbox::Lines, secrets::Mask};

/// One stream of a program.
pub struct StreamLines {
    lines: Lines,
    /// Number of bytes that were taken, those before the first piece included.
    taken: u64,
}

impl StreamLines {
    /// The lines of a stream from a byte on. A line that is too long is not cut within a secret.
    pub fn from(byte: u64, mask: Arc<Mask>) -> StreamLines {
        StreamLines {
            lines: Lines::masked(mask),
            taken: byte,
        }
    }

    /// The lines that end in these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        self.taken += bytes.len() as u64;
        self.lines.take(bytes)
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
}
