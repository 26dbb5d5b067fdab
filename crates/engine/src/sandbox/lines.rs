//! Lines of a program's output.

use std::sync::Arc;

use crate::secrets::Mask;

/// Maximum length of a raw line in bytes. Of a longer line with carriage returns only the text after the last one stays, as on a
/// terminal: it is a progress bar. Another longer line is split.
const RAW_LINE_BYTES_MAX: usize = 256 * 1024;

/// Splits bytes into lines.
pub struct Lines {
    begun: Vec<u8>,
    /// Secrets within which a long line is not split.
    mask: Arc<Mask>,
}

impl Lines {
    /// Lines that are masked later: a long one is split so that no secret is.
    pub fn masked(mask: Arc<Mask>) -> Lines {
        Lines {
            begun: Vec::new(),
            mask,
        }
    }

    /// Number of bytes of the line that has not ended.
    pub fn begun(&self) -> usize {
        self.begun.len()
    }

    /// The lines that end in these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if self.begun.ends_with(b"\n") {
                lines.extend(self.rest());
            }
            if self.begun.len() >= RAW_LINE_BYTES_MAX
                && let Some(at) = self.last_return()
            {
                self.begun.drain(..=at);
            }
            while self.begun.len() >= RAW_LINE_BYTES_MAX {
                let rest = self.begun.split_off(self.mask.cut(&self.begun));
                lines.extend(self.rest());
                self.begun = rest;
            }
        }
        lines
    }

    /// The line that has not ended, up to its last carriage return. `None` without one, or if nothing is before it.
    pub fn until_return(&self) -> Option<String> {
        let end = self.begun.iter().rposition(|byte| *byte == b'\r')?;
        let line = String::from_utf8_lossy(self.begun.get(..end)?);
        let line = line.trim_end_matches('\r');
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// The last carriage return with text behind it.
    fn last_return(&self) -> Option<usize> {
        let (_, text) = self.begun.split_last()?;
        text.iter().rposition(|byte| *byte == b'\r')
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

    fn without_secrets() -> Lines {
        Lines::masked(Arc::default())
    }

    #[test]
    fn lines_come_whole_however_the_bytes_are_cut() {
        let mut lines = without_secrets();
        assert_eq!(lines.take(b"one\ntw"), ["one"]);
        assert_eq!(lines.take(b"o\r\n\nthree"), ["two", ""]);
        assert_eq!(lines.rest().as_deref(), Some("three"));
        assert_eq!(lines.rest(), None);
        assert_eq!(lines.take(&vec![b'x'; RAW_LINE_BYTES_MAX + 1]).len(), 1);
        assert_eq!(without_secrets().take(b"\xff\xfe\n"), ["\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn a_progress_bar_is_one_line_however_long_it_is() {
        let mut lines = without_secrets();
        assert_eq!(lines.until_return(), None);
        let mut written = 0;
        for percent in 0..100 {
            let frame = format!("{percent} %{}\r", ".".repeat(5_000));
            written += frame.len();
            assert_eq!(lines.take(frame.as_bytes()), [""; 0]);
            let shown = lines.until_return().unwrap();
            assert!(shown.contains(&format!("{percent} %.")), "{percent}");
        }
        assert!(written > RAW_LINE_BYTES_MAX && lines.begun() < RAW_LINE_BYTES_MAX);
        let [line]: [String; 1] = lines.take(b"done\n").try_into().unwrap();
        assert!(line.ends_with("\rdone"), "{line}");
    }

    #[test]
    fn a_part_of_a_progress_bar_that_is_being_written_is_not_shown() {
        let mut lines = without_secrets();
        for (bytes, shown) in [
            ("begin", None),
            ("\r10", Some("begin")),
            (" %\r20 %", Some("begin\r10 %")),
            ("\r", Some("begin\r10 %\r20 %")),
        ] {
            assert_eq!(lines.take(bytes.as_bytes()), [""; 0]);
            assert_eq!(lines.until_return().as_deref(), shown);
        }
        assert_eq!(lines.take(b"\n\r").len(), 1);
        assert_eq!(lines.until_return(), None);
    }

    #[test]
    fn a_long_line_is_split_beside_a_secret_however_the_secret_arrives() {
        let mask = Arc::new(Mask::default());
        mask.add("correct horse battery staple");
        let secret = b"correct horse battery staple";
        for place in RAW_LINE_BYTES_MAX - secret.len() - 2..RAW_LINE_BYTES_MAX + 2 {
            let mut bytes = vec![b'.'; place];
            bytes.extend_from_slice(secret);
            bytes.extend_from_slice(b"....\n");
            for first in [RAW_LINE_BYTES_MAX, place + 7, bytes.len()] {
                let mut lines = Lines::masked(mask.clone());
                let mut all = lines.take(&bytes[..first]);
                all.extend(lines.take(&bytes[first..]));
                assert_eq!(all.concat().len() + 1, bytes.len());
                let masked: String = all.iter().map(|line| mask.apply(line)).collect();
                assert!(
                    masked.contains("***") && !masked.contains("horse"),
                    "at {place}"
                );
            }
        }
    }
}
