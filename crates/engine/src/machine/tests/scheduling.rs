//! The start of steps: slots, queues, and what an event may change.

use super::*;

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
