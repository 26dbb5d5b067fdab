//! The state machine of a run and its steps: a pure, total function of (run, event, time). It changes the run in place,
//! because a copy per event would cost the time of all steps at each event.
//!
//! ```text
//!            Start            a step fails                      all ended
//!   queued --------> running ---------------> failing -----------------------> failed
//!                    |  |  ^    Cancel                          all ended
//!                    |  |  +---------------> cancelling ---------------------> cancelled
//!         all ended  |  |                        (also from failing)
//!   succeeded <------+  +- token ends -> paused -- Resume --> where it was
//!
//!   waiting -> queued -> running -> succeeded | failed | cancelled
//!                           ^  |                      a step that never started: skipped
//!                           |  v
//!                         retrying
//! ```
//!
//! After a failure or a cancellation (failing, cancelling) no new step starts, except always-run steps: each of them
//! starts when all its predecessors have ended in any way. The run ends after them. A run that gives way to an update is
//! cancelled in the same way, but its running steps are not stopped.
//!
//! Commands on servers ([`OnFailure::EndAfter`]) are started once: their failures are final, and some of them may be tolerated.
//!
//! Paused is independent of the ending: no step starts at all, because every step needs the token. When a user provides
//! a new token, the run continues towards the same ending.
//!
//! The shell stores [`Advance::moves`], then starts [`Advance::effects`]. It reports the outcome of each effect once,
//! and sends [`Event::Tick`] at [`Run::wake_at`]. Live runs and recovery both use this function.

mod failure;
mod graph;
mod ledger;
#[cfg(test)]
mod tests;
mod transition;

use std::{sync::Arc, time::Duration};

use api::{RunState, StepState};
use jiff::Timestamp;

pub use failure::{Failure, FailureClass, Retries};
pub use graph::{BadWorkflow, Graph, Node, StepIndex};
pub use store::Ending;

use ledger::Ledger;
use transition::Transition;

/// Number of crashes in a row after which a step that was running at each of them fails. It may be their cause.
pub const CRASHES_MAX: u32 = 3;

/// The parameters of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Time that parallel steps can continue after a step has failed.
    pub grace: Duration,
    /// Pause before a retry when the cloud is unreachable.
    pub retry_pause: Duration,
    /// Maximum number of running steps. A run of a command has its own.
    pub parallel_steps: usize,
    /// Effect of a failed step on the run.
    pub on_failure: OnFailure,
}

/// Effect of a failed step on the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// A failed step ends the run.
    #[default]
    EndTheRun,
    /// Steps after a failed one run anyway, and the run's reason lists the failures: a forced undeployment.
    Continue,
    /// A failed command ends the run only at this number of failed commands: then no other begins, and active ones
    /// continue to their end. A run in which a command failed does not succeed. Other steps are treated as by [`OnFailure::EndTheRun`].
    EndAfter(u32),
}

/// The complete state of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The immutable part.
    pub graph: Arc<Graph>,
    /// The parameters of the rules.
    pub settings: Settings,
    /// The run's state.
    pub state: RunState,
    /// The failure or cancellation that the run will end with, if any.
    pub ending: Option<Ending>,
    /// The reason why the run did not succeed.
    pub reason: Option<String>,
    /// Time when parallel steps are stopped.
    pub give_up_at: Option<Timestamp>,
    /// The steps' states, in the graph's order.
    pub steps: Vec<StepStatus>,
    /// Values that follow from the steps' states.
    ledger: Ledger,
}

/// The state of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepStatus {
    /// The state for users.
    pub state: StepState,
    /// Number of starts so far.
    pub attempts: u32,
    /// The last error.
    pub error: Option<String>,
    /// Time limit for all attempts together.
    pub deadline: Option<Timestamp>,
    /// Start of the step's wait in a queue of the engine. The deadline is extended by this wait.
    pub queued_at: Option<Timestamp>,
    /// Time of the next retry.
    pub retry_at: Option<Timestamp>,
    /// Retries used so far.
    pub retries: Retries,
    /// The reason why the step is being stopped. `None` if it is not.
    pub stopping: Option<Stopping>,
    /// Number of crashes of the program in a row while the step was running.
    pub crashes: u32,
}

