//! The command channels of the active runs' tasks.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

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

/// The tasks of runs at work, by run.
#[derive(Default)]
pub struct ActiveRuns(Mutex<HashMap<String, Task>>);

struct Task {
    /// The number under which the run is held.
    fence: i64,
    commands: mpsc::UnboundedSender<Command>,
    let_go: CancellationToken,
}

impl ActiveRuns {
    /// Creates the command channel of a run's task. Call it once per task. The task ends when the token is cancelled.
    pub fn register(
        &self,
        run: &str,
        fence: i64,
        let_go: CancellationToken,
    ) -> mpsc::UnboundedReceiver<Command> {
        let (commands, receiver) = mpsc::unbounded_channel();
        let task = Task {
            fence,
            commands,
            let_go,
        };
        self.lock().insert(run.to_owned(), task);
        receiver
    }

    /// Removes the channel of an ended task.
    pub fn unregister(&self, run: &str, fence: i64) {
        let mut tasks = self.lock();
        if tasks.get(run).is_some_and(|task| task.fence == fence) {
            tasks.remove(run);
        }
    }

    /// The runs that have a task, and the numbers under which they are held.
    pub fn all(&self) -> Vec<(String, i64)> {
        let tasks = self.lock();
        let tasks = tasks.iter().map(|(run, task)| (run.clone(), task.fence));
        tasks.collect()
    }

    /// Ends a run's task where it stands: another server has taken the run.
    pub fn let_go(&self, run: &str, fence: i64) {
        let tasks = self.lock();
        if let Some(task) = tasks.get(run).filter(|task| task.fence == fence) {
            task.let_go.cancel();
        }
    }

    /// The sender to a run's task, if it has one.
    pub fn task_of(&self, run: &str) -> Option<mpsc::UnboundedSender<Command>> {
        self.lock()
            .get(run)
            .map(|task| task.commands.clone())
            .filter(|sender| !sender.is_closed())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
