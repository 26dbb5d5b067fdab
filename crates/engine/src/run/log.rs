//! The log of a step: masked, in lines of limited length.

use std::sync::Arc;

use api::{LogLevel, LogLine, LogStream};
use store::Entry;

use crate::{Tenant, journal::Journal, secrets::Mask};

/// Maximum length of a stored line in bytes.
pub const LINE_BYTES_MAX: usize = 16 * 1024;

/// Source of log lines within a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSource {
    pub stream: LogStream,
    /// The server, by resource name.
    pub host: Option<String>,
    /// Name of Ansible's play.
    pub play: Option<String>,
    /// Name of Ansible's task.
    pub task: Option<String>,
}

impl From<LogStream> for LogSource {
    fn from(stream: LogStream) -> LogSource {
        LogSource {
            stream,
            host: None,
            play: None,
            task: None,
        }
    }
}

/// The log of one step.
#[derive(Clone)]
pub struct StepLog {
    pub(crate) journal: Journal,
    pub(crate) tenant: Tenant,
    pub(crate) run: String,
    pub(crate) step: String,
    pub(crate) mask: Arc<Mask>,
}

impl StepLog {
    /// Logs progress.
    pub async fn info(&self, text: impl AsRef<str>) {
        self.say(LogStream::Engine, [(LogLevel::Info, text)]).await;
    }

    /// Logs a warning.
    pub async fn warn(&self, text: impl AsRef<str>) {
        self.say(LogStream::Engine, [(LogLevel::Warning, text)])
            .await;
    }

    /// Logs lines of a source, stored together.
    pub async fn say<T: AsRef<str>>(
        &self,
        source: impl Into<LogSource>,
        lines: impl IntoIterator<Item = (LogLevel, T)>,
    ) {
        let source = source.into();
        let mut entries = Vec::new();
        for (level, text) in lines {
            for text in lines_of(&self.mask.apply(text.as_ref())) {
                entries.push(Entry::Log(LogLine {
                    step: self.step.clone(),
                    host: source.host.clone(),
                    play: source.play.clone(),
                    task: source.task.clone(),
                    stream: source.stream,
                    level,
                    text,
                    position: None,
                }));
            }
        }
        // The journal ends only together with the engine. Then the log has no readers.
        if !entries.is_empty()
            && self
                .journal
                .tell(&self.tenant, &self.run, entries)
                .await
                .is_err()
        {
            tracing::debug!(
                run.id = self.run,
                "log lines came after the journal had stopped"
            );
        }
    }

    /// The text with secrets masked.
    pub fn masked(&self, text: &str) -> String {
        self.mask.apply(text).into_owned()
    }
}

/// Lines of at most [`LINE_BYTES_MAX`] bytes, with control characters escaped.
fn lines_of(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim_end_matches('\r');
        loop {
            let cut = rest.floor_char_boundary(LINE_BYTES_MAX / 2);
            let (head, tail) = rest.split_at(cut);
            lines.push(plain(head));
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
    }
    lines
}

/// Escapes control characters, which could move a terminal's cursor or hide text. Tabs stay.
fn plain(text: &str) -> String {
    if !text.chars().any(|c| c.is_control() && c != '\t') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c.is_control() && c != '\t' {
            plain.extend(c.escape_default())
        } else {
            plain.push(c)
        }
    }
    plain.truncate(plain.floor_char_boundary(LINE_BYTES_MAX));
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_are_split_bounded_and_without_control_characters() {
        assert_eq!(lines_of("a\nb\r\n"), ["a", "b"]);
        assert_eq!(lines_of("\u{1b}[31mred\tx"), ["\\u{1b}[31mred\tx"]);
        assert_eq!(lines_of(""), Vec::<String>::new());
        assert_eq!(lines_of("a\n\nb"), ["a", "", "b"]);
        let long = "ä".repeat(LINE_BYTES_MAX);
        let split = lines_of(&long);
        assert!(split.iter().all(|line| line.len() <= LINE_BYTES_MAX));
        assert_eq!(split.concat(), long);
    }
}
