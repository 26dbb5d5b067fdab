//! The runs that this server works on: the command channels of their tasks, and those about to get one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
    /// Begin no further step, because an update takes the run's place.
    GiveWay(oneshot::Sender<Result<()>>),
    /// End the task, because another run takes over.
    Abandon(oneshot::Sender<Result<()>>),
}

/// The active runs.
#[derive(Default)]
pub struct ActiveRuns {
    tasks: Mutex<HashMap<String, Task>>,
    /// Number of the [`Attendance`]s of each run.
    attended: Mutex<HashMap<String, usize>>,
}

/// Work on a run without a task, until it is dropped: its start, its recovery, or its roll-back.
#[must_use]
pub struct Attendance {
    runs: Arc<ActiveRuns>,
    run: String,
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let mut attended = lock(&self.runs.attended);
        if let Some(count) = attended.get_mut(&self.run) {
            *count -= 1;
            if *count == 0 {
                attended.remove(&self.run);
            }
        }
    }
}

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
        lock(&self.tasks).insert(run.to_owned(), task);
        receiver
    }

    /// Begins work on a run without a task.
    pub fn attend(self: &Arc<ActiveRuns>, run: &str) -> Attendance {
        *lock(&self.attended).entry(run.to_owned()).or_default() += 1;
        Attendance {
            runs: self.clone(),
            run: run.to_owned(),
        }
    }

    /// True if the run has a task, or is about to get one.
    pub fn is_at_work(&self, run: &str) -> bool {
        // In this order, because a task is registered before the attendance of its start ends.
        lock(&self.attended).contains_key(run) || self.task_of(run).is_some()
    }

    /// Removes the channel of an ended task.
    pub fn unregister(&self, run: &str, fence: i64) {
        let mut tasks = lock(&self.tasks);
        if tasks.get(run).is_some_and(|task| task.fence == fence) {
            tasks.remove(run);
        }
    }

    /// The runs that have a task, and the numbers under which they are held.
    pub fn all(&self) -> Vec<(String, i64)> {
        let tasks = lock(&self.tasks);
        let tasks = tasks.iter().map(|(run, task)| (run.clone(), task.fence));
        tasks.collect()
    }

    /// Aborts a run's task: another server has taken the run.
    pub fn let_go(&self, run: &str, fence: i64) {
        let tasks = lock(&self.tasks);
        if let Some(task) = tasks.get(run).filter(|task| task.fence == fence) {
            task.let_go.cancel();
        }
    }

    /// The sender to a run's task, if it has one.
    pub fn task_of(&self, run: &str) -> Option<mpsc::UnboundedSender<Command>> {
        lock(&self.tasks)
            .get(run)
            .map(|task| task.commands.clone())
            .filter(|sender| !sender.is_closed())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
