//! Lines of a program's output.

/// Maximum length of a raw line in bytes. A longer line is split.
const RAW_LINE_BYTES_MAX: usize = 256 * 1024;

/// Splits bytes into lines.
#[derive(Default)]
pub struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// The lines that end in these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if self.begun.ends_with(b"\n") || self.begun.len() >= RAW_LINE_BYTES_MAX {
                lines.extend(self.rest());
            }
        }
        lines
    }

    /// The last line without a line end.
    pub fn rest(&mut self) -> Option<String> {
        let bytes = std::mem::take(&mut self.begun);
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        (!bytes.is_empty()).then(|| line.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_the_bytes_are_cut() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"one\ntw"), ["one"]);
        assert_eq!(lines.take(b"o\r\n\nthree"), ["two", ""]);
        assert_eq!(lines.rest().as_deref(), Some("three"));
        assert_eq!(lines.rest(), None);
        assert_eq!(lines.take(&vec![b'x'; RAW_LINE_BYTES_MAX + 1]).len(), 1);
        assert_eq!(Lines::default().take(b"\xff\xfe\n"), ["\u{fffd}\u{fffd}"]);
    }
}
