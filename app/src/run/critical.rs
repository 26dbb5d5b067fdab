//! The critical path of a run: the chain of steps that determined how long it has taken so far. Pure.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use api::{Run, RunStep, StepState};

use crate::time;

/// Ids of the steps on the critical path.
///
/// It leads back from the step that ended last, or from the one that has run longest of those at work, over the dependency
/// that ended last. Steps that have not started are on no path.
pub fn critical_path(run: &Run) -> HashSet<String> {
    let started: HashMap<&str, (&RunStep, Order)> = run
        .steps
        .iter()
        .filter_map(|step| Some((step.id.as_str(), (step, order_of(step)?))))
        .collect();
    let mut next = started
        .values()
        .max_by(|one, other| compare(one.1, other.1))
        .map(|(step, _)| *step);
    let mut path = HashSet::new();
    while let Some(step) = next {
        if !path.insert(step.id.clone()) {
            break;
        }
        let before = step.after.iter().filter_map(|id| started.get(id.as_str()));
        next = before
            .max_by(|one, other| compare(one.1, other.1))
            .map(|(step, _)| *step);
    }
    path
}

/// The order of a step's end among all ends: whether it is at work, then a time in milliseconds.
type Order = (bool, f64);

/// An active step comes after all that have ended, and of the active ones the one that started first comes last. `None` if
/// the step has not started.
fn order_of(step: &RunStep) -> Option<Order> {
    let started = step.started.as_deref().and_then(time::parse)?;
    match step.state {
        StepState::Running | StepState::Retrying => Some((true, -started)),
        _ => Some((false, step.ended.as_deref().and_then(time::parse)?)),
    }
}

fn compare(one: Order, other: Order) -> Ordering {
    one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A step with its dependencies and seconds of start and end.
    fn step(id: &str, after: &[&str], from: Option<u32>, to: Option<u32>) -> Value {
        let time = |second: Option<u32>| second.map(|it| format!("2026-01-01T00:00:{it:02}Z"));
        let state = match (from, to) {
            (None, _) => "waiting",
            (_, None) => "running",
            _ => "succeeded",
        };
        json!({"id": id, "kind": "create", "state": state, "after": after, "attempts": 1, "started": time(from), "ended": time(to)})
    }

    fn path(steps: Vec<Value>) -> Vec<String> {
        let run = json!({
            "id": "r", "deployment": "d", "kind": "deploy", "state": "running", "author": "demo",
            "created": "2026-01-01T00:00:00Z", "started": null, "ended": null, "steps": steps,
        });
        let path = critical_path(&serde_json::from_value(run).unwrap());
        let mut path: Vec<String> = path.into_iter().collect();
        path.sort();
        path
    }

    #[test]
    fn it_leads_over_the_dependency_that_ended_last() {
        let steps = vec![
            step("net", &[], Some(0), Some(2)),
            step("disk", &[], Some(0), Some(9)),
            step("web", &["net", "disk"], Some(9), Some(12)),
            step("db", &["net"], Some(2), Some(11)),
        ];
        assert_eq!(path(steps), ["disk", "web"]);
    }

    #[test]
    fn of_the_steps_at_work_the_one_that_started_first_is_on_it() {
        let steps = vec![
            step("net", &[], Some(0), Some(2)),
            step("web", &["net"], Some(2), None),
            step("db", &["net"], Some(5), None),
            step("proxy", &["web"], None, None),
        ];
        assert_eq!(path(steps), ["net", "web"]);
    }

    #[test]
    fn nothing_is_on_it_before_the_first_step() {
        assert!(path(vec![step("net", &[], None, None)]).is_empty());
    }
}
