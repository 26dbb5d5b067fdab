//! The logs of a server's package managers during one task.

use std::sync::Arc;

use tokio::{sync::mpsc, task::AbortHandle};

use super::result::{Repeated, ResultLine};
use crate::{sandbox::Lines, secrets::Mask};

/// The line that the follower of the logs prints on request, behind all that was written before.
pub const MARK: &str = "\u{1e}";

/// Output of package managers during a task. Dropping it ends its reader.
pub struct PackageLog {
    /// The number of the task.
    task: u64,
    reader: AbortHandle,
    /// Requests for a mark.
    requests: mpsc::Sender<()>,
    lines: Lines,
    repeated: Repeated,
    is_open: bool,
    is_read: bool,
}

impl PackageLog {
    /// The log of a task. Its reader prints [`MARK`] on each request. A line that is too long is not cut within a secret.
    pub fn new(
        task: u64,
        reader: AbortHandle,
        requests: mpsc::Sender<()>,
        mask: Arc<Mask>,
    ) -> PackageLog {
        PackageLog {
            task,
            reader,
            requests,
            lines: Lines::masked(mask),
            repeated: Repeated::default(),
            is_open: true,
            is_read: false,
        }
    }

    /// True for the log of this task.
    pub fn is_of(&self, task: u64) -> bool {
        self.task == task
    }

    /// Requests all that is written until now.
    pub fn request(&mut self) {
        self.is_read = !self.is_open;
        // One that is not answered yet serves as well. Without a reader, its end is on the way.
        let _ = self.requests.try_send(());
    }

    /// True if all that was written before the last request is read, or no more will be.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// The lines to log that end in these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut fresh = Vec::new();
        for line in self.lines.take(bytes) {
            if line == MARK {
                self.is_read = true;
            } else if !line.trim().is_empty() && self.repeated.is_new(&line) {
                fresh.push(line);
            }
        }
        fresh
    }

    /// The line to log that had no end when the reader ended.
    pub fn end(&mut self) -> Option<String> {
        (self.is_open, self.is_read) = (false, true);
        let rest = self.lines.rest();
        rest.filter(|line| !line.trim().is_empty() && self.repeated.is_new(line))
    }

    /// The lines of a result of the task that were not in the log.
    pub fn unlogged(&mut self, output: Vec<ResultLine>) -> Vec<ResultLine> {
        self.repeated.unlogged(output)
    }
}

impl Drop for PackageLog {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
