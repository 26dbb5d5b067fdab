//! Values that are derived from the states of a run's steps and that every event needs. They are updated with each
//! move, so that the cost of an event depends on its changes and not on the number of steps. A run of thousands of
//! steps has thousands of events.

use std::collections::BTreeSet;

use api::StepState;

use super::{Graph, OnFailure, StepIndex, StepStatus};

/// Counts and queues over the steps of a run. All of them can be computed again from the steps' states.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ledger {
    /// The number of predecessors that still block a step, by index.
    blocked_by: Vec<u32>,
    /// Waiting steps that no predecessor blocks any more.
    pub free: BTreeSet<StepIndex>,
    /// Queued steps, in the order in which they start.
    pub ready: BTreeSet<StepIndex>,
    /// Running steps, and steps that wait for a retry: the steps with a clock.
    pub active: BTreeSet<StepIndex>,
    /// Queued steps that start whatever the number of running steps.
    pub ready_to_wait: BTreeSet<StepIndex>,
    /// Number of running steps that take a slot.
    pub running: usize,
    /// Number of steps that have not ended.
    pub left: usize,
}

/// True if a predecessor in this state does not block a step. With `however`, any ending counts: for always-run steps,
/// and for runs that continue after failures.
fn unblocks_others(state: StepState, however: bool) -> bool {
    state == StepState::Succeeded || however && state.is_final()
}

impl Ledger {
    pub fn of(graph: &Graph, on_failure: OnFailure, steps: &[StepStatus]) -> Ledger {
        let mut ledger = Ledger {
            blocked_by: vec![0; steps.len()],
            ..Ledger::default()
        };
        for (step, node) in graph.nodes().iter().enumerate() {
            let however = node.always_run || on_failure == OnFailure::Continue;
            let blocks = |before: &&StepIndex| !unblocks_others(steps[**before].state, however);
            let blocked = node.after.iter().filter(blocks).count();
            ledger.blocked_by[step] = u32::try_from(blocked).unwrap_or(u32::MAX);
            ledger.add(graph, step, steps[step].state);
        }
        ledger
    }

    /// Updates the ledger after a step's move.
    pub fn moved(
        &mut self,
        graph: &Graph,
        on_failure: OnFailure,
        steps: &[StepStatus],
        step: StepIndex,
        from: StepState,
    ) {
        let to = steps[step].state;
        if from == to {
            return;
        }
        self.remove(graph, step, from);
        self.add(graph, step, to);
        for &follower in graph.followers(step) {
            let however = graph.nodes()[follower].always_run || on_failure == OnFailure::Continue;
            match (unblocks_others(from, however), unblocks_others(to, however)) {
                (false, true) => {
                    self.blocked_by[follower] -= 1;
                    self.is_free_if(follower, steps[follower].state);
                }
                (true, false) => {
                    self.blocked_by[follower] += 1;
                    self.free.remove(&follower);
                }
                _ => {}
            }
        }
    }

    fn remove(&mut self, graph: &Graph, step: StepIndex, state: StepState) {
        let takes_slot = graph.nodes()[step].takes_slot;
        match state {
            StepState::Waiting => {
                self.free.remove(&step);
            }
            StepState::Queued => {
                self.ready.remove(&step);
                self.ready_to_wait.remove(&step);
            }
            StepState::Running => {
                self.active.remove(&step);
                self.running -= usize::from(takes_slot);
            }
            StepState::Retrying => {
                self.active.remove(&step);
            }
            _ => {}
        }
        if !state.is_final() {
            self.left -= 1;
        }
    }

    fn add(&mut self, graph: &Graph, step: StepIndex, state: StepState) {
        let takes_slot = graph.nodes()[step].takes_slot;
        match state {
            StepState::Waiting => self.is_free_if(step, state),
            StepState::Queued if takes_slot => {
                self.ready.insert(step);
            }
            StepState::Queued => {
                self.ready_to_wait.insert(step);
            }
            StepState::Running => {
                self.active.insert(step);
                self.running += usize::from(takes_slot);
            }
            StepState::Retrying => {
                self.active.insert(step);
            }
            _ => {}
        }
        if !state.is_final() {
            self.left += 1;
        }
    }

    fn is_free_if(&mut self, step: StepIndex, state: StepState) {
        if state == StepState::Waiting && self.blocked_by[step] == 0 {
            self.free.insert(step);
        }
    }
}
