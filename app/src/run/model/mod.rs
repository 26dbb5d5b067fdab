//! Model of a run on the page: the server's snapshot, updated by every event in order. Pure.

mod attempts;
mod forecast;

use std::collections::{BTreeMap, HashMap};

use api::{
    Event, EventBody, Named as _, ResourceState, Run, RunKind, RunState, RunStep, StepKind,
    StepState,
};

use self::attempts::FailedAttempt;

/// Accepts events in the order of their numbers, each once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The last accepted number.
    pub last: u64,
}

/// Result of [`Sequence::take`].
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Events that follow without a gap.
    pub fresh: Vec<Event>,
    /// True if events are missing. Fetch again after [`Sequence::last`].
    pub has_gap: bool,
}

impl Sequence {
    /// Drops events that were accepted before, and all events after the first gap.
    pub fn accept(&mut self, events: Vec<Event>) -> Taken {
        let mut fresh = Vec::with_capacity(events.len());
        for event in events {
            if event.seq <= self.last {
                continue;
            }
            if event.seq != self.last + 1 {
                return Taken {
                    fresh,
                    has_gap: true,
                };
            }
            self.last = event.seq;
            fresh.push(event);
        }
        Taken {
            fresh,
            has_gap: false,
        }
    }
}

/// Run, updated by its events.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Snapshot of the server, updated by events.
    pub run: Run,
    /// Changed resources by name, with their state and cloud id.
    pub resources: BTreeMap<String, (ResourceState, Option<String>)>,
    /// Times of the next attempts of retrying steps, in RFC 3339, by step.
    pub next_attempts: BTreeMap<String, String>,
    /// Failed attempts by step. See [`Model::failures`].
    failures: BTreeMap<String, Vec<FailedAttempt>>,
    index: HashMap<String, usize>,
}

impl Model {
    /// Model of the server's snapshot.
    pub fn new(run: Run) -> Model {
        let index = run
            .steps
            .iter()
            .enumerate()
            .map(|(at, step)| (step.id.clone(), at))
            .collect();
        Model {
            run,
            resources: BTreeMap::new(),
            next_attempts: BTreeMap::new(),
            failures: BTreeMap::new(),
            index,
        }
    }

    /// State before all events, as the start of a full replay. Displayed values therefore never go back in time.
    pub fn beginning(run: &Run) -> Model {
        let mut model = Model::new(run.clone());
        model.run.state = RunState::Queued;
        model.run.reason = None;
        model.run.started = None;
        model.run.ended = None;
        for step in &mut model.run.steps {
            step.set_state(StepState::Waiting);
            step.attempts = 0;
            step.started = None;
            step.ended = None;
            step.error = None;
        }
        model
    }

    /// Index of a step by its id.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// Step by its id.
    pub fn step(&self, id: &str) -> Option<&RunStep> {
        self.run.steps.get(self.position(id)?)
    }

    /// Applies one event. Returns true if it changed more than the log.
    pub fn apply(&mut self, event: &Event) -> bool {
        match &event.body {
            EventBody::Log(_) => return false,
            EventBody::Run { state, reason } => self.move_run(*state, reason.clone(), &event.time),
            EventBody::Step {
                step,
                state,
                attempt,
                error,
                retry_at,
            } => {
                match retry_at {
                    Some(at) => self.next_attempts.insert(step.clone(), at.clone()),
                    None => self.next_attempts.remove(step),
                };
                if let Some(error) = error {
                    let failure = FailedAttempt {
                        number: *attempt,
                        started: self.step(step).and_then(|step| step.started.clone()),
                        time: event.time.clone(),
                        error: error.clone(),
                    };
                    self.add_failure(step, failure);
                }
                if let Some(step) = self
                    .index
                    .get(step)
                    .and_then(|at| self.run.steps.get_mut(*at))
                {
                    move_step(step, *state, *attempt, error.clone(), &event.time);
                }
            }
            EventBody::Resource {
                name,
                state,
                physical_id,
            } => {
                let entry = self.resources.entry(name.clone()).or_insert((*state, None));
                entry.0 = *state;
                if physical_id.is_some() {
                    entry.1.clone_from(physical_id);
                }
            }
        }
        true
    }

