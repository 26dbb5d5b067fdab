//! Consequences of each event: steps that are skipped, queued or started, and the state of the run.

use api::{RunState, StepState};

use super::Transition;
use crate::machine::{Advance, Ending, Move, StepIndex};

impl Transition<'_> {
    /// Skips, readies and starts steps that are due, and ends the run if all steps have ended.
    pub(in crate::machine) fn settle(mut self) -> Advance {
        if self.started || self.run.ending.is_some() {
            if self.run.ending.is_some() {
                self.skip();
            }
            self.start_ready();
        }
        self.move_run();
        Advance {
            moves: self.moves,
            effects: self.effects,
        }
    }

    /// Skips steps that will not start any more because the run is ending.
    fn skip(&mut self) {
        let candidates: Vec<StepIndex> = if self.sweep {
            (0..self.run.steps.len()).collect()
        } else {
            let ledger = &self.run.ledger;
            let ready = ledger.ready.iter().chain(&ledger.ready_to_wait);
            ready.copied().collect()
        };
        for step in candidates {
            let status = &self.run.steps[step];
            let state = match status.state {
                StepState::Queued if status.attempts > 0 => StepState::Cancelled,
                StepState::Queued | StepState::Waiting => StepState::Skipped,
                _ => continue,
            };
            if !self.run.graph.nodes()[step].always_run {
                self.end(step, state, None);
            }
        }
    }

    /// Queues unblocked steps, and starts them up to the limit. A step that starts at once is never queued in the journal:
    /// this saves one move.
    fn start_ready(&mut self) {
        let freed = std::mem::take(&mut self.run.ledger.free);
        for &step in &freed {
            self.set(step, StepState::Queued);
        }
        if !self.paused {
            let ledger = &self.run.ledger;
            let most = self.run.settings.parallel_steps.max(1);
            let room = most.saturating_sub(ledger.running);
            let first = ledger.ready.iter().take(room);
            let first: Vec<StepIndex> = first.chain(&ledger.ready_to_wait).copied().collect();
            for step in first {
                self.begin(step);
            }
        }
        // The others were written to the journal when they were queued.
        for step in freed {
            if self.run.steps[step].state == StepState::Queued {
                self.to(step, StepState::Queued, None);
            }
        }
    }

    fn move_run(&mut self) {
        let all_ended = self.run.ledger.left == 0;
        if all_ended && !self.state_before.is_final() && self.failures_max().is_some() {
            self.end_commands();
        }
        let state = match self.run.ending {
            None if !self.started => RunState::Queued,
            None if all_ended => RunState::Succeeded,
            Some(Ending::Failed) if all_ended => RunState::Failed,
            Some(Ending::Cancelled) if all_ended => RunState::Cancelled,
            _ if self.paused => RunState::Paused,
            None => RunState::Running,
            Some(Ending::Failed) => RunState::Failing,
            Some(Ending::Cancelled) => RunState::Cancelling,
        };
        if all_ended {
            self.run.give_up_at = None;
        }
        if state != self.state_before || self.ending_before != self.run.ending {
            self.run.state = state;
            self.moves.push(Move::Run {
                state,
                ending: self.run.ending,
                reason: self.run.reason.clone(),
            });
        }
    }
}
