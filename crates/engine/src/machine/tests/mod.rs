//! Runs driven by the machine, with a clock that the test moves.

use std::{sync::Arc, time::Duration};

use api::{RunState, StepState};
use jiff::Timestamp;
use planner::workflow::{StepKind, Workflow};

use super::*;
use crate::testing::{step, workflow};

mod commands;
mod laws;

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

/// The states in the journal after these moves. A waiting step whose ready move was omitted counts as waiting.
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

#[test]
fn waits_for_signals_take_no_slot() {
    let waits = ["w1", "w2", "w3", "w4"];
    let ids = waits.map(|name| format!("{name}:create"));
    let others = ["a:create", "b:create", "c:create", "d:create"];
    let ids = ids.iter().map(String::as_str).chain(others);
    let workflow = Workflow {
        resources: waits
            .map(|name| {
                let wait = crate::testing::resource(types::WAIT_CONDITION, []);
                (name.to_owned(), wait)
            })
            .into(),
        ..workflow(ids.map(|id| step(id, StepKind::Create, &[])))
    };
    let mut walk = Simulation::started(&workflow);
    assert_eq!(
        walk.starts,
        [4, 5, 6, 0, 1, 2, 3],
        "three slots, and all waits"
    );
    walk.take(Event::Succeeded(0));
    assert_eq!(walk.starts.len(), 7, "the end of a wait frees no slot");
    walk.take(Event::Succeeded(5));
    assert_eq!(walk.starts.last(), Some(&7));
}

#[test]
fn a_run_waits_for_all_its_servers_at_once() {
    let mut ids: Vec<String> = (0..200).map(|nth| format!("s{nth}:ssh")).collect();
    ids.extend((0..5).map(|nth| format!("net{nth}:create")));
    let steps = ids.iter().map(|id| {
        let kind = if id.ends_with("ssh") {
            StepKind::WaitForSsh
        } else {
            StepKind::Create
        };
        step(id, kind, &[])
    });
    let walk = Simulation::started(&workflow(steps));
    let (ssh, others): (Vec<usize>, Vec<usize>) = walk.starts.iter().partition(|&&step| step < 200);
    let counts: (usize, usize) = (ssh.len(), others.len());
    assert_eq!(counts, (200, 3), "all servers, and a step for each slot");
}

#[test]
fn a_run_without_failures_succeeds() {
    let mut walk = Simulation::started(&software());
    assert_eq!(walk.run.state, RunState::Running);
    walk.succeed("net:create");
    assert_eq!(
        walk.active.len(),
        2,
        "the bastion opens while the server is made"
    );
    walk.succeed("bastion:open")
        .succeed("web:create")
        .succeed("web:ssh")
        .succeed("nginx:configure")
        .succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Succeeded);
    assert_eq!(walk.run.wake_at(), None);
}

#[test]
fn a_run_without_steps_succeeds_at_once() {
    assert_eq!(
        Simulation::started(&workflow([])).run.state,
        RunState::Succeeded
    );
}

#[test]
fn creation_is_tried_once_more_and_the_failure_ends_the_run() {
    let mut walk = Simulation::started(&software());
    walk.fail("net:create", FailureClass::Infrastructure);
    assert_eq!(walk.run.steps[0].state, StepState::Retrying);
    walk.pass(0);
    assert_eq!(walk.run.steps[0].attempts, 2);
    walk.fail("net:create", FailureClass::Infrastructure);
    assert_eq!(walk.run.state, RunState::Failing);
    assert_eq!(
        walk.states(),
        "net:create=Failed bastion:open=Skipped web:create=Skipped web:ssh=Skipped nginx:configure=Skipped bastion:close=Running"
    );
    walk.succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Failed);
    assert_eq!(
        walk.run.reason.as_deref(),
        Some("step `net:create` failed: it broke")
    );
}

