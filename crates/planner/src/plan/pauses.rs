//! Pauses between the batches of a group, as steps that wait.
//!
//! The members of a batch already wait for those of the previous batch. A pause step is inserted between two batches with
//! work: after all steps of the earlier one, and before all steps of the later one. Batches without work are skipped.

use crate::{
    compose::Pause,
    workflow::{Step, StepKind},
};

/// Additional time limit of a pause beyond its duration, in seconds.
const GRACE_SECONDS: u32 = 60;

/// Inserts the pauses into the steps, which stay in order.
pub(super) fn insert(pauses: &[Pause], steps: &mut Vec<Step>) {
    for pause in pauses {
        for number in 1..pause.batches.len() {
            between(pause, number, steps);
        }
    }
}

/// Inserts the pause before the batch of this number.
fn between(pause: &Pause, number: usize, steps: &mut Vec<Step>) {
    let batch = &pause.batches[number];
    let Some(first) = steps.iter().position(|step| works_on(step, batch)) else {
        return;
    };
    let steps_of = |earlier: &Vec<String>| -> Vec<String> {
        let before = steps[..first].iter();
        let of_it = before.filter(|step| works_on(step, earlier));
        of_it.map(|step| step.id.clone()).collect()
    };
    let mut earlier = pause.batches[..number].iter().rev().map(steps_of);
    let Some(after) = earlier.find(|ids| !ids.is_empty()) else {
        return;
    };
    let id = format!("{}:pause-{number}", pause.group);
    for step in steps[first..]
        .iter_mut()
        .filter(|step| works_on(step, batch))
    {
        step.after.push(id.clone());
    }
    let waits = Step::new(
        id,
        StepKind::Pause,
        Some(&pause.group),
        after,
        pause.seconds.saturating_add(GRACE_SECONDS),
    );
    let waits = Step {
        pause_seconds: pause.seconds,
        ..waits
    };
    steps.insert(first, waits);
}

/// True if a step creates or changes one of these members, or a resource inside one.
fn works_on(step: &Step, members: &[String]) -> bool {
    let Some(resource) = &step.resource else {
        return false;
    };
    let is_work = matches!(
        step.kind,
        StepKind::Create | StepKind::Update | StepKind::Install | StepKind::Configure
    );
    let within = |member: &String| {
        let rest = resource.strip_prefix(member.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_work && members.iter().any(within)
}
