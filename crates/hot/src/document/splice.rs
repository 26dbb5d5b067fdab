//! Splices of text, and the lines around a position.

use std::ops::Range;

/// Replacement of a range by `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Splice {
    pub range: Range<usize>,
    pub text: String,
}

impl Splice {
    pub fn replace(range: Range<usize>, text: impl Into<String>) -> Splice {
        Splice {
            range,
            text: text.into(),
        }
    }

    pub fn insert(at: usize, text: impl Into<String>) -> Splice {
        Splice {
            range: at..at,
            text: text.into(),
        }
    }

    pub fn delete(range: Range<usize>) -> Splice {
        Splice {
            range,
            text: String::new(),
        }
    }
}

/// Text after all splices, which must not overlap. New line ends have the form of the line in which a splice ends, so
/// that removing the new text restores that line.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mixed = text.contains("\r\n");
    let windows = |at: usize| match text[at..].find('\n') {
        _ if !mixed => false,
        Some(end) => text[..at + end].ends_with('\r'),
        None => true,
    };
    let mut out = String::with_capacity(
        text.len()
            + splices
                .iter()
                .map(|splice| splice.text.len())
                .sum::<usize>(),
    );
    let mut done = 0;
    for splice in splices {
        let start = splice.range.start.max(done);
        out.push_str(&text[done..start]);
        if windows(splice.range.end) {
            out.push_str(&splice.text.replace('\n', "\r\n"));
        } else {
            out.push_str(&splice.text);
        }
        done = splice.range.end.max(start);
    }
    out.push_str(&text[done..]);
    out
}

/// Lines of a text, by byte offsets.
#[derive(Clone, Copy)]
pub(super) struct Page<'t>(pub &'t str);

impl<'t> Page<'t> {
    pub fn line_start(self, at: usize) -> usize {
        self.0[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Position before the line end.
    pub fn line_end(self, at: usize) -> usize {
        let end = self.0[at..]
            .find('\n')
            .map_or(self.0.len(), |newline| at + newline);
        if end > at && self.0.as_bytes()[end - 1] == b'\r' {
            end - 1
        } else {
            end
        }
    }

    /// Position after the line end.
    pub fn next_line(self, at: usize) -> usize {
        self.0[at..]
            .find('\n')
            .map_or(self.0.len(), |newline| at + newline + 1)
    }

    /// Line of `at`, without its end.
    pub fn line(self, at: usize) -> &'t str {
        &self.0[self.line_start(at)..self.line_end(at)]
    }

    /// Column in characters, from 0.
    pub fn column(self, at: usize) -> usize {
        self.0[self.line_start(at)..at]
            .chars()
            .filter(|c| *c != '\u{feff}')
            .count()
    }

    /// Text before `at` on its line.
    pub fn before(self, at: usize) -> &'t str {
        &self.0[self.line_start(at)..at]
    }

    /// End of the last line of a block entry that ends at `at` and begins at `column`, including comments with deeper
    /// indentation.
    pub fn entry_end(self, at: usize, column: usize) -> usize {
        let mut end = self.line_end(at);
        loop {
            let next = self.next_line(end);
            if next >= self.0.len() || next <= end {
                return end;
            }
            let line = self.line(next);
            let body = line.trim_start_matches(' ');
            if !body.starts_with('#') || line.len() - body.len() <= column {
                return end;
            }
            end = self.line_end(next);
        }
    }

    pub fn is_blank_line(self, at: usize) -> bool {
        self.line(at).trim().is_empty()
    }
}
