//! What is lost, changed or wanted when a design goes from one language to another.
//!
//! No language holds all that another can say, so whoever converts (`export`, `import`) keeps a [`Report`]. It stands in the
//! result too, as a comment, since files part from what was said about them. A report is bounded: its length comes from the text
//! of a stranger, and nobody reads a thousand lines.

use std::collections::HashSet;

/// Nobody reads more.
const NOTES_MAX: usize = 1_000;

/// All that there is to know of a conversion, in the order in which it was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// One each; where there are very many, the last one says that there are more.
    pub notes: Vec<Note>,
    /// The same, to be found.
    seen: HashSet<Note>,
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    /// How it matters.
    pub kind: Kind,
    /// Where in what was converted, such as `resources.web.properties.metadata`; empty for the whole.
    pub path: String,
    /// 1-based line there, where it is known.
    pub line: Option<u32>,
    /// One sentence.
    pub message: String,
}

/// How a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It is not in the result.
    LeftOut,
    /// It is there in another form, which does not mean quite the same.
    Changed,
    /// A person has to do or give something.
    Needed,
}

impl Kind {
    /// In a few words.
    pub fn word(self) -> &'static str {
        match self {
            Kind::LeftOut => "left out",
            Kind::Changed => "changed",
            Kind::Needed => "needed",
        }
    }
}

impl Report {
    /// A note, unless it was made before.
    pub fn add(&mut self, note: Note) {
        if self.notes.len() > NOTES_MAX || self.seen.contains(&note) {
            return;
        }
        if self.notes.len() == NOTES_MAX {
            self.notes.push(Note {
                kind: Kind::Needed,
                path: String::new(),
                line: None,
                message: "and more".to_owned(),
            });
            return;
        }
        self.seen.insert(note.clone());
        self.notes.push(note);
    }

    /// Something is not in the result.
    pub fn left_out(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.note(Kind::LeftOut, path.into(), message.into());
    }

    /// Something means not quite the same.
    pub fn changed(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.note(Kind::Changed, path.into(), message.into());
    }

    /// A person has to do or give something.
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

    /// All that another one says.
    pub fn extend(&mut self, other: Report) {
        for note in other.notes {
            self.add(note);
        }
    }

    /// All that was said of another file.
    pub fn of_file(&mut self, file: &str, other: Report) {
        for note in other.notes {
            let path = match note.path.as_str() {
                "" => file.to_owned(),
                path => format!("{file}: {path}"),
            };
            self.add(Note { path, ..note });
        }
    }

    /// By line; what has none stands last.
    #[must_use]
    pub fn sorted(mut self) -> Report {
        self.notes.sort_by_key(|note| note.line.unwrap_or(u32::MAX));
        self
    }

    /// A line each, without anything that would end it.
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

    /// The same as lines that begin with `#`, below a title, for the top of a file.
    pub fn comment(&self, title: &str) -> String {
        let mut text = format!("# {}\n", one_line(title));
        for line in self.lines() {
            text.push_str(&format!("# - {line}\n"));
        }
        text
    }
}

/// What ends a line in YAML ends a comment, and what follows would be read: spaces stand in their place.
fn one_line(text: &str) -> String {
    let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    text.replace(ends, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_one_line_whatever_stands_in_it() {
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
            "# Made here.\n# - left out a resources: {}: b c d e\n# - needed (line 3): x\n"
        );
    }

    #[test]
    fn what_was_said_is_not_said_again_and_a_long_report_ends_with_a_word() {
        let mut report = Report::default();
        for number in 0..3_000 {
            report.changed("a", format!("{}", number / 2));
        }
        assert_eq!(report.notes.len(), NOTES_MAX + 1);
        assert_eq!(report.notes[NOTES_MAX].message, "and more");
        let mut whole = Report::default();
        whole.of_file("web.yaml", report);
        assert_eq!(whole.notes[0].path, "web.yaml: a");
    }
}
