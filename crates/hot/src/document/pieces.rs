//! A document's text in pieces: one for each entry of a block map, nested as the maps are.
//!
//! Pieces cover the text without gaps. A comment belongs to the entry below it if both have the same indentation, else to the entry
//! above. Blank lines at the end of a piece are apart from it, so that an entry is the same at the end of a map and in the middle.

use std::{collections::HashSet, ops::Range};

use super::Document;
use crate::yaml::{Entry, Kind, Node, Style};

/// An entry of a map, with its key and comments. Also the whole document, with an empty key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<'t> {
    /// The entry's key.
    pub key: &'t str,
    /// The text, without blank lines at the end. It consists of `head` and `entries`.
    pub text: &'t str,
    /// The text before the first of `entries`. All of `text` if there are none.
    pub head: &'t str,
    /// Entries of the value, if it is a map in block style.
    pub entries: Vec<Piece<'t>>,
    /// Blank lines after the text.
    pub blank: &'t str,
}

impl Document {
    /// The text in pieces. It is one piece without entries if it has a syntax error.
    pub fn pieces(&self) -> Piece<'_> {
        let root = self.root().filter(|_| self.is_readable());
        piece(self.text(), 0..self.text().len(), 0, ("", root))
    }
}

/// The piece of an entry at `range`. Its first entry starts at `inner` or later.
fn piece<'t>(
    text: &'t str,
    range: Range<usize>,
    inner: usize,
    (key, node): (&'t str, Option<&'t Node>),
) -> Piece<'t> {
    let end = range.start + without_blank_lines(&text[range.clone()]).len();
    let entries = node.map_or(&[][..], |node| block_entries(text, node));
    let starts: Vec<usize> = entries
        .iter()
        .scan(inner, |after, entry| {
            let line = line_start(text, entry.key_span.start);
            let start = with_comments(text, line, entry.key_span.start - line, *after);
            *after = next_line(text, entry.key_span.start);
            Some(start)
        })
        .collect();
    let ends = starts.iter().skip(1).copied().chain([end]);
    let parts = entries.iter().zip(starts.iter().zip(ends));
    Piece {
        key,
        text: &text[range.start..end],
        head: &text[range.start..starts.first().copied().unwrap_or(end)],
        entries: parts
            .map(|(entry, (start, end))| {
                let inner = next_line(text, entry.key_span.start);
                piece(text, *start..end, inner, (&entry.key, Some(&entry.value)))
            })
            .collect(),
        blank: &text[end..range.end],
    }
}

/// Entries of a map in block style, if each starts a line and no key occurs twice.
fn block_entries<'t>(text: &str, node: &'t Node) -> &'t [Entry] {
    let Kind::Map(entries) = &node.kind else {
        return &[];
    };
    let starts_line = |entry: &Entry| {
        let start = entry.key_span.start;
        text[line_start(text, start)..start]
            .bytes()
            .all(|byte| byte == b' ')
    };
    let mut keys = HashSet::new();
    let is_plain = node.style == Style::Block
        && entries
            .iter()
            .all(|entry| starts_line(entry) && keys.insert(&entry.key));
    if is_plain { entries } else { &[] }
}

/// The start of the comments right above a line that have its indentation, not before `limit`.
fn with_comments(text: &str, line: usize, indent: usize, limit: usize) -> usize {
    let mut start = line;
    while start > limit {
        let above = line_start(text, start - 1);
        let comment = &text[above..start];
        let is_comment = comment.trim_start_matches(' ').starts_with('#');
        if above < limit || !is_comment || comment.find('#') != Some(indent) {
            break;
        }
        start = above;
    }
    start
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

fn without_blank_lines(text: &str) -> &str {
    let body = text.trim_end();
    let end = next_line(text, body.len());
    if body.is_empty() { body } else { &text[..end] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A shop.
heat_template_version: 2021-04-16

resources:
  # The front network.
  front:
    type: OS::Neutron::Net

  web:
    type: OS::Nova::Server
    properties:
      name: web   # as in DNS
      user_data: |
        # no comment of the next
      flavor: m1.small
    # The end of web.
  key: {type: OS::Nova::KeyPair}
# The end.

";

    fn whole(piece: &Piece<'_>) -> String {
        let entries: String = piece.entries.iter().map(whole).collect();
        if !piece.entries.is_empty() {
            assert_eq!(format!("{}{entries}", piece.head), piece.text);
        }
        format!("{}{}", piece.text, piece.blank)
    }

    #[test]
    fn pieces_are_entries_with_their_comments() {
        let document = Document::parse(TEXT);
        let pieces = document.pieces();
        assert_eq!(whole(&pieces), TEXT);
        let resources = &pieces.entries[1];
        let keys: Vec<_> = resources.entries.iter().map(|entry| entry.key).collect();
        assert_eq!(keys, ["front", "web", "key"]);
        let [front, web, key] = &resources.entries[..] else {
            panic!("{resources:#?}");
        };
        assert_eq!(
            (front.text, front.blank),
            (
                "  # The front network.\n  front:\n    type: OS::Neutron::Net\n",
                "\n"
            )
        );
        assert!(web.text.ends_with("    # The end of web.\n"));
        assert_eq!(web.entries[1].entries[1].text.lines().count(), 2);
        assert!(key.entries.is_empty(), "a map in flow style is one piece");
    }

    #[test]
    fn a_text_with_a_syntax_error_is_one_piece() {
        let document = Document::parse("resources: [\n");
        assert_eq!(document.pieces().entries, []);
        assert_eq!(document.pieces().text, "resources: [\n");
    }
}
