//! The command channels of the active runs' tasks.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{mpsc, oneshot};

use super::context::RunContext;
use crate::Result;

/// A user's command to an active run.
pub enum Command {
    /// Stop the run.
    Cancel(oneshot::Sender<Result<()>>),
    /// Resume with this session.
    Resume(Box<RunContext>, oneshot::Sender<Result<()>>),
    /// End the task, because another run takes over.
    Abandon(oneshot::Sender<Result<()>>),
}

/// The senders of commands, by run.
#[derive(Default)]
pub struct ActiveRuns(Mutex<HashMap<String, mpsc::UnboundedSender<Command>>>);

impl ActiveRuns {
    /// Creates the command channel of a run's task. Call it once per task.
    pub fn register(&self, run: &str) -> mpsc::UnboundedReceiver<Command> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.lock().insert(run.to_owned(), sender);
        receiver
    }

    /// Removes the channel of an ended task.
    pub fn unregister(&self, run: &str) {
        self.lock().remove(run);
    }

    /// The sender to a run's task, if it has one.
    pub fn task_of(&self, run: &str) -> Option<mpsc::UnboundedSender<Command>> {
        self.lock()
            .get(run)
            .filter(|sender| !sender.is_closed())
            .cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<Command>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
