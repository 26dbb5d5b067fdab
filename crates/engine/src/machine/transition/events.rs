//! The events of the run and of its steps: the arms of [`advance`](crate::machine::advance).

use api::StepState;
use planner::workflow::StepKind;

use super::{Transition, later};
use crate::machine::{
    CRASHES_MAX, Effect, Ending, Failure, FailureClass, Node, OnFailure, StepIndex, StepStatus,
    Stopping,
};

const TOKEN_ENDED: &str = "the login of this run has expired; log in again, and the run continues";
/// Reason for a pause when a run is taken up and there is no session for it.
const NO_SESSION: &str = "the login of this run has expired, or the cloud did not answer when the server started; the run \
    continues when you log in again, or when the cloud answers";

/// True for a step that changes nothing: it waits for a person, or until time has passed.
fn is_idle(node: &Node) -> bool {
    matches!(node.kind, StepKind::Hook | StepKind::Pause)
}

impl Transition<'_> {
    // ---- events of the run ----

    pub(in crate::machine) fn start(&mut self) {
        self.started = true;
    }

    /// Handles a restart. Nothing is running any more. Steps that were running start again, because effects check for
    /// existing resources before they create one. Steps of a cancelled run count as stopped.
    pub(in crate::machine) fn recover(&mut self) {
        self.sweep = true;
        if self.run.ending == Some(Ending::Failed) && self.failures_max().is_none() {
            self.run.give_up_at = Some(later(self.now, self.run.settings.grace));
        }
        for step in 0..self.run.steps.len() {
            let status = &mut self.run.steps[step];
            match status.state {
                StepState::Running
                    if self.run.ending == Some(Ending::Cancelled)
                        && !self.run.graph.nodes()[step].always_run =>
                {
                    self.end(step, StepState::Cancelled, None);
                }
                StepState::Running if self.paused => self.to(step, StepState::Queued, None),
                StepState::Running
                    if status.crashes >= CRASHES_MAX
                        && !self.run.graph.nodes()[step].always_run =>
                {
                    let message = format!(
                        "it was running at each of the last {} crashes of the server, so it is not started again. The server's log \
                         may tell why. Resume the run to try once more",
                        status.crashes
                    );
                    self.fail(step, message, FailureClass::Lasting);
                }
                StepState::Running => {
                    status.stopping = None;
                    status.queued_at = None;
                    status.deadline = Some(later(self.now, self.run.graph.nodes()[step].timeout));
                    self.effects.push(Effect::Start(step));
                }
                StepState::Retrying => {
                    status.retry_at = Some(self.now);
                    status.deadline = Some(later(self.now, self.run.graph.nodes()[step].timeout));
                }
                _ => {}
            }
        }
    }

    pub(in crate::machine) fn recover_without_token(&mut self) {
        self.started = true;
        self.paused = true;
        self.run.reason.get_or_insert_with(|| NO_SESSION.into());
        self.recover();
    }

    pub(in crate::machine) fn tick(&mut self) {
        let grace_over = self.run.give_up_at.is_some_and(|at| at <= self.now);
        for step in self.active() {
            let always_run = self.run.graph.nodes()[step].always_run;
            let status = &mut self.run.steps[step];
            let timed_out =
                status.queued_at.is_none() && status.deadline.is_some_and(|at| at <= self.now);
            let stop = match (timed_out, grace_over && !always_run) {
                (_, true) => Some(Stopping::GraceOver),
                (true, _) => Some(Stopping::TimedOut),
                _ => None,
            };
            match (status.state, stop) {
                (StepState::Running, Some(why)) if status.stopping.is_none() => {
                    status.stopping = Some(why);
                    self.effects.push(Effect::Stop(step));
                }
                // Time in a pause does not count against a step's time limit.
                (StepState::Retrying, Some(why)) if !self.paused || why == Stopping::GraceOver => {
                    self.give_up(step, why)
                }
                (StepState::Retrying, None)
                    if !self.paused && status.retry_at.is_some_and(|at| at <= self.now) =>
                {
                    self.begin(step)
                }
                _ => {}
            }
        }
    }

    pub(in crate::machine) fn cancel(&mut self) {
        self.run.ending = Some(Ending::Cancelled);
        self.run.reason = Some("cancelled by a user".into());
        self.run.give_up_at = None;
        self.stop_all(Stopping::Cancelled);
    }

    pub(in crate::machine) fn abort(&mut self) {
        for step in self.active() {
            let running = self.run.steps[step].state == StepState::Running;
            if running && !self.run.graph.nodes()[step].always_run {
                self.effects.push(Effect::Abort(step));
            }
        }
    }

    pub(in crate::machine) fn unpause(&mut self) {
        self.paused = false;
        if self.run.ending.is_none() {
            self.run.reason = None;
        }
        for (status, node) in self.run.steps.iter_mut().zip(self.run.graph.nodes()) {
            if status.state == StepState::Retrying {
                status.deadline = Some(later(self.now, node.timeout));
            }
        }
    }

    /// Continues after a bad ending. Succeeded steps do not run again, except those whose effect an always-run step has
    /// undone.
    pub(in crate::machine) fn resume(&mut self) {
        self.run.ending = None;
        self.run.reason = None;
        self.run.give_up_at = None;
        let mut work_left = false;
        for step in 0..self.run.steps.len() {
            if self.run.steps[step].state != StepState::Succeeded {
                work_left |= !self.run.graph.nodes()[step].always_run;
                self.reset(step);
            }
        }
        if work_left {
            for step in 0..self.run.steps.len() {
                let node = &self.run.graph.nodes()[step];
                if node.always_run || node.kind == StepKind::OpenBastion {
                    self.reset(step);
                }
            }
        }
    }

    pub(in crate::machine) fn abandon(&mut self) {
        self.run.ending = Some(Ending::Cancelled);
        self.run.reason = Some("abandoned: another run replaces it".into());
        for step in 0..self.run.steps.len() {
            let status = &self.run.steps[step];
            if status.state == StepState::Running {
                self.effects.push(Effect::Abort(step));
            }
            if !status.state.is_final() {
                let state = if status.attempts > 0 {
                    StepState::Cancelled
                } else {
                    StepState::Skipped
                };
                self.end(step, state, None);
            }
        }
    }

    pub(in crate::machine) fn give_way(&mut self) {
        let steps = self.run.steps.iter().zip(self.run.graph.nodes());
        let is_left = |(status, node): (&StepStatus, &Node)| {
            let is_at_work = status.state == StepState::Running && !is_idle(node);
            !is_at_work && !status.state.is_final() && !node.always_run
        };
        if !steps.into_iter().any(is_left) {
            return;
        }
        self.run.ending = Some(Ending::Cancelled);
        self.run.reason =
            Some("replaced: an update continues from what it has created so far".into());
        for step in self.active() {
            let node = &self.run.graph.nodes()[step];
            let status = &mut self.run.steps[step];
            match status.state {
                StepState::Retrying if !node.always_run => {
                    self.end(step, StepState::Cancelled, None);
                }
                StepState::Running if is_idle(node) && status.stopping.is_none() => {
                    status.stopping = Some(Stopping::Cancelled);
                    self.effects.push(Effect::Stop(step));
                }
                _ => {}
            }
        }
    }

    // ---- events of a step ----

    pub(in crate::machine) fn succeeded(&mut self, step: StepIndex) {
        self.end(step, StepState::Succeeded, None);
    }

    pub(in crate::machine) fn failed(&mut self, step: StepIndex, failure: &Failure) {
        if let Some(why) = self.run.steps[step].stopping {
            return self.stopped_because(step, why, Some(&failure.message));
        }
        // A script is not made to be repeated, and a run that gives way does not begin a step once more.
        let gives_way =
            self.run.ending == Some(Ending::Cancelled) && !self.run.graph.nodes()[step].always_run;
        if self.is_command(step) || gives_way {
            return self.fail(step, failure.message.clone(), failure.class);
        }
        match self.run.steps[step]
            .retries
            .next(failure, self.run.settings.retry_pause)
        {
            Some((pause, retries)) => {
                let status = &mut self.run.steps[step];
                status.retries = retries;
                status.retry_at = Some(later(self.now, pause));
                self.to(step, StepState::Retrying, Some(failure.message.clone()));
            }
            None => self.fail(step, failure.message.clone(), failure.class),
        }
    }

    pub(in crate::machine) fn stopped(&mut self, step: StepIndex) {
        // Without a reason to stop, the engine has dropped the run, and the step counts as not started.
        match self.run.steps[step].stopping {
            Some(why) => self.stopped_because(step, why, None),
            None => self.to(step, StepState::Queued, None),
        }
    }

    pub(in crate::machine) fn token_ended(&mut self, step: StepIndex) {
        if let Some(why) = self.run.steps[step].stopping {
            return self.stopped_because(step, why, None);
        }
        self.paused = true;
        if self.run.ending.is_none() {
            self.run.reason = Some(TOKEN_ENDED.into());
        }
        let status = &mut self.run.steps[step];
        status.deadline = None;
        self.to(step, StepState::Queued, None);
    }

    pub(in crate::machine) fn queued(&mut self, step: StepIndex) {
        self.run.steps[step].queued_at.get_or_insert(self.now);
    }

    pub(in crate::machine) fn dequeued(&mut self, step: StepIndex) {
        let status = &mut self.run.steps[step];
        if let (Some(since), Some(deadline)) = (status.queued_at.take(), status.deadline) {
            let waited = std::time::Duration::try_from(self.now.duration_since(since));
            status.deadline = Some(later(deadline, waited.unwrap_or_default()));
        }
    }

    fn stopped_because(&mut self, step: StepIndex, why: Stopping, last: Option<&str>) {
        match why {
            Stopping::Cancelled => self.end(step, StepState::Cancelled, None),
            Stopping::GraceOver | Stopping::TimedOut => {
                if let Some(last) = last {
                    self.run.steps[step].error = Some(last.into());
                }
                self.give_up(step, why);
            }
        }
    }

    /// Sets a stopped step, or a step that waits for a retry, to failed.
    fn give_up(&mut self, step: StepIndex, why: Stopping) {
        let node = &self.run.graph.nodes()[step];
        let last = self.run.steps[step]
            .error
            .as_deref()
            .map(|error| format!(" Last: {error}"))
            .unwrap_or_default();
        let message = match why {
            Stopping::TimedOut => format!(
                "it was not done after {} s, its time limit.{last}",
                node.timeout.as_secs()
            ),
            Stopping::GraceOver => format!(
                "another step failed, and this one did not end within {} s.{last}",
                self.run.settings.grace.as_secs()
            ),
            Stopping::Cancelled => return self.end(step, StepState::Cancelled, None),
        };
        self.fail(step, message, FailureClass::Lasting);
    }

    fn fail(&mut self, step: StepIndex, message: String, class: FailureClass) {
        let reason = format!(
            "step `{}` failed: {message}",
            self.run.graph.nodes()[step].id
        );
        self.end(step, StepState::Failed, Some(message));
        if let Some(most) = self.failures_max().filter(|_| self.is_command(step)) {
            if self.run.ending.is_none() && self.failed_commands().count() >= most {
                self.run.ending = Some(Ending::Failed);
            }
            return;
        }
        if self.run.settings.on_failure == OnFailure::Continue {
            let all = self
                .run
                .reason
                .take()
                .map(|before| format!("{before}\n{reason}"))
                .unwrap_or(reason);
            self.run.reason = Some(all);
            return;
        }
        if self.run.ending.is_none() {
            self.run.ending = Some(Ending::Failed);
            self.run.reason = Some(reason);
            self.run.give_up_at = Some(later(self.now, self.run.settings.grace));
        }
        if class == FailureClass::SshTimeout && self.run.ending == Some(Ending::Failed) {
            self.run.give_up_at = Some(self.now);
            self.stop_all(Stopping::GraceOver);
        }
    }

    /// Stops all running steps, except always-run steps.
    fn stop_all(&mut self, why: Stopping) {
        for step in self.active() {
            if self.run.graph.nodes()[step].always_run {
                continue;
            }
            let status = &mut self.run.steps[step];
            match status.state {
                StepState::Running if status.stopping.is_none() => {
                    status.stopping = Some(why);
                    self.effects.push(Effect::Stop(step));
                }
                // A user's cancellation replaces the end of the grace period.
                StepState::Running => status.stopping = Some(why),
                StepState::Retrying => self.give_up(step, why),
                _ => {}
            }
        }
    }
}
