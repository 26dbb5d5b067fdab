//! A run during [`advance`](super::advance), and the moves of its steps. An event makes some of them (`events`), others
//! follow from these (`consequences`).

mod commands;
mod consequences;
mod events;

use api::{RunState, StepState};
use jiff::Timestamp;

use super::{Effect, Ending, Move, Run, StepIndex, StepStatus};

/// A run during a move.
pub(super) struct Transition<'a> {
    run: &'a mut Run,
    now: Timestamp,
    moves: Vec<Move>,
    effects: Vec<Effect>,
    paused: bool,
    started: bool,
    state_before: RunState,
    ending_before: Option<Ending>,
    /// True if waiting steps must be checked for skipping, too. Otherwise only queued steps are checked.
    sweep: bool,
}

/// `now` plus a duration, limited to the latest valid timestamp.
fn later(now: Timestamp, by: std::time::Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

impl Transition<'_> {
    pub(super) fn on(run: &mut Run, now: Timestamp) -> Transition<'_> {
        Transition {
            now,
            moves: Vec::new(),
            effects: Vec::new(),
            paused: run.state == RunState::Paused,
            started: run.state != RunState::Queued,
            state_before: run.state,
            ending_before: run.ending,
            sweep: run.ending.is_none(),
            run,
        }
    }

    /// Steps with a clock, in order.
    fn active(&self) -> Vec<StepIndex> {
        self.run.ledger.active.iter().copied().collect()
    }

    /// Sets a step's state without a journal entry.
    fn set(&mut self, step: StepIndex, state: StepState) {
        let run = &mut *self.run;
        let from = std::mem::replace(&mut run.steps[step].state, state);
        let on_failure = run.settings.on_failure;
        run.ledger
            .moved(&run.graph, on_failure, &run.steps, step, from);
    }

    fn to(&mut self, step: StepIndex, state: StepState, error: Option<String>) {
        self.set(step, state);
        let status = &mut self.run.steps[step];
        status.queued_at = None;
        if error.is_some() {
            status.error.clone_from(&error);
        }
        self.moves.push(Move::Step {
            step,
            state,
            attempt: status.attempts,
            error,
            retry_at: status.retry_at.filter(|_| state == StepState::Retrying),
        });
    }

    fn end(&mut self, step: StepIndex, state: StepState, error: Option<String>) {
        let status = &mut self.run.steps[step];
        status.deadline = None;
        status.retry_at = None;
        status.stopping = None;
        if state == StepState::Succeeded {
            status.error = None;
        }
        self.to(step, state, error);
    }

    fn begin(&mut self, step: StepIndex) {
        let timeout = self.run.graph.nodes()[step].timeout;
        let status = &mut self.run.steps[step];
        status.attempts += 1;
        status.retry_at = None;
        status.stopping = None;
        status.deadline.get_or_insert(later(self.now, timeout));
        self.to(step, StepState::Running, None);
        self.effects.push(Effect::Start(step));
    }

    fn reset(&mut self, step: StepIndex) {
        let status = &mut self.run.steps[step];
        *status = StepStatus {
            attempts: status.attempts,
            state: status.state,
            ..StepStatus::default()
        };
        self.to(step, StepState::Waiting, None);
    }
}
