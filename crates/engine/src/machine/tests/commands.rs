//! Commands on servers: started once each, up to a number at the same time, until a number of them have failed.

use planner::plan::command::{Target, workflow};
use proptest::prelude::*;

use super::*;

/// The workflow of a command on servers `s0`, `s1` and so on.
fn commands(servers: usize) -> Workflow {
    let names: Vec<String> = (0..servers).map(|number| format!("s{number}")).collect();
    let targets = names.iter().map(|name| Target {
        name,
        server: name,
        id: "id",
    });
    workflow(targets, "gate", 600)
}

fn started(servers: usize, parallel_steps: usize, failures_max: u32) -> Simulation {
    let settings = Settings {
        grace: Duration::from_secs(120),
        retry_pause: Duration::from_secs(10),
        parallel_steps,
        on_failure: OnFailure::EndAfter(failures_max),
    };
    let graph = Arc::new(Graph::of(&commands(servers)).unwrap());
    let mut walk = Simulation {
        run: Run::new(graph, settings),
        now: Timestamp::UNIX_EPOCH,
        active: Vec::new(),
        told_to_stop: Vec::new(),
        starts: Vec::new(),
    };
    walk.take(Event::Start);
    walk
}

/// As [`started`], with the bastion open.
fn opened(servers: usize, parallel_steps: usize, failures_max: u32) -> Simulation {
    let mut walk = started(servers, parallel_steps, failures_max);
    walk.succeed("bastion:open").succeed("gate:ssh");
    walk
}

impl Simulation {
    fn count(&self, state: StepState) -> usize {
        let nodes = self.run.graph.nodes().iter().zip(&self.run.steps);
        let counted = |(node, status): &(&Node, &StepStatus)| {
            node.kind == StepKind::Command && status.state == state
        };
        nodes.filter(counted).count()
    }

    fn reason(&self) -> &str {
        self.run.reason.as_deref().unwrap_or_default()
    }
}

#[test]
fn the_others_go_on_after_a_failure_and_the_run_names_the_servers_that_failed() {
    let mut walk = opened(3, 2, u32::MAX);
    assert_eq!(walk.count(StepState::Running), 2);
    walk.fail("s0:command", FailureClass::HostUnreachable);
    assert_eq!(walk.run.state, RunState::Running);
    assert_eq!(walk.count(StepState::Running), 2, "the third one begins");
    walk.succeed("s1:command")
        .succeed("s2:command")
        .succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Failed);
    assert_eq!(walk.reason(), "the command failed on 1 of 3 servers: `s0`");
    assert_eq!(walk.run.steps[walk.index("s0:command")].attempts, 1);
}

#[test]
fn nothing_begins_after_the_last_tolerated_failure_and_what_runs_has_its_own_time() {
    let mut walk = opened(6, 2, 2);
    walk.fail("s0:command", FailureClass::Lasting)
        .fail("s1:command", FailureClass::Transient);
    assert_eq!(walk.run.state, RunState::Failing);
    assert_eq!(walk.count(StepState::Running), 1);
    assert_eq!(walk.count(StepState::Skipped), 3);
    // Longer than the grace period.
    walk.pass(500);
    assert!(walk.told_to_stop.is_empty());
    walk.take(Event::Recover);
    walk.pass(500);
    assert!(walk.told_to_stop.is_empty());
    walk.succeed("s2:command").succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Failed);
    assert_eq!(
        walk.reason(),
        "the command failed on 2 of 6 servers: `s0`, `s1`. It was not started on 3"
    );
}

#[test]
fn a_command_that_takes_too_long_fails_alone() {
    let mut walk = opened(2, 1, u32::MAX);
    walk.pass(600);
    let first = walk.index("s0:command");
    assert_eq!(walk.told_to_stop, [first]);
    walk.take(Event::Stopped(first));
    assert_eq!(walk.run.steps[first].state, StepState::Failed);
    walk.succeed("s1:command").succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Failed);
}

#[test]
fn a_bastion_that_does_not_answer_ends_the_run() {
    let mut walk = started(2, 2, u32::MAX);
    walk.succeed("bastion:open")
        .fail("gate:ssh", FailureClass::SshTimeout);
    assert_eq!(walk.count(StepState::Skipped), 2);
    walk.succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Failed);
    assert_eq!(walk.reason(), "step `gate:ssh` failed: it broke");
}

#[test]
fn a_cancelled_run_says_which_servers_failed_before() {
    let mut walk = opened(3, 2, u32::MAX);
    walk.fail("s0:command", FailureClass::Lasting)
        .take(Event::Cancel);
    for step in walk.told_to_stop.clone() {
        walk.take(Event::Stopped(step));
    }
    walk.succeed("bastion:close");
    assert_eq!(walk.run.state, RunState::Cancelled);
    assert_eq!(
        walk.reason(),
        "the command failed on 1 of 3 servers: `s0`\ncancelled by a user"
    );
}

#[test]
fn a_long_list_of_servers_is_cut() {
    let mut walk = opened(30, 30, u32::MAX);
    for number in 0..30 {
        walk.fail(&format!("s{number}:command"), FailureClass::Lasting);
    }
    walk.succeed("bastion:close");
    let reason = walk.reason();
    assert!(
        reason.contains("30 of 30 servers") && reason.ends_with("`s19` and 10 more"),
        "{reason}"
    );
}

proptest! {
    #[test]
    fn limits_hold_and_every_server_has_its_turn(
        servers in 1usize..12,
        parallel in 1usize..6,
        failures_max in prop_oneof![1u32..5, Just(u32::MAX)],
        outcomes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), 0u8..12), 200),
    ) {
        let mut walk = opened(servers, parallel, failures_max);
        let most = usize::try_from(failures_max).unwrap();
        for (index, fails, crash) in outcomes {
            prop_assert!(walk.count(StepState::Running) <= parallel);
            let failed = walk.count(StepState::Failed);
            let running: Vec<StepIndex> = walk.active.clone();
            if running.is_empty() {
                break;
            }
            let before = walk.starts.len();
            if crash == 0 {
                walk.take(Event::Recover);
                prop_assert_eq!(walk.starts.len() - before, running.len(), "what ran is found again");
                continue;
            }
            let step = *index.get(&running);
            let is_command = walk.run.graph.nodes()[step].kind == StepKind::Command;
            let event = if fails && is_command {
                Event::Failed(step, Failure::new(FailureClass::Transient, "no"))
            } else {
                Event::Succeeded(step)
            };
            walk.take(event);
            if failed >= most {
                let is_close = |step: &StepIndex| walk.run.graph.nodes()[*step].always_run;
                prop_assert!(walk.starts[before..].iter().all(is_close), "no further server begins");
            }
        }
        prop_assert!(walk.run.state.is_final());
        let failed = walk.count(StepState::Failed);
        prop_assert_eq!(walk.run.state == RunState::Failed, failed > 0);
        prop_assert!(walk.count(StepState::Skipped) == 0 || failed >= most, "every server has its turn");
        for (node, status) in walk.run.graph.nodes().iter().zip(&walk.run.steps) {
            if node.kind == StepKind::Command {
                prop_assert!(status.attempts <= 1, "{} is started once", node.id);
            }
        }
    }
}
