//! Laws that hold for any workflow and any sequence of events.

use proptest::prelude::*;

use super::*;

fn any_workflow() -> impl Strategy<Value = Workflow> {
    let kinds = prop_oneof![
        4 => Just(StepKind::Create),
        1 => Just(StepKind::OpenBastion),
        1 => Just(StepKind::CloseBastion),
        2 => Just(StepKind::Configure),
    ];
    prop::collection::vec(
        (
            kinds,
            prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        ),
        1..12,
    )
    .prop_map(|drawn| {
        let mut steps: Vec<planner::workflow::Step> = Vec::new();
        for (number, (kind, after)) in drawn.into_iter().enumerate() {
            let mut waits: Vec<String> = after
                .iter()
                .filter(|_| number > 0)
                .map(|index| steps[index.index(number)].id.clone())
                .collect();
            waits.sort();
            waits.dedup();
            let waits: Vec<&str> = waits.iter().map(String::as_str).collect();
            steps.push(step(&format!("s{number}:do"), kind, &waits));
        }
        workflow(steps)
    })
}

fn any_class() -> impl Strategy<Value = FailureClass> {
    prop_oneof![
        Just(FailureClass::Infrastructure),
        Just(FailureClass::Transient),
        Just(FailureClass::HostUnreachable),
        Just(FailureClass::SshTimeout),
        Just(FailureClass::Lasting),
    ]
}

/// A possible next event. An index selects the step.
#[derive(Clone, Debug)]
enum RandomEvent {
    Success(prop::sample::Index),
    Failure(prop::sample::Index, FailureClass),
    TokenEnds(prop::sample::Index),
    Queues(prop::sample::Index),
    Dequeues(prop::sample::Index),
    Time(u64),
    Cancel,
    GiveWay,
    Resume,
    Crash,
    CrashAndTokenEnds,
    Nonsense(usize),
}

fn any_happening() -> impl Strategy<Value = RandomEvent> {
    prop_oneof![
        12 => any::<prop::sample::Index>().prop_map(RandomEvent::Success),
        4 => (any::<prop::sample::Index>(), any_class()).prop_map(|(step, class)| RandomEvent::Failure(step, class)),
        1 => any::<prop::sample::Index>().prop_map(RandomEvent::TokenEnds),
        1 => any::<prop::sample::Index>().prop_map(RandomEvent::Queues),
        1 => any::<prop::sample::Index>().prop_map(RandomEvent::Dequeues),
        3 => (0u64..400).prop_map(RandomEvent::Time),
        1 => Just(RandomEvent::Cancel),
        1 => Just(RandomEvent::GiveWay),
        1 => Just(RandomEvent::Resume),
        1 => Just(RandomEvent::Crash),
        1 => Just(RandomEvent::CrashAndTokenEnds),
        1 => (0usize..20).prop_map(RandomEvent::Nonsense),
    ]
}

impl Simulation {
    fn happen(&mut self, happening: &RandomEvent) {
        let pick = |walk: &Simulation, index: &prop::sample::Index| {
            (!walk.active.is_empty()).then(|| *index.get(&walk.active))
        };
        let event = match happening {
            RandomEvent::Success(index) => pick(self, index).map(Event::Succeeded),
            RandomEvent::Failure(index, class) => {
                pick(self, index).map(|step| Event::Failed(step, Failure::new(*class, "no")))
            }
            RandomEvent::TokenEnds(index) => pick(self, index).map(Event::TokenEnded),
            RandomEvent::Queues(index) => pick(self, index).map(Event::Queued),
            RandomEvent::Dequeues(index) => pick(self, index).map(Event::Dequeued),
            RandomEvent::Time(seconds) => {
                self.pass(*seconds);
                None
            }
            RandomEvent::Cancel => Some(Event::Cancel),
            RandomEvent::GiveWay => Some(Event::GiveWay),
            RandomEvent::Resume => Some(Event::Resume),
            RandomEvent::Crash => Some(Event::Recover),
            RandomEvent::CrashAndTokenEnds => Some(Event::RecoverWithoutToken),
            RandomEvent::Nonsense(step) => {
                Some(Event::Stopped(*step)).filter(|_| !self.active.contains(step))
            }
        };
        if let Some(event) = event {
            let before = self.starts.len();
            let legal = self.try_take(event.clone()).is_ok();
            if legal {
                self.check(before, &event);
            }
        }
    }

    /// Checks the laws that hold after every move.
    fn check(&self, before: usize, event: &Event) {
        let run = &self.run;
        for &step in &self.starts[before..] {
            let node = &run.graph.nodes()[step];
            assert!(
                run.ending.is_none() || node.always_run || *event == Event::Recover,
                "nothing new starts once the end is near"
            );
            assert_ne!(
                run.state,
                RunState::Paused,
                "nothing starts without a token"
            );
            for &waited in &node.after {
                let state = run.steps[waited].state;
                assert!(
                    state == StepState::Succeeded || node.always_run && state.is_final(),
                    "{node:?} waits for its kind"
                );
            }
        }
        for (step, status) in run.steps.iter().enumerate() {
            assert_eq!(
                status.state == StepState::Running,
                self.active.contains(&step),
                "running means at work"
            );
        }
        if run.state.is_final() {
            assert!(
                run.steps.iter().all(|status| status.state.is_final()),
                "a run ends after its steps"
            );
            for (node, status) in run.graph.nodes().iter().zip(&run.steps) {
                if node.always_run {
                    assert!(
                        matches!(status.state, StepState::Succeeded | StepState::Failed),
                        "{} always runs",
                        node.id
                    );
                }
            }
        }
    }

    /// Reports an outcome for every effect and a tick for every clock: the run must end.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            if self.run.state.is_final() {
                return;
            }
            if self.run.state == RunState::Paused {
                self.happen(&RandomEvent::Resume);
            } else if let Some(&step) = self.active.first() {
                let stop = self.told_to_stop.contains(&step);
                self.take(if stop {
                    Event::Stopped(step)
                } else {
                    Event::Succeeded(step)
                });
            } else {
                assert!(
                    self.run.wake_at().is_some(),
                    "nothing at work and nothing to wait for: {}",
                    self.states()
                );
                self.pass(700);
            }
        }
        panic!("the run does not end: {}", self.states());
    }
}

proptest! {
    #[test]
    fn every_run_ends_and_always_run_steps_always_run(
        drawn in any_workflow(),
        happenings in prop::collection::vec(any_happening(), 0..60),
    ) {
        let mut walk = Simulation::started(&drawn);
        for happening in &happenings {
            walk.happen(happening);
        }
        walk.finish();
        walk.check(walk.starts.len(), &Event::Tick);
    }

    #[test]
    fn any_event_in_any_state_has_an_answer(
        drawn in any_workflow(),
        happenings in prop::collection::vec(any_happening(), 0..20),
        number in 0usize..15,
    ) {
        let mut walk = Simulation::of(&drawn);
        for happening in &happenings {
            walk.happen(happening);
        }
        let failure = Failure::new(FailureClass::Transient, "no");
        for event in [
            Event::Start, Event::Recover, Event::RecoverWithoutToken, Event::Tick, Event::Cancel, Event::Resume, Event::Abandon, Event::GiveWay,
            Event::Succeeded(number), Event::Failed(number, failure), Event::Stopped(number), Event::TokenEnded(number),
            Event::Queued(number), Event::Dequeued(number),
        ] {
            let _answer = advance(&mut walk.run.clone(), &event, walk.now);
        }
    }
}