#[test]
fn a_retry_tells_its_time() {
    let mut walk = Simulation::started(&software());
    let failure = Failure::new(FailureClass::Transient, "it broke");
    let told = advance(&mut walk.run, &Event::Failed(0, failure), walk.now).unwrap();
    let times = told.moves.iter().filter_map(|entry| match entry {
        Move::Step { step, retry_at, .. } => Some((*step, *retry_at)),
        Move::Run { .. } => None,
    });
    let in_ten_seconds = walk.now + Duration::from_secs(10);
    assert_eq!(times.collect::<Vec<_>>(), [(0, Some(in_ten_seconds))]);
}

#[test]
fn an_unreachable_cloud_is_asked_six_times_ten_seconds_apart() {
    let mut walk = Simulation::started(&software());
    for _ in 0..5 {
        walk.fail("net:create", FailureClass::Transient);
        walk.pass(9);
        assert_eq!(walk.run.steps[0].state, StepState::Retrying);
        walk.pass(1);
        assert_eq!(walk.run.steps[0].state, StepState::Running);
    }
    walk.fail("net:create", FailureClass::Transient);
    assert_eq!(
        (walk.run.steps[0].state, walk.run.steps[0].attempts),
        (StepState::Failed, 6)
    );
}

#[test]
fn running_steps_get_grace_after_a_failure_and_are_then_abandoned() {
    let mut walk = Simulation::started(&software());
    walk.succeed("net:create")
        .fail("bastion:open", FailureClass::Lasting);
    assert_eq!(walk.run.state, RunState::Failing);
    walk.pass(119);
    assert!(walk.told_to_stop.is_empty());
    walk.pass(1);
    let server = walk.index("web:create");
    assert_eq!(walk.told_to_stop, [server]);
    walk.take(Event::Stopped(server));
    assert_eq!(walk.run.steps[server].state, StepState::Failed);
    assert!(
        walk.run.steps[server]
            .error
            .as_deref()
            .unwrap()
            .contains("120 s")
    );
    walk.succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Failed);
}

#[test]
fn a_server_that_does_not_answer_ends_the_run_at_once() {
    let mut steps = software();
    steps
        .steps
        .insert(0, step("db:create", StepKind::Create, &[]));
    let mut walk = Simulation::started(&steps);
    walk.succeed("net:create")
        .succeed("bastion:open")
        .succeed("web:create");
    walk.fail("web:ssh", FailureClass::SshTimeout);
    let other = walk.index("db:create");
    assert_eq!(walk.told_to_stop, [other], "no grace");
}

#[test]
fn a_step_has_one_deadline_for_all_its_attempts() {
    let mut walk = Simulation::started(&software());
    walk.pass(595)
        .fail("net:create", FailureClass::Infrastructure)
        .pass(1);
    assert_eq!(walk.run.steps[0].state, StepState::Running);
    walk.pass(4);
    assert_eq!(walk.told_to_stop, [0]);
    walk.take(Event::Stopped(0));
    assert_eq!(walk.run.state, RunState::Failing);
    assert!(
        walk.run.reason.as_deref().unwrap().contains("600 s"),
        "{:?}",
        walk.run.reason
    );
}

#[test]
fn a_cancel_stops_running_steps_and_closes_the_bastion() {
    let mut walk = Simulation::started(&software());
    walk.succeed("net:create")
        .succeed("bastion:open")
        .take(Event::Cancel);
    assert_eq!(walk.run.state, RunState::Cancelling);
    let server = walk.index("web:create");
    assert_eq!(walk.told_to_stop, [server]);
    assert_eq!(
        advance(&mut walk.run.clone(), &Event::Cancel, walk.now)
            .unwrap()
            .effects,
        [Effect::Abort(server)],
        "asked twice"
    );
    walk.take(Event::Stopped(server)).succeed("bastion:close");
    assert_eq!(
        walk.states(),
        "net:create=Succeeded bastion:open=Succeeded web:create=Cancelled web:ssh=Skipped nginx:configure=Skipped bastion:close=Succeeded"
    );
    assert_eq!(walk.run.state, RunState::Cancelled);
}

