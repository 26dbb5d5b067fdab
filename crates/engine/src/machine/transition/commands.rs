//! Commands on servers: how many failures a run of them tolerates, and what its reason tells.

use api::StepState;
use planner::workflow::StepKind;

use super::Transition;
use crate::machine::{Ending, OnFailure, StepIndex};

/// Maximum number of servers that the reason of a run names.
const NAMED_MAX: usize = 20;

impl Transition<'_> {
    pub(super) fn is_command(&self, step: StepIndex) -> bool {
        self.run.graph.nodes()[step].kind == StepKind::Command
    }

    /// Number of failed commands that end the run. `None` if the run is not one of commands.
    pub(super) fn failures_max(&self) -> Option<usize> {
        match self.run.settings.on_failure {
            OnFailure::EndAfter(most) => Some(usize::try_from(most).unwrap_or(usize::MAX).max(1)),
            OnFailure::EndTheRun | OnFailure::Continue => None,
        }
    }

    pub(super) fn failed_commands(&self) -> impl Iterator<Item = StepIndex> {
        let steps = 0..self.run.steps.len();
        steps.filter(|step| {
            self.is_command(*step) && self.run.steps[*step].state == StepState::Failed
        })
    }

    /// Ends a run whose commands failed on some servers, and names these.
    pub(super) fn end_commands(&mut self) {
        let nodes = self.run.graph.nodes();
        let name = |step: StepIndex| {
            let id = nodes[step].id.as_str();
            format!("`{}`", id.strip_suffix(":command").unwrap_or(id))
        };
        let failed: Vec<String> = self.failed_commands().map(name).collect();
        if failed.is_empty() {
            return;
        }
        let commands = || (0..nodes.len()).filter(|step| self.is_command(*step));
        let skipped = commands().filter(|step| self.run.steps[*step].state == StepState::Skipped);
        let (count, all, skipped) = (failed.len(), commands().count(), skipped.count());
        let mut reason = format!("the command failed on {count} of {all} servers: ");
        reason.push_str(&failed[..count.min(NAMED_MAX)].join(", "));
        if count > NAMED_MAX {
            reason.push_str(&format!(" and {} more", count - NAMED_MAX));
        }
        if skipped > 0 {
            reason.push_str(&format!(". It was not started on {skipped}"));
        }
        if let Some(before) = self.run.reason.take() {
            reason = format!("{reason}\n{before}");
        }
        self.run.reason = Some(reason);
        self.run.ending.get_or_insert(Ending::Failed);
    }
}