    fn move_run(&mut self, state: RunState, reason: Option<String>, time: &str) {
        self.run.state = state;
        self.run.reason = reason;
        if state == RunState::Running && self.run.started.is_none() {
            self.run.started = Some(time.to_owned());
        }
        self.run.ended = state.is_final().then(|| time.to_owned());
    }

    /// Number of succeeded steps, and of all steps. Skipped and stopped steps do not count as done, because a resume
    /// runs them.
    pub fn progress(&self) -> (usize, usize) {
        let done = |step: &&RunStep| step.state == StepState::Succeeded;
        (
            self.run.steps.iter().filter(done).count(),
            self.run.steps.len(),
        )
    }

    /// Step to display: the first one that failed, otherwise the last running one.
    pub fn focused_step(&self) -> Option<&RunStep> {
        let at_work =
            |step: &&RunStep| matches!(step.state, StepState::Running | StepState::Retrying);
        self.cause()
            .or_else(|| self.run.steps.iter().rev().find(at_work))
    }

    /// Step that caused the failure: the failed step that ended first.
    pub fn cause(&self) -> Option<&RunStep> {
        self.run
            .steps
            .iter()
            .filter(|step| step.state == StepState::Failed)
            .min_by(|one, other| one.ended.cmp(&other.ended))
    }

    /// State of each resource for the canvas: one word of [`ResourceState`] or [`StepState`] for all its steps.
    pub fn states_of_resources(&self) -> HashMap<String, String> {
        let mut by_resource: BTreeMap<&str, Vec<&RunStep>> = BTreeMap::new();
        for step in &self.run.steps {
            // The pending removal of the bastion's rule does not make its server wait.
            let is_tidying =
                step.kind == StepKind::CloseBastion && step.state == StepState::Waiting;
            if let Some(resource) = step.resource.as_ref().filter(|_| !is_tidying) {
                by_resource.entry(resource).or_default().push(step);
                // A group represents its members.
                let drawn = planner::members::drawn(resource);
                if drawn != resource {
                    by_resource.entry(drawn).or_default().push(step);
                }
            }
        }
        by_resource
            .into_iter()
            .map(|(name, steps)| {
                let states: Vec<StepState> = steps.iter().map(|step| step.state).collect();
                // A group that loses a member stays.
                let is_removal = steps.iter().all(|step| {
                    let is_own = step.resource.as_deref() == Some(name);
                    step.kind == StepKind::Delete && (is_own || self.run.kind == RunKind::Undeploy)
                });
                let is_suspended = steps.iter().any(|step| step.kind == StepKind::Suspend);
                let word = match combined(&states) {
                    StepState::Succeeded if is_removal => ResourceState::Removed.word(),
                    StepState::Running if is_removal => ResourceState::Removing.word(),
                    StepState::Succeeded if is_suspended => ResourceState::Suspended.word(),
                    StepState::Succeeded => ResourceState::Ready.word(),
                    state => state.word(),
                };
                (name.to_owned(), word.to_owned())
            })
            .collect()
    }
}

fn move_step(
    step: &mut RunStep,
    state: StepState,
    attempt: u32,
    error: Option<String>,
    time: &str,
) {
    step.set_state(state);
    step.attempts = step.attempts.max(attempt);
    match state {
        // The run was resumed.
        StepState::Waiting => step.started = None,
        StepState::Running if step.started.is_none() => step.started = Some(time.to_owned()),
        _ => {}
    }
    step.ended = (state.is_final() && step.started.is_some()).then(|| time.to_owned());
    if error.is_some() || state == StepState::Succeeded {
        step.error = error;
    }
}

