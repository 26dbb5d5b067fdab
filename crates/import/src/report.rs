//! What was not plain.

use std::collections::HashSet;

/// Nobody reads more.
const NOTES_MAX: usize = 1_000;

/// All of it, in the order of the text.
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
    /// Where in the CloudFormation template, such as `Resources.Web.Properties.Tenancy`.
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
    pub(crate) fn add(&mut self, note: Note) {
        if self.notes.len() > NOTES_MAX || self.seen.contains(&note) {
            return;
        }
        if self.notes.len() == NOTES_MAX {
            self.notes.push(Note {
                kind: Kind::Needed,
                path: "Resources".to_owned(),
                line: None,
                message: "and more".to_owned(),
            });
            return;
        }
        self.seen.insert(note.clone());
        self.notes.push(note);
    }

    /// By line; what has none stands last.
    pub(crate) fn sorted(&self) -> Report {
        let mut notes = self.notes.clone();
        notes.sort_by_key(|note| note.line.unwrap_or(u32::MAX));
        Report {
            notes,
            seen: self.seen.clone(),
        }
    }

    /// Lines for the top of the file, since files part from what was said about them.
    pub(crate) fn comment(&self) -> String {
        let mut text = "# Imported by Stackloom from a CloudFormation template.\n".to_owned();
        for note in &self.notes {
            let at = note
                .line
                .map_or(String::new(), |line| format!(" (line {line})"));
            let line = format!("{} {}{at}: {}", note.kind.word(), note.path, note.message);
            // What ends a line in YAML ends a comment.
            let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
            text.push_str(&format!("# - {}\n", line.replace(ends, " ")));
        }
        text
    }
}