#[test]
fn a_resumed_run_does_only_remaining_steps_and_reopens_the_bastion() {
    let mut walk = Simulation::started(&software());
    walk.succeed("net:create")
        .succeed("bastion:open")
        .succeed("web:create")
        .succeed("web:ssh");
    walk.fail("nginx:configure", FailureClass::Lasting)
        .succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Failed);
    walk.starts.clear();
    walk.take(Event::Resume);
    assert_eq!(
        walk.starts,
        [walk.index("bastion:open")],
        "the role waits for the bastion"
    );
    walk.succeed("bastion:open")
        .succeed("nginx:configure")
        .succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Succeeded);
    assert_eq!(walk.run.reason, None);
    assert_eq!(walk.starts.len(), 3);
}

#[test]
fn time_in_a_queue_of_the_engine_does_not_count_against_a_steps_time_limit() {
    let mut walk = Simulation::started(&software());
    let limit = walk.run.graph.nodes()[0].timeout.as_secs();
    walk.pass(limit - 10).take(Event::Queued(0));
    walk.pass(10 * limit);
    assert_eq!(walk.run.steps[0].stopping, None, "it has not begun");
    walk.take(Event::Dequeued(0)).pass(9);
    assert_eq!(walk.run.steps[0].stopping, None, "ten seconds were left");
    walk.pass(1);
    assert_eq!(walk.run.steps[0].stopping, Some(Stopping::TimedOut));
}

#[test]
fn an_expired_token_pauses_the_run_until_the_next_login() {
    let mut walk = Simulation::started(&software());
    walk.take(Event::TokenEnded(0));
    assert_eq!(
        (walk.run.state, walk.run.steps[0].state),
        (RunState::Paused, StepState::Ready)
    );
    walk.pass(100_000);
    assert_eq!(
        walk.run.state,
        RunState::Paused,
        "a pause has no time limit"
    );
    walk.take(Event::Resume);
    assert_eq!(
        (walk.run.state, walk.run.reason.as_deref()),
        (RunState::Running, None)
    );
    assert_eq!(walk.active, [0]);
}

#[test]
fn a_cancelled_paused_run_still_has_its_always_run_steps() {
    let mut walk = Simulation::started(&software());
    walk.take(Event::TokenEnded(0)).take(Event::Cancel);
    assert_eq!(walk.run.state, RunState::Paused);
    walk.take(Event::Resume);
    assert_eq!(
        (walk.run.state, walk.active.as_slice()),
        (RunState::Cancelling, &[5][..])
    );
    walk.succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Cancelled);
}

#[test]
fn after_a_crash_running_steps_start_again() {
    let mut walk = Simulation::started(&software());
    walk.succeed("net:create").take(Event::Recover);
    assert_eq!(walk.active.len(), 2);
    assert_eq!(walk.run.steps[1].attempts, 1, "it is the same attempt");
    walk.take(Event::RecoverWithoutToken);
    assert_eq!((walk.run.state, walk.active.len()), (RunState::Paused, 0));
}

#[test]
fn a_step_that_was_running_at_repeated_crashes_fails() {
    let mut walk = Simulation::started(&software());
    let running = walk.active.clone();
    let name = walk.run.graph.nodes()[running[0]].id.clone();
    walk.run.crashed(&name, CRASHES_MAX - 1);
    walk.take(Event::Recover);
    assert_eq!(walk.active, running);
    walk.run.crashed(&name, CRASHES_MAX);
    walk.take(Event::Recover);
    assert_eq!(walk.run.steps[running[0]].state, StepState::Failed);
    assert_eq!(walk.run.state, RunState::Failing);
    let reason = walk.run.reason.as_deref().unwrap();
    assert!(reason.contains("last 3 crashes"), "{reason}");
}

#[test]
fn an_always_run_step_starts_after_any_number_of_crashes() {
    let mut walk = Simulation::started(&software());
    walk.take(Event::TokenEnded(0)).take(Event::Cancel);
    walk.take(Event::Resume);
    walk.run.crashed("bastion:close", CRASHES_MAX);
    walk.take(Event::Recover);
    assert_eq!(walk.active, [walk.index("bastion:close")]);
}