/// The reason why a step is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stopping {
    /// A user cancelled the run.
    Cancelled,
    /// Another step failed and the grace period is over.
    GraceOver,
    /// The step's own time limit has passed.
    TimedOut,
}

impl Default for StepStatus {
    fn default() -> StepStatus {
        StepStatus {
            state: StepState::Waiting,
            attempts: 0,
            error: None,
            deadline: None,
            queued_at: None,
            retry_at: None,
            retries: Retries::default(),
            stopping: None,
            crashes: 0,
        }
    }
}

/// An event that can move a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The engine starts the run.
    Start,
    /// The engine has restarted. Nothing is running any more. A step that was running at [`CRASHES_MAX`] crashes in a row fails.
    Recover,
    /// The engine has restarted, and the token has expired meanwhile.
    RecoverWithoutToken,
    /// The time [`Run::wake_at`] is reached.
    Tick,
    /// A user cancels the run. The second time, steps that do not stop are aborted.
    Cancel,
    /// A user resumes the run with a new token.
    Resume,
    /// Another run takes over the always-run steps: a paused run is undeployed.
    Abandon,
    /// An update replaces the run: no further step begins, and active ones continue to their end. Hooks and pauses
    /// end at once. Nothing happens if no step is left.
    GiveWay,
    /// A step succeeded.
    Succeeded(StepIndex),
    /// A step failed.
    Failed(StepIndex, Failure),
    /// A step has stopped after [`Effect::Stop`] or [`Effect::Abort`].
    Stopped(StepIndex),
    /// A step found that the token has expired.
    TokenEnded(StepIndex),
    /// A step waits for a resource of the engine, such as a sandbox. Its time limit is suspended.
    Queued(StepIndex),
    /// A step has got the resource that it waited for.
    Dequeued(StepIndex),
}

/// The result of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    /// Moves for the journal, in this order.
    pub moves: Vec<Move>,
    /// Effects for the executor, to start once the moves are stored.
    pub effects: Vec<Effect>,
}

/// One entry for the journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// A step moved. Its status is in the run.
    Step {
        /// The step's index.
        step: StepIndex,
        /// The step's new state.
        state: StepState,
        /// Number of starts so far.
        attempt: u32,
        /// The last error.
        error: Option<String>,
        /// Time of the next attempt, if the step is retrying.
        retry_at: Option<Timestamp>,
    },
    /// The run moved.
    Run {
        /// The run's new state.
        state: RunState,
        /// The bad ending that the run will have, if any.
        ending: Option<Ending>,
        /// The reason of that ending.
        reason: Option<String>,
    },
}

/// Work for the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Start the step, and report its result.
    Start(StepIndex),
    /// Stop the step at the next safe point, and report its result.
    Stop(StepIndex),
    /// Abort the step without waiting for it, and report that it stopped.
    Abort(StepIndex),
}

/// An event that is not allowed in this state. The run is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run that is {state:?} cannot take {event}")]
pub struct IllegalMove {
    /// The run's state.
    pub state: RunState,
    /// The event, for a log.
    pub event: String,
}

impl Run {
    /// A new run of a workflow.
    pub fn new(graph: Arc<Graph>, settings: Settings) -> Run {
        Run::restore(graph, settings, RunState::Queued, None, None, [])
    }

    /// A run from the journal; [`Event::Recover`] or [`Event::Resume`] comes next. Clocks and used retries are not
    /// stored: after a crash both start again.
    pub fn restore(
        graph: Arc<Graph>,
        settings: Settings,
        state: RunState,
        ending: Option<Ending>,
        reason: Option<String>,
        steps: impl IntoIterator<Item = (StepState, u32, Option<String>)>,
    ) -> Run {
        let stored = steps
            .into_iter()
            .map(|(state, attempts, error)| StepStatus {
                state,
                attempts,
                error,
                ..StepStatus::default()
            });
        let steps: Vec<StepStatus> = stored
            .chain(std::iter::repeat_with(StepStatus::default))
            .take(graph.nodes().len())
            .collect();
        Run {
            ledger: Ledger::of(&graph, settings.on_failure, &steps),
            graph,
            settings,
            state,
            ending,
            reason,
            give_up_at: None,
            steps,
        }
    }

