//! Runs driven by the machine, with a clock that the test moves.

use std::{sync::Arc, time::Duration};

use api::{RunState, StepState};
use jiff::Timestamp;
use planner::workflow::{StepKind, Workflow};

use super::*;
use crate::testing::{step, workflow};

mod commands;
mod failures;
mod giving_way;
mod interruptions;
mod laws;
mod scheduling;

/// A run, its clock, and the effects whose outcome is not reported yet.
struct Simulation {
    run: Run,
    now: Timestamp,
    active: Vec<StepIndex>,
    told_to_stop: Vec<StepIndex>,
    starts: Vec<StepIndex>,
}

impl Simulation {
    fn of(workflow: &Workflow) -> Simulation {
        let settings = Settings {
            grace: Duration::from_secs(120),
            retry_pause: Duration::from_secs(10),
            parallel_steps: 3,
            on_failure: OnFailure::EndTheRun,
        };
        Simulation {
            run: Run::new(Arc::new(Graph::of(workflow).unwrap()), settings),
            now: Timestamp::UNIX_EPOCH,
            active: Vec::new(),
            told_to_stop: Vec::new(),
            starts: Vec::new(),
        }
    }

    fn started(workflow: &Workflow) -> Simulation {
        let mut walk = Simulation::of(workflow);
        walk.take(Event::Start);
        walk
    }

    fn take(&mut self, event: Event) -> &mut Simulation {
        self.try_take(event).unwrap();
        self
    }

    fn try_take(&mut self, event: Event) -> Result<(), IllegalMove> {
        let before = self.run.clone();
        let advance = match advance(&mut self.run, &event, self.now) {
            Ok(advance) => advance,
            Err(illegal) => {
                assert_eq!(self.run, before, "it stays as it was");
                return Err(illegal);
            }
        };
        assert_eq!(
            replay(&before, &advance.moves),
            states(&self.run),
            "the moves tell the whole story"
        );
        let (settings, steps) = (self.run.settings, &self.run.steps);
        assert_eq!(
            self.run.ledger,
            Ledger::of(&self.run.graph, settings.on_failure, steps),
            "what was kept up to date is what follows from the states"
        );
        if let Event::Succeeded(step)
        | Event::Failed(step, _)
        | Event::Stopped(step)
        | Event::TokenEnded(step) = event
        {
            self.active.retain(|active| *active != step);
            self.told_to_stop.retain(|other| *other != step);
        }
        if matches!(event, Event::Recover | Event::RecoverWithoutToken) {
            self.active.clear();
            self.told_to_stop.clear();
        }
        for effect in &advance.effects {
            match *effect {
                Effect::Start(step) => {
                    assert!(!self.active.contains(&step), "a step is at work once");
                    self.active.push(step);
                    self.starts.push(step);
                }
                Effect::Stop(step) | Effect::Abort(step) => {
                    if !self.told_to_stop.contains(&step) {
                        self.told_to_stop.push(step);
                    }
                }
            }
        }
        Ok(())
    }

    fn index(&self, id: &str) -> StepIndex {
        self.run.graph.index(id).unwrap()
    }

    fn succeed(&mut self, id: &str) -> &mut Simulation {
        self.take(Event::Succeeded(self.index(id)))
    }

    fn fail(&mut self, id: &str, class: FailureClass) -> &mut Simulation {
        self.take(Event::Failed(
            self.index(id),
            Failure::new(class, "it broke"),
        ))
    }

    fn pass(&mut self, seconds: u64) -> &mut Simulation {
        self.now += Duration::from_secs(seconds);
        while self.run.wake_at().is_some_and(|at| at <= self.now) {
            self.take(Event::Tick);
        }
        self
    }

    fn states(&self) -> String {
        let names = self.run.graph.nodes().iter().zip(&self.run.steps);
        names
            .map(|(node, status)| format!("{}={:?}", node.id, status.state))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn states(run: &Run) -> (RunState, Vec<StepState>) {
    (
        run.state,
        run.steps.iter().map(|status| status.state).collect(),
    )
}

/// The states in the journal after these moves. A waiting step whose queued move was omitted counts as waiting.
fn replay(before: &Run, moves: &[Move]) -> (RunState, Vec<StepState>) {
    let (mut run, mut steps) = states(before);
    for entry in moves {
        match entry {
            Move::Run { state, .. } => run = *state,
            Move::Step { step, state, .. } => steps[*step] = *state,
        }
    }
    (run, steps)
}

/// A bastion, a server behind it, software on the server, and an independent step.
fn software() -> Workflow {
    workflow([
        step("net:create", StepKind::Create, &[]),
        step("bastion:open", StepKind::OpenBastion, &["net:create"]),
        step("web:create", StepKind::Create, &["net:create"]),
        step(
            "web:ssh",
            StepKind::WaitForSsh,
            &["web:create", "bastion:open"],
        ),
        step("nginx:configure", StepKind::Configure, &["web:ssh"]),
        step(
            "bastion:close",
            StepKind::CloseBastion,
            &["nginx:configure"],
        ),
    ])
}
