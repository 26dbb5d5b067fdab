//! Quotas of log lines. Pure.
//!
//! Lines of the engine are always stored: they are few, and say what happened. Output of programs above a quota is cut, and so is
//! output while the disk is almost full. Two lines say so: one where the cut begins, one with its extent when the step or its
//! attempt ends.

use std::fmt;

use api::{LogLine, LogStream};

/// Limits of stored log lines, in bytes: of their text, and [`LogQuota::LINE_BYTES`] for each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogQuota {
    /// Limit of one step.
    pub step_bytes: u64,
    /// Limit of all runs of a project.
    pub project_bytes: u64,
}

impl LogQuota {
    /// Bytes that a line counts in addition to its text: its number, time and source, as stored. Without them, empty lines would
    /// have no limit.
    pub const LINE_BYTES: u64 = 64;

    /// No limits.
    pub const NONE: LogQuota = LogQuota {
        step_bytes: u64::MAX,
        project_bytes: u64::MAX,
    };
}

/// The space for log lines on the disk of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Free,
    /// Space that is reserved for the states of runs and the ids of their resources.
    Reserved,
}

/// Number of bytes that a line counts.
pub(crate) fn cost(line: &LogLine) -> u64 {
    LogQuota::LINE_BYTES + line.text.len() as u64
}

/// The log of a step so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Cost of stored lines.
    pub stored: u64,
    cut: Option<Cut>,
}

/// Lines that were not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cut {
    lines: u64,
    /// Bytes of their text.
    bytes: u64,
}

/// Treatment of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Store,
    /// The line is the first that is cut. The text is stored in its place.
    CutBegins(String),
    Cut,
}

impl Usage {
    /// The usage of a step whose stored lines have this cost.
    pub fn new(stored: u64) -> Usage {
        Usage { stored, cut: None }
    }

    /// Decides about a line. `project` is the cost of all lines of the project.
    pub fn admit(
        &mut self,
        quota: LogQuota,
        space: Space,
        project: &mut u64,
        line: &LogLine,
    ) -> Verdict {
        let cost = cost(line);
        let reached = if line.stream == LogStream::Engine {
            None
        } else if space == Space::Reserved {
            Some(
                "while the disk of the server is almost full (STACKLOOM_DISK_RESERVE_MIB)"
                    .to_owned(),
            )
        } else if self.stored + cost > quota.step_bytes {
            Some(format!(
                "from here on: it has reached its limit of {} (STACKLOOM_STEP_LOG_MIB)",
                Bytes(quota.step_bytes)
            ))
        } else if *project + cost > quota.project_bytes {
            Some(format!(
                "from here on: the logs of this project have reached their limit of {} (STACKLOOM_PROJECT_LOG_MIB)",
                Bytes(quota.project_bytes)
            ))
        } else {
            None
        };
        let Some(extent) = reached else {
            self.stored += cost;
            *project += cost;
            return Verdict::Store;
        };
        let is_first = self.cut.is_none();
        let cut = self.cut.get_or_insert_default();
        cut.lines += 1;
        cut.bytes += line.text.len() as u64;
        if is_first {
            Verdict::CutBegins(format!(
                "Output of this step is not stored {extent}. The step itself continues."
            ))
        } else {
            Verdict::Cut
        }
    }

    /// The extent of the cut, if there is one. The next attempt begins without one.
    pub fn end(&mut self) -> Option<String> {
        let Cut { lines, bytes } = self.cut.take()?;
        let lines = match lines {
            1 => "1 line".to_owned(),
            many => format!("{many} lines"),
        };
        Some(format!(
            "{lines} ({}) of output were not stored.",
            Bytes(bytes)
        ))
    }
}

/// A number of bytes for people.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 30 => write!(f, "{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
            bytes if bytes >= 1 << 20 => write!(f, "{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use api::LogLevel;

    use super::*;

    fn line(stream: LogStream, text: &str) -> LogLine {
        LogLine {
            step: "web:software".into(),
            host: None,
            play: None,
            task: None,
            stream,
            level: LogLevel::Info,
            text: text.into(),
            position: None,
        }
    }

    #[test]
    fn output_above_the_steps_quota_is_cut_and_counted() {
        let quota = LogQuota {
            step_bytes: LogQuota::LINE_BYTES + 10,
            ..LogQuota::NONE
        };
        let (mut usage, mut project) = (Usage::default(), 0);
        let output = line(LogStream::Stdout, "12345678");
        assert_eq!(
            usage.admit(quota, Space::Free, &mut project, &output),
            Verdict::Store
        );
        let Verdict::CutBegins(notice) = usage.admit(quota, Space::Free, &mut project, &output)
        else {
            panic!("the quota is reached");
        };
        assert!(notice.contains("limit of 74 bytes"), "{notice}");
        assert_eq!(
            usage.admit(quota, Space::Free, &mut project, &output),
            Verdict::Cut
        );
        let engine = line(LogStream::Engine, "what happened");
        assert_eq!(
            usage.admit(quota, Space::Free, &mut project, &engine),
            Verdict::Store
        );
        let extent = usage.end();
        assert_eq!(
            extent.as_deref(),
            Some("2 lines (16 bytes) of output were not stored.")
        );
        assert_eq!(usage.end(), None);
        let both = 2 * LogQuota::LINE_BYTES + 21;
        assert_eq!((usage.stored, project), (both, both));
    }

    #[test]
    fn empty_lines_use_up_the_quota() {
        let quota = LogQuota {
            step_bytes: 100 * LogQuota::LINE_BYTES,
            ..LogQuota::NONE
        };
        let (mut usage, mut project) = (Usage::default(), 0);
        let empty = line(LogStream::Stdout, "");
        for _ in 0..100 {
            assert_eq!(
                usage.admit(quota, Space::Free, &mut project, &empty),
                Verdict::Store
            );
        }
        let verdict = usage.admit(quota, Space::Free, &mut project, &empty);
        assert!(matches!(verdict, Verdict::CutBegins(_)), "{verdict:?}");
    }

    #[test]
    fn the_steps_of_a_project_share_its_quota() {
        let quota = LogQuota {
            project_bytes: LogQuota::LINE_BYTES + 10,
            ..LogQuota::NONE
        };
        let mut project = 0;
        let output = line(LogStream::Ansible, "12345678");
        let verdict = Usage::default().admit(quota, Space::Free, &mut project, &output);
        assert_eq!(verdict, Verdict::Store);
        let verdict = Usage::default().admit(quota, Space::Free, &mut project, &output);
        assert!(matches!(verdict, Verdict::CutBegins(notice) if notice.contains("this project")));
    }

    #[test]
    fn an_almost_full_disk_takes_lines_of_the_engine_only() {
        let (mut usage, mut project) = (Usage::default(), 0);
        let mut admit = |space, stream| {
            let line = line(stream, "12345678");
            usage.admit(LogQuota::NONE, space, &mut project, &line)
        };
        let Verdict::CutBegins(notice) = admit(Space::Reserved, LogStream::Stdout) else {
            panic!("the reserve is not for output");
        };
        assert!(
            notice.contains("disk of the server is almost full"),
            "{notice}"
        );
        assert_eq!(admit(Space::Reserved, LogStream::Ansible), Verdict::Cut);
        assert_eq!(admit(Space::Reserved, LogStream::Engine), Verdict::Store);
        assert_eq!(admit(Space::Free, LogStream::Stdout), Verdict::Store);
        let extent = usage.end();
        assert_eq!(
            extent.as_deref(),
            Some("2 lines (16 bytes) of output were not stored.")
        );
    }
}
