//! The arms of [`advance`](super::advance), and the moves that follow from each.

use api::{RunState, StepState};
use jiff::Timestamp;
use planner::workflow::StepKind;

use super::{
    Advance, CRASHES_MAX, Effect, Ending, Failure, FailureClass, Move, Node, OnFailure, Run,
    StepIndex, StepStatus, Stopping,
};

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
    /// True if waiting steps must be checked for skipping, too. Otherwise only ready steps are checked.
    sweep: bool,
}

/// `now` plus a duration, limited to the latest valid timestamp.
fn later(now: Timestamp, by: std::time::Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// True for a step that changes nothing: it waits for a person, or until time has passed.
fn is_idle(node: &Node) -> bool {
    matches!(node.kind, StepKind::Hook | StepKind::Pause)
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

    // ---- events of the run ----

    pub(super) fn start(&mut self) {
        self.started = true;
    }

    /// Handles a restart. Nothing is running any more. Steps that were running start again, because effects check for
    /// existing resources before they create one. Steps of a cancelled run count as stopped.
    pub(super) fn recover(&mut self) {
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
                StepState::Running if self.paused => self.to(step, StepState::Ready, None),
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

    pub(super) fn recover_without_token(&mut self) {
        self.started = true;
        self.paused = true;
        self.run.reason.get_or_insert_with(|| NO_SESSION.into());
        self.recover();
    }

    pub(super) fn tick(&mut self) {
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

    pub(super) fn cancel(&mut self) {
        self.run.ending = Some(Ending::Cancelled);
        self.run.reason = Some("cancelled by a user".into());
        self.run.give_up_at = None;
        self.stop_all(Stopping::Cancelled);
    }

    pub(super) fn abort(&mut self) {
        for step in self.active() {
            let running = self.run.steps[step].state == StepState::Running;
            if running && !self.run.graph.nodes()[step].always_run {
                self.effects.push(Effect::Abort(step));
            }
        }
    }

    pub(super) fn unpause(&mut self) {
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
    pub(super) fn resume(&mut self) {
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

    pub(super) fn abandon(&mut self) {
        self.run.ending = Some(Ending::Cancelled);
        self.run.reason = Some("given up: another run takes its place".into());
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

    pub(super) fn give_way(&mut self) {
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
            Some("replaced: an update takes its place, from what it has made so far".into());
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

    pub(super) fn succeeded(&mut self, step: StepIndex) {
        self.end(step, StepState::Succeeded, None);
    }

    pub(super) fn failed(&mut self, step: StepIndex, failure: &Failure) {
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

    pub(super) fn stopped(&mut self, step: StepIndex) {
        // Without a reason to stop, the engine has dropped the run, and the step counts as not started.
        match self.run.steps[step].stopping {
            Some(why) => self.stopped_because(step, why, None),
            None => self.to(step, StepState::Ready, None),
        }
    }

    pub(super) fn token_ended(&mut self, step: StepIndex) {
        if let Some(why) = self.run.steps[step].stopping {
            return self.stopped_because(step, why, None);
        }
        self.paused = true;
        if self.run.ending.is_none() {
            self.run.reason = Some(TOKEN_ENDED.into());
        }
        let status = &mut self.run.steps[step];
        status.deadline = None;
        self.to(step, StepState::Ready, None);
    }

    pub(super) fn queued(&mut self, step: StepIndex) {
        self.run.steps[step].queued_at.get_or_insert(self.now);
    }

    pub(super) fn dequeued(&mut self, step: StepIndex) {
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
                "another step failed, and this one did not end in the {} s after.{last}",
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
        if self.run.settings.on_failure == OnFailure::GoOn {
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

    // ---- commands ----

    fn is_command(&self, step: StepIndex) -> bool {
        self.run.graph.nodes()[step].kind == StepKind::Command
    }

    /// Number of failed commands that end the run. `None` if the run is not one of commands.
    fn failures_max(&self) -> Option<usize> {
        match self.run.settings.on_failure {
            OnFailure::EndAfter(most) => Some(usize::try_from(most).unwrap_or(usize::MAX).max(1)),
            OnFailure::EndTheRun | OnFailure::GoOn => None,
        }
    }

    fn failed_commands(&self) -> impl Iterator<Item = StepIndex> {
        let steps = 0..self.run.steps.len();
        steps.filter(|step| {
            self.is_command(*step) && self.run.steps[*step].state == StepState::Failed
        })
    }

    /// Ends a run whose commands failed on some servers, and names these.
    fn end_commands(&mut self) {
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

    // ---- moves ----

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

    // ---- consequences ----

    /// Skips, readies and starts steps that are due, and ends the run if all steps have ended.
    pub(super) fn settle(mut self) -> Advance {
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
                StepState::Ready if status.attempts > 0 => StepState::Cancelled,
                StepState::Ready | StepState::Waiting => StepState::Skipped,
                _ => continue,
            };
            if !self.run.graph.nodes()[step].always_run {
                self.end(step, state, None);
            }
        }
    }

    /// Makes unblocked steps ready, and starts them up to the limit. A step that starts at once is never ready in the
    /// journal: this saves one move.
    fn start_ready(&mut self) {
        let freed = std::mem::take(&mut self.run.ledger.free);
        for &step in &freed {
            self.set(step, StepState::Ready);
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
        // The others were written to the journal when they became ready.
        for step in freed {
            if self.run.steps[step].state == StepState::Ready {
                self.to(step, StepState::Ready, None);
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

/// Maximum number of servers that the reason of a run names.
const NAMED_MAX: usize = 20;

const TOKEN_ENDED: &str = "the login of this run has expired; log in again, and the run continues";
/// Reason for a pause when a run is taken up and there is no session for it.
const NO_SESSION: &str = "the login of this run has expired, or the cloud did not answer when the server started; the run \
    continues when you log in again, or when the cloud answers";
