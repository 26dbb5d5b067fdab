//! The log of a step: masked, in lines of limited length.

use std::sync::Arc;

use api::{LogLevel, LogLine, LogPosition, LogStream, ansi};
use store::Entry;

use crate::{journal::RunJournal, secrets::Mask};

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
    pub(crate) journal: RunJournal,
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
        let mut stored = Vec::new();
        for (level, text) in lines {
            let texts = lines_of(&self.mask.apply(text.as_ref()));
            stored.extend(
                texts
                    .into_iter()
                    .map(|text| self.line(&source, level, text)),
            );
        }
        self.store(stored).await;
    }

    /// Logs lines of a program's output with the position after them, stored together.
    pub async fn say_output(
        &self,
        source: LogSource,
        level: LogLevel,
        lines: &[String],
        position: LogPosition,
    ) {
        let mut stored = Vec::new();
        for line in lines {
            let texts = pieces(&self.mask.apply(line));
            stored.extend(
                texts
                    .into_iter()
                    .map(|text| self.line(&source, level, text)),
            );
        }
        if let Some(last) = stored.last_mut() {
            last.position = Some(position);
        }
        self.store(stored).await;
    }

    /// Logs the present state of a line that a program has not ended, with the position before it. It ends with a carriage
    /// return: the next line takes its place.
    pub async fn say_unfinished(
        &self,
        source: LogSource,
        level: LogLevel,
        text: &str,
        position: LogPosition,
    ) {
        let masked = self.mask.apply(text);
        let Some(piece) = pieces(ansi::final_text(&masked)).into_iter().next() else {
            return;
        };
        let end = piece.floor_char_boundary(LINE_BYTES_MAX - 1);
        let mut line = self.line(&source, level, format!("{}\r", &piece[..end]));
        line.position = Some(position);
        self.store(vec![line]).await;
    }

    fn line(&self, source: &LogSource, level: LogLevel, text: String) -> LogLine {
        LogLine {
            step: self.step.clone(),
            host: source.host.clone(),
            play: source.play.clone(),
            task: source.task.clone(),
            stream: source.stream,
            level,
            text,
            position: None,
        }
    }

    async fn store(&self, lines: Vec<LogLine>) {
        let entries: Vec<Entry> = lines.into_iter().map(Entry::Log).collect();
        // The journal ends only together with the engine. Then the log has no readers.
        if !entries.is_empty() && self.journal.queue(entries).await.is_err() {
            tracing::debug!("log lines came after the journal had stopped");
        }
    }

    /// The text with secrets masked.
    pub fn masked(&self, text: &str) -> String {
        self.mask.apply(text).into_owned()
    }
}

/// Lines of at most [`LINE_BYTES_MAX`] bytes.
fn lines_of(text: &str) -> Vec<String> {
    text.lines().flat_map(pieces).collect()
}

/// A line in pieces of at most [`LINE_BYTES_MAX`] bytes. Of a longer line with carriage returns, only the text after the last one
/// stays, which is what a terminal shows of a progress bar. Colours, carriage returns and other control characters stay: the pages
/// understand or leave out each of them. Only the null character goes, which PostgreSQL does not store.
fn pieces(line: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = line.trim_end_matches('\r');
    if rest.len() > LINE_BYTES_MAX {
        rest = ansi::final_text(rest);
    }
    loop {
        let (head, tail) = rest.split_at(rest.floor_char_boundary(LINE_BYTES_MAX));
        pieces.push(head.replace('\0', ""));
        rest = tail;
        if rest.is_empty() {
            return pieces;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_are_split_bounded_and_as_the_program_wrote_them() {
        assert_eq!(lines_of("a\nb\r\n"), ["a", "b"]);
        let written = "\u{1b}[31mred\tx 10 %\r100 % ü";
        assert_eq!(lines_of(written), [written]);
        assert_eq!(lines_of("a\0b"), ["ab"]);
        assert_eq!(pieces(""), [""]);
        assert_eq!(lines_of(""), Vec::<String>::new());
        assert_eq!(lines_of("a\n\nb"), ["a", "", "b"]);
        let long = "ä".repeat(LINE_BYTES_MAX);
        let split = lines_of(&long);
        assert!(split.iter().all(|line| line.len() <= LINE_BYTES_MAX));
        assert_eq!(split.concat(), long);
        let bar: String = (0..=10_000).map(|part| format!("{part}\r")).collect();
        assert_eq!(lines_of(&bar), ["10000"]);
    }
}