    /// Notes how often in a row the program crashed while a step was running.
    pub fn crashed(&mut self, step: &str, crashes: u32) {
        let mut nodes = self.graph.nodes().iter();
        if let Some(step) = nodes.position(|node| node.id == step) {
            self.steps[step].crashes = crashes;
        }
    }

    /// Time when the next [`Event::Tick`] is due.
    pub fn wake_at(&self) -> Option<Timestamp> {
        if self.state.is_final() {
            return None;
        }
        let active = || {
            self.ledger
                .active
                .iter()
                .map(|step| (&self.steps[*step], *step))
        };
        let steps = active().flat_map(|(step, _)| match step.state {
            StepState::Running if step.stopping.is_none() && step.queued_at.is_none() => {
                [step.deadline, None]
            }
            StepState::Retrying if self.state != RunState::Paused => [step.deadline, step.retry_at],
            _ => [None, None],
        });
        // The grace period ends once: afterwards every running step is being stopped.
        let grace = self.give_up_at.filter(|_| {
            active().any(|(status, step)| {
                !self.graph.nodes()[step].always_run && status.stopping.is_none()
            })
        });
        steps.flatten().chain(grace).min()
    }
}

impl Run {
    /// Checks if an event is allowed now.
    ///
    /// # Errors
    /// [`IllegalMove`] if it is not.
    pub fn takes(&self, event: &Event) -> Result<(), IllegalMove> {
        let is_active = |step: StepIndex| {
            let status = self.steps.get(step);
            status.is_some_and(|status| status.state == StepState::Running)
        };
        let fits = match (self.state, event) {
            (RunState::Queued, Event::Start) => true,
            (
                RunState::Queued
                | RunState::Running
                | RunState::Failing
                | RunState::Paused
                | RunState::Cancelling,
                Event::Cancel,
            ) => true,
            (state, Event::Recover | Event::RecoverWithoutToken | Event::Tick) => !state.is_final(),
            (RunState::Paused | RunState::Failed | RunState::Cancelled, Event::Resume) => true,
            (RunState::Paused, Event::Abandon) => true,
            (RunState::Queued | RunState::Running, Event::GiveWay) => true,
            (
                _,
                Event::Succeeded(step)
                | Event::Failed(step, _)
                | Event::Stopped(step)
                | Event::TokenEnded(step)
                | Event::Queued(step)
                | Event::Dequeued(step),
            ) => is_active(*step),
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            Err(IllegalMove {
                state: self.state,
                event: format!("{event:?}"),
            })
        }
    }
}

/// One move of a run. See the module's doc. Never panics.
///
/// # Errors
/// [`IllegalMove`] for an event that is not allowed in the run's state. The run is unchanged then.
pub fn advance(run: &mut Run, event: &Event, now: Timestamp) -> Result<Advance, IllegalMove> {
    run.takes(event)?;
    let state = run.state;
    let mut work = Transition::on(run, now);
    match event {
        Event::Start => work.start(),
        Event::Recover if state == RunState::Queued => work.start(),
        Event::Recover => work.recover(),
        Event::RecoverWithoutToken => work.recover_without_token(),
        Event::Tick => work.tick(),
        Event::Cancel if state == RunState::Cancelling => work.abort(),
        Event::Cancel => work.cancel(),
        Event::Resume if state == RunState::Paused => work.unpause(),
        Event::Resume => work.resume(),
        Event::Abandon => work.abandon(),
        Event::GiveWay => work.give_way(),
        Event::Succeeded(step) => work.succeeded(*step),
        Event::Failed(step, failure) => work.failed(*step, failure),
        Event::Stopped(step) => work.stopped(*step),
        Event::TokenEnded(step) => work.token_ended(*step),
        Event::Queued(step) => work.queued(*step),
        Event::Dequeued(step) => work.dequeued(*step),
    }
    Ok(work.settle())
}
