//! How a run and its steps move: a pure, total function of (run, event, time). The run is moved where it is: who keeps a copy for
//! each event pays for all steps each time.
//!
//! ```text
//!            Start            a step fails                      all ended
//!   queued --------> running ---------------> failing -----------------------> failed
//!                    |  |  ^    Cancel                          all ended
//!                    |  |  +---------------> cancelling ---------------------> cancelled
//!         all ended  |  |                        (also from failing)
//!   succeeded <------+  +- token ends -> paused -- Resume --> where it was
//!
//!   waiting -> ready -> running -> succeeded | failed | cancelled
//!                          ^  |                      a step that never started: skipped
//!                          |  v
//!                        retrying
//! ```
//!
//! Once a run is bound for a bad end (failing, cancelling) nothing new starts, except steps marked
//! always-run: each starts when all that it waits for has ended, however. Only then the run ends.
//! Paused is a state beside the ending: nothing starts at all, for every step needs the token; the
//! run goes on, to the same ending, when somebody brings a new one.
//!
//! The shell stores [`Advance::moves`], then starts [`Advance::effects`]. It reports each effect's
//! outcome once, and calls with [`Event::Tick`] at [`Run::wake_at`]. Live runs and recovery both go
//! through here.

mod failure;
mod graph;
mod ledger;
mod settle;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use api::{RunState, StepState};
use jiff::Timestamp;

pub use failure::{Failure, FailureClass, Retries};
pub use graph::{BadWorkflow, Graph, Node, StepIndex};
pub use store::Ending;

use ledger::Ledger;
use settle::Work;

/// The rules' numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long parallel steps may go on once one has failed.
    pub grace: Duration,
    /// Between two tries when the cloud is unreachable.
    pub retry_pause: Duration,
    /// Steps at work at the same time.
    pub parallel_steps: usize,
    /// Whether a failed step ends the run.
    pub on_failure: OnFailure,
}

/// Whether a failed step ends the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It does.
    #[default]
    EndTheRun,
    /// Steps behind it run all the same, and the run's reason tells what failed: a forced undeploy.
    GoOn,
}

/// A run, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What does not change.
    pub graph: Arc<Graph>,
    /// The rules' numbers.
    pub settings: Settings,
    /// Where it stands.
    pub state: RunState,
    /// The bad end that it is bound for.
    pub ending: Option<Ending>,
    /// Why, where it did not succeed.
    pub reason: Option<String>,
    /// When parallel steps are given up.
    pub give_up_at: Option<Timestamp>,
    /// In the graph's order.
    pub steps: Vec<StepStatus>,
    /// What follows from these.
    ledger: Ledger,
}

/// Where a step stands.
#[derive(Clone, Debug, PartialEq)]
pub struct StepStatus {
    /// For everybody.
    pub state: StepState,
    /// Starts so far.
    pub attempts: u32,
    /// What went wrong last.
    pub error: Option<String>,
    /// When it times out, all attempts together.
    pub deadline: Option<Timestamp>,
    /// When a retry is due.
    pub retry_at: Option<Timestamp>,
    /// Tries used up.
    pub retries: Retries,
    /// It was told to stop; why.
    pub stopping: Option<Stopping>,
}

/// Why a step was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stopping {
    /// A person cancelled the run.
    Cancelled,
    /// Another step failed and the grace is over.
    GraceOver,
    /// Its own time is over.
    TimedOut,
}

