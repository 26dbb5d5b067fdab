//! Cancelled, paused and crashed runs, and their continuation.

use super::*;

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
fn an_expired_token_pauses_the_run_until_the_next_login() {
    let mut walk = Simulation::started(&software());
    walk.take(Event::TokenEnded(0));
    assert_eq!(
        (walk.run.state, walk.run.steps[0].state),
        (RunState::Paused, StepState::Queued)
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