#[test]
fn a_forced_run_continues_past_failures_and_reports_them() {
    let steps = workflow([
        step("web:delete", StepKind::Delete, &[]),
        step("net:delete", StepKind::Delete, &["web:delete"]),
    ]);
    let mut walk = Simulation::of(&steps);
    let settings = Settings {
        on_failure: OnFailure::GoOn,
        ..walk.run.settings
    };
    walk.run = Run::new(walk.run.graph.clone(), settings);
    walk.take(Event::Start)
        .fail("web:delete", FailureClass::Lasting)
        .succeed("net:delete");
    assert_eq!(walk.run.state, RunState::Succeeded);
    assert_eq!(
        walk.run.reason.as_deref(),
        Some("step `web:delete` failed: it broke")
    );
}

#[test]
fn a_run_that_gives_way_ends_after_the_steps_at_work() {
    let mut walk = Simulation::started(&software());
    walk.succeed("net:create").succeed("bastion:open");
    walk.take(Event::GiveWay);
    assert_eq!(walk.run.state, RunState::Cancelling);
    assert!(walk.told_to_stop.is_empty(), "nothing is stopped");
    assert!(walk.try_take(Event::GiveWay).is_err(), "once is enough");
    walk.succeed("web:create").succeed("bastion:close");
    assert_eq!(
        walk.states(),
        "net:create=Succeeded bastion:open=Succeeded web:create=Succeeded web:ssh=Skipped nginx:configure=Skipped bastion:close=Succeeded"
    );
    assert_eq!(walk.run.state, RunState::Cancelled);
}

#[test]
fn a_step_that_fails_while_its_run_gives_way_is_not_started_again() {
    let mut walk = Simulation::started(&software());
    walk.succeed("net:create").succeed("bastion:open");
    walk.take(Event::GiveWay);
    walk.fail("web:create", FailureClass::Transient);
    let server = walk.index("web:create");
    assert_eq!(walk.run.steps[server].state, StepState::Failed);
    walk.succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Cancelled);
    // One that waits for another start does not get it.
    let mut walk = Simulation::started(&software());
    walk.fail("net:create", FailureClass::Transient);
    walk.take(Event::GiveWay);
    assert_eq!(walk.run.steps[0].state, StepState::Cancelled);
}

#[test]
fn a_run_that_waits_at_a_hook_gives_way_at_once() {
    for with_step_left in [true, false] {
        let hook = [step("net:pre-create", StepKind::Hook, &[])];
        let create = step("net:create", StepKind::Create, &["net:pre-create"]);
        let steps = hook.into_iter().chain(with_step_left.then_some(create));
        let mut walk = Simulation::started(&workflow(steps));
        walk.take(Event::GiveWay);
        assert_eq!(walk.told_to_stop, [0]);
        walk.take(Event::Stopped(0));
        assert_eq!(walk.run.steps[0].state, StepState::Cancelled);
        assert_eq!(walk.run.state, RunState::Cancelled);
    }
}

#[test]
fn hooks_and_pauses_take_no_slot() {
    let kinds = [
        ("a:pre-create", StepKind::Hook),
        ("b:pre-create", StepKind::Hook),
        ("c:pre-create", StepKind::Hook),
        ("g:pause-1", StepKind::Pause),
        ("net:create", StepKind::Create),
    ];
    let walk = Simulation::started(&workflow(kinds.map(|(id, kind)| step(id, kind, &[]))));
    assert_eq!(walk.active.len(), 5, "there are three slots");
}

#[test]
fn a_run_without_a_step_left_does_not_give_way() {
    let mut walk = Simulation::started(&software());
    for step in ["net:create", "bastion:open", "web:create", "web:ssh"] {
        walk.succeed(step);
    }
    walk.take(Event::GiveWay);
    assert_eq!(walk.run.state, RunState::Running);
    walk.succeed("nginx:configure").succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Succeeded);
}

#[test]
fn an_impossible_event_is_refused_and_changes_nothing() {
    let mut walk = Simulation::of(&software());
    for event in [
        Event::Resume,
        Event::Succeeded(0),
        Event::Succeeded(99),
        Event::Stopped(1),
        Event::Abandon,
    ] {
        assert!(walk.try_take(event).is_err());
    }
    walk.take(Event::Start);
    assert!(walk.try_take(Event::Start).is_err());
    assert!(walk.try_take(Event::Succeeded(5)).is_err());
}