/// Most urgent state. Between two steps of a resource it is `Waiting`.
fn combined(states: &[StepState]) -> StepState {
    for loud in [
        StepState::Failed,
        StepState::Retrying,
        StepState::Running,
        StepState::Cancelled,
        StepState::Queued,
    ] {
        if states.contains(&loud) {
            return loud;
        }
    }
    let all = |state: StepState| states.iter().all(|it| *it == state);
    if all(StepState::Succeeded) {
        StepState::Succeeded
    } else if states.contains(&StepState::Skipped) {
        StepState::Skipped
    } else {
        StepState::Waiting
    }
}

#[cfg(test)]
mod tests {
    use api::{LogLevel, LogLine, LogStream};

    use super::*;

    pub(super) fn run() -> Run {
        let step = |id: &str, resource: &str| RunStep {
            id: id.to_owned(),
            kind: StepKind::Create,
            resource: Some(resource.to_owned()),
            state: StepState::Waiting,
            after: Vec::new(),
            attempts: 0,
            started: None,
            ended: None,
            error: None,
            shown_as: None,
            expected_ms: None,
        };
        Run {
            rolls_back: false,
            scaling: None,
            command: None,
            log_deleted: None,
            replaced_by: None,
            waits_for_user: false,
            id: String::from("r"),
            deployment: String::from("d"),
            kind: RunKind::Deploy,
            state: RunState::Queued,
            reason: None,
            author: String::from("demo"),
            created: String::from("2026-01-01T00:00:00Z"),
            started: None,
            ended: None,
            steps: vec![
                step("net:create", "net"),
                step("web:create", "web"),
                step("web:ssh", "web"),
            ],
        }
    }

    fn event(seq: u64, body: EventBody) -> Event {
        Event {
            seq,
            time: format!("2026-01-01T00:00:{seq:02}Z"),
            body,
        }
    }

    pub(super) fn step(seq: u64, id: &str, state: StepState) -> Event {
        event(
            seq,
            EventBody::Step {
                step: id.to_owned(),
                state,
                attempt: 1,
                error: None,
                retry_at: None,
            },
        )
    }

    fn log(seq: u64) -> Event {
        let text = format!("line {seq}");
        event(
            seq,
            EventBody::Log(LogLine {
                step: String::from("web:create"),
                host: None,
                play: None,
                task: None,
                stream: LogStream::Engine,
                level: LogLevel::Info,
                text,
                position: None,
            }),
        )
    }

    fn numbers(taken: &Taken) -> Vec<u64> {
        taken.fresh.iter().map(|event| event.seq).collect()
    }

    #[test]
    fn events_are_applied_once_and_in_order() {
        let mut sequence = Sequence::default();
        assert_eq!(numbers(&sequence.accept(vec![log(1), log(2)])), [1, 2]);
        assert_eq!(numbers(&sequence.accept(vec![log(1), log(2), log(3)])), [3]);
        assert_eq!(
            sequence.accept(vec![log(2)]),
            Taken {
                fresh: vec![],
                has_gap: false
            }
        );
    }

    #[test]
    fn a_missing_event_holds_back_later_ones() {
        let mut sequence = Sequence { last: 3 };
        let taken = sequence.accept(vec![log(4), log(6), log(7)]);
        assert_eq!((numbers(&taken), taken.has_gap), (vec![4], true));
        let taken = sequence.accept(vec![log(5), log(6), log(7)]);
        assert_eq!((numbers(&taken), taken.has_gap), (vec![5, 6, 7], false));
    }

