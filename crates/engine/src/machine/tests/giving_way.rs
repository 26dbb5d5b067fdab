//! Runs that an update replaces.

use super::*;

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