impl Default for StepStatus {
    fn default() -> StepStatus {
        StepStatus {
            state: StepState::Waiting,
            attempts: 0,
            error: None,
            deadline: None,
            retry_at: None,
            retries: Retries::default(),
            stopping: None,
        }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The engine took the run up.
    Start,
    /// The engine came back; nothing that was at work is at work any more.
    Recover,
    /// The engine came back, and the token has ended meanwhile.
    RecoverWithoutToken,
    /// [`Run::wake_at`] has come.
    Tick,
    /// A person wants it stopped. The second time, what does not stop is cut off.
    Cancel,
    /// A person brings a token and wants it to go on.
    Resume,
    /// Another run takes over the duty to leave nothing behind: a paused run is undeployed.
    Abandon,
    /// A step did it.
    Succeeded(StepIndex),
    /// A step did not.
    Failed(StepIndex, Failure),
    /// A step that was told to stop has stopped.
    Stopped(StepIndex),
    /// A step found that the token has ended.
    TokenEnded(StepIndex),
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    /// For the journal, in this order.
    pub moves: Vec<Move>,
    /// For the executor, once the moves are stored.
    pub effects: Vec<Effect>,
}

/// One entry for the journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// A step moved; its status is in the run.
    Step {
        /// Which.
        step: StepIndex,
        /// Where it stands now.
        state: StepState,
        /// Starts so far.
        attempt: u32,
        /// What went wrong.
        error: Option<String>,
    },
    /// The run moved.
    Run {
        /// Where it stands now.
        state: RunState,
        /// The bad end that it is bound for.
        ending: Option<Ending>,
        /// Why.
        reason: Option<String>,
    },
}

/// Work for the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Do it; report how it ended.
    Start(StepIndex),
    /// Tell it to stop at the next safe point; report how it ended.
    Stop(StepIndex),
    /// Do not wait for it; report that it stopped.
    CutOff(StepIndex),
}

/// An event that makes no sense in this state. The run stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run that is {state:?} cannot take {event}")]
pub struct IllegalMove {
    /// Of the run.
    pub state: RunState,
    /// The event, for a log.
    pub event: String,
}

impl Run {
    /// A new run of a workflow.
    pub fn new(graph: Arc<Graph>, settings: Settings) -> Run {
        Run::restore(graph, settings, RunState::Queued, None, None, [])
    }

    /// A run as the journal has it; [`Event::Recover`] or [`Event::Resume`] comes next. Clocks and
    /// used up tries are not kept: after a crash both begin anew.
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

    /// When [`Event::Tick`] is due next.
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
            StepState::Running if step.stopping.is_none() => [step.deadline, None],
            StepState::Retrying if self.state != RunState::Paused => [step.deadline, step.retry_at],
            _ => [None, None],
        });
        // The grace is used up once: afterwards every step at work has been told to stop.
        let grace = self.give_up_at.filter(|_| {
            active().any(|(status, step)| {
                !self.graph.nodes()[step].always_run && status.stopping.is_none()
            })
        });
        steps.flatten().chain(grace).min()
    }
}

impl Run {
    /// Whether an event makes sense now.
    ///
    /// # Errors
    /// [`IllegalMove`] where it does not.
    pub fn takes(&self, event: &Event) -> Result<(), IllegalMove> {
        let at_work = |step: StepIndex| {
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
            (
                _,
                Event::Succeeded(step)
                | Event::Failed(step, _)
                | Event::Stopped(step)
                | Event::TokenEnded(step),
            ) => at_work(*step),
            _ => false,
        };
        match fits {
            true => Ok(()),
            false => Err(IllegalMove {
                state: self.state,
                event: format!("{event:?}"),
            }),
        }
    }
}

/// One move of a run. See the module's doc.
///
/// # Errors
/// [`IllegalMove`] for an event that makes no sense in the run's state; then the run stays as it was. Never panics.
pub fn advance(run: &mut Run, event: &Event, now: Timestamp) -> Result<Advance, IllegalMove> {
    run.takes(event)?;
    let state = run.state;
    let mut work = Work::on(run, now);
    match event {
        Event::Start => work.start(),
        Event::Recover if state == RunState::Queued => work.start(),
        Event::Recover => work.recover(),
        Event::RecoverWithoutToken => work.recover_without_token(),
        Event::Tick => work.tick(),
        Event::Cancel if state == RunState::Cancelling => work.cut_off(),
        Event::Cancel => work.cancel(),
        Event::Resume if state == RunState::Paused => work.unpause(),
        Event::Resume => work.resume(),
        Event::Abandon => work.abandon(),
        Event::Succeeded(step) => work.succeeded(*step),
        Event::Failed(step, failure) => work.failed(*step, failure),
        Event::Stopped(step) => work.stopped(*step),
        Event::TokenEnded(step) => work.token_ended(*step),
    }
    Ok(work.settle())
}
