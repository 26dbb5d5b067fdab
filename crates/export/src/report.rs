//! What an export does not say, or says otherwise.

/// All of it, in the order of the template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// One each.
    pub notes: Vec<Note>,
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How it matters.
    pub kind: Kind,
    /// Where in the template, such as `resources.web.properties.metadata`.
    pub path: String,
    /// One sentence.
    pub message: String,
}

/// How a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It is not in the export.
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
    pub(crate) fn left_out(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.note(Kind::LeftOut, path, message);
    }

    pub(crate) fn changed(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.note(Kind::Changed, path, message);
    }

    pub(crate) fn needed(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.note(Kind::Needed, path, message);
    }

    /// All that was said of another file.
    pub(crate) fn of_file(&mut self, file: &str, other: Report) {
        for note in other.notes {
            let path = match note.path.as_str() {
                "" => file.to_owned(),
                path => format!("{file}: {path}"),
            };
            self.note(note.kind, path, note.message);
        }
    }

    fn note(&mut self, kind: Kind, path: impl Into<String>, message: impl Into<String>) {
        let note = Note {
            kind,
            path: path.into(),
            message: message.into(),
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A line each, for a comment at the top of a file; nothing where there is nothing to say.
    pub(crate) fn lines(&self) -> Vec<String> {
        let lines = self.notes.iter().map(|note| {
            let at = if note.path.is_empty() {
                String::new()
            } else {
                format!(" {}", note.path)
            };
            // What ends a line in YAML ends a comment.
            let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
            format!("{}{at}: {}", note.kind.word(), note.message).replace(ends, " ")
        });
        lines.collect()
    }

    /// The same as lines that begin with `#`.
    pub(crate) fn comment(&self, title: &str) -> String {
        let mut text = format!("# {title}\n");
        for line in self.lines() {
            text.push_str(&format!("# - {line}\n"));
        }
        text
    }
}