    #[test]
    fn a_replay_ends_in_the_state_of_the_server() {
        let mut model = Model::beginning(&run());
        for event in [
            event(
                1,
                EventBody::Run {
                    state: RunState::Running,
                    reason: None,
                },
            ),
            step(2, "net:create", StepState::Running),
            log(3),
            step(4, "net:create", StepState::Succeeded),
            step(5, "web:create", StepState::Running),
        ] {
            model.apply(&event);
        }
        assert_eq!(model.progress(), (1, 3));
        assert_eq!(model.run.started.as_deref(), Some("2026-01-01T00:00:01Z"));
        let net = model.step("net:create").expect("it is there");
        assert_eq!(
            (net.started.as_deref(), net.ended.as_deref()),
            (Some("2026-01-01T00:00:02Z"), Some("2026-01-01T00:00:04Z"))
        );
        let states = model.states_of_resources();
        assert_eq!(
            (states["net"].as_str(), states["web"].as_str()),
            ("ready", "running")
        );
    }

    #[test]
    fn a_resource_is_removed_and_a_group_that_loses_a_member_is_not() {
        let mut run = run();
        run.steps.truncate(2);
        for (step, resource) in run.steps.iter_mut().zip(["net", "web/1"]) {
            step.kind = StepKind::Delete;
            step.resource = Some(resource.to_owned());
            step.state = StepState::Succeeded;
        }
        let states = |run: &Run| {
            let states = Model::new(run.clone()).states_of_resources();
            ["net", "web/1", "web"].map(|name| states[name].clone())
        };
        run.kind = RunKind::Update;
        assert_eq!(states(&run), ["removed", "removed", "ready"]);
        run.kind = RunKind::Undeploy;
        assert_eq!(states(&run), ["removed", "removed", "removed"]);
        run.steps[0].state = StepState::Running;
        assert_eq!(states(&run)[0], "removing");
    }

    #[test]
    fn a_resumed_step_has_the_time_of_its_new_start() {
        let mut model = Model::beginning(&run());
        for event in [
            step(1, "net:create", StepState::Running),
            step(2, "net:create", StepState::Retrying),
            step(3, "net:create", StepState::Running),
            step(4, "net:create", StepState::Failed),
        ] {
            model.apply(&event);
        }
        let times = |model: &Model| {
            let net = model.step("net:create").expect("it is there");
            (net.started.clone(), net.ended.clone())
        };
        let at = |second: u64| Some(format!("2026-01-01T00:00:{second:02}Z"));
        assert_eq!(times(&model), (at(1), at(4)));
        model.apply(&step(50, "net:create", StepState::Waiting));
        assert_eq!(times(&model), (None, None));
        for (seq, state) in [
            (51, StepState::Queued),
            (52, StepState::Running),
            (53, StepState::Succeeded),
        ] {
            model.apply(&step(seq, "net:create", state));
        }
        assert_eq!(times(&model), (at(52), at(53)));
    }

    #[test]
    fn the_first_failed_step_is_shown_as_the_cause() {
        let mut model = Model::beginning(&run());
        for event in [
            step(1, "web:create", StepState::Running),
            step(2, "net:create", StepState::Running),
            step(3, "web:create", StepState::Failed),
            step(4, "net:create", StepState::Failed),
        ] {
            model.apply(&event);
        }
        assert_eq!(
            model.cause().map(|step| step.id.as_str()),
            Some("web:create")
        );
    }

    #[test]
    fn a_resource_between_two_steps_waits() {
        assert_eq!(
            combined(&[StepState::Succeeded, StepState::Waiting]),
            StepState::Waiting
        );
        assert_eq!(
            combined(&[StepState::Succeeded, StepState::Succeeded]),
            StepState::Succeeded
        );
        assert_eq!(
            combined(&[StepState::Succeeded, StepState::Failed]),
            StepState::Failed
        );
        assert_eq!(
            combined(&[StepState::Succeeded, StepState::Skipped]),
            StepState::Skipped
        );
        assert_eq!(combined(&[StepState::Waiting]), StepState::Waiting);
    }

    #[test]
    fn an_invalid_event_changes_nothing() {
        let mut model = Model::new(run());
        model.apply(&step(1, "no-such-step", StepState::Failed));
        assert_eq!(model.progress(), (0, 3));
        assert!(!model.apply(&log(2)));
    }
}
