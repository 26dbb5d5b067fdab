//! The report of a conversion between formats.
//!
//! No format can express everything that another one can, so every conversion (`export`, `import`) creates a
//! [`Report`]. It is also a comment in the result, because a file can be passed on without it. The number of notes is
//! limited, as it depends on untrusted text and a very long report is of no use.

use std::collections::HashSet;

/// Maximum number of notes.
const NOTES_MAX: usize = 1_000;
/// Message of the last note of a full report.
const FULL: &str = "The report is full. More differences are not listed.";

/// All notes of a conversion, in order of discovery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The notes. If the limit is reached, the last one says so.
    pub notes: Vec<Note>,
    /// Known notes, to find duplicates.
    seen: HashSet<Note>,
}

/// A note of the report.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    /// Kind of note.
    pub kind: Kind,
    /// Path in the converted text, such as `resources.web.properties.metadata`. Empty for the whole text.
    pub path: String,
    /// Line there, from 1. `None` if unknown.
    pub line: Option<u32>,
    /// Message in short sentences: the difference, and what the user can do. [`Report::add`] ends it with a full stop.
    pub message: String,
}

/// Kind of note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The part is not in the result.
    LeftOut,
    /// The part has another form, with a slightly different meaning.
    Changed,
    /// The user has to do or provide something.
    Needed,
}

impl Kind {
    /// The kind in a few words.
    pub fn word(self) -> &'static str {
        match self {
            Kind::LeftOut => "left out",
            Kind::Changed => "changed",
            Kind::Needed => "needed",
        }
    }
}

impl Report {
    /// Adds a note, unless it is a duplicate.
    pub fn add(&mut self, mut note: Note) {
        if !note.message.ends_with(['.', '!', '?']) {
            note.message.push('.');
        }
        if self.notes.len() > NOTES_MAX || self.seen.contains(&note) {
            return;
        }
        if self.notes.len() == NOTES_MAX {
            self.notes.push(Note {
                kind: Kind::Needed,
                path: String::new(),
                line: None,
                message: FULL.to_owned(),
            });
            return;
        }
        self.seen.insert(note.clone());
        self.notes.push(note);
    }

    /// Notes that a part is not in the result.
    pub fn left_out(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.note(Kind::LeftOut, path.into(), message.into());
    }

    /// Notes that a part has a slightly different meaning.
    pub fn changed(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.note(Kind::Changed, path.into(), message.into());
    }

    /// Notes that the user has to do or provide something.
    pub fn needed(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.note(Kind::Needed, path.into(), message.into());
    }

    fn note(&mut self, kind: Kind, path: String, message: String) {
        self.add(Note {
            kind,
            path,
            line: None,
            message,
        });
    }

    /// Adds the notes of another report.
    pub fn extend(&mut self, other: Report) {
        for note in other.notes {
            self.add(note);
        }
    }

    /// Adds the notes about another file.
    pub fn of_file(&mut self, file: &str, other: Report) {
        for note in other.notes {
            let path = match note.path.as_str() {
                "" => file.to_owned(),
                path => format!("{file}: {path}"),
            };
            self.add(Note { path, ..note });
        }
    }

    /// Sorted by line. Notes without a line come last.
    #[must_use]
    pub fn sorted(mut self) -> Report {
        self.notes.sort_by_key(|note| note.line.unwrap_or(u32::MAX));
        self
    }

    /// One line per note, without characters that would end it.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.notes.iter().map(|note| {
            let path = match note.path.as_str() {
                "" => String::new(),
                path => format!(" {path}"),
            };
            let line = note
                .line
                .map_or(String::new(), |line| format!(" (line {line})"));
            one_line(&format!(
                "{}{path}{line}: {}",
                note.kind.word(),
                note.message
            ))
        })
    }

    /// The notes as lines that begin with `#`, below a title, for the top of a file.
    pub fn comment(&self, title: &str) -> String {
        let mut text = format!("# {}\n", one_line(title));
        for line in self.lines() {
            text.push_str(&format!("# - {line}\n"));
        }
        text
    }
}

/// Replaces YAML's line breaks by spaces. A line break would end the comment, and the rest would be parsed.
fn one_line(text: &str) -> String {
    let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    text.replace(ends, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_always_one_line() {
        let mut report = Report::default();
        report.left_out("a\nresources: {}", "b\u{2028}c\u{85}d\re");
        report.add(Note {
            kind: Kind::Needed,
            path: String::new(),
            line: Some(3),
            message: "x".to_owned(),
        });
        assert_eq!(
            report.comment("Made\nhere."),
            "# Made here.\n# - left out a resources: {}: b c d e.\n# - needed (line 3): x.\n"
        );
    }

    #[test]
    fn a_report_has_no_duplicates_and_at_most_a_thousand_notes() {
        let mut report = Report::default();
        for number in 0..3_000 {
            report.changed("a", format!("{}", number / 2));
        }
        assert_eq!(report.notes.len(), NOTES_MAX + 1);
        assert_eq!(report.notes[NOTES_MAX].message, FULL);
        let mut whole = Report::default();
        whole.of_file("web.yaml", report);
        assert_eq!(whole.notes[0].path, "web.yaml: a");
    }
}
