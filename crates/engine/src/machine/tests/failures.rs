//! Failed steps: retries, time limits, and the end of their run.

use super::*;

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
fn a_forced_run_continues_past_failures_and_reports_them() {
    let steps = workflow([
        step("web:delete", StepKind::Delete, &[]),
        step("net:delete", StepKind::Delete, &["web:delete"]),
    ]);
    let mut walk = Simulation::of(&steps);
    let settings = Settings {
        on_failure: OnFailure::Continue,
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
