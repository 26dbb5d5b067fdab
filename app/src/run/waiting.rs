//! The reasons for which a step waits, in words: other steps, a limit, the cloud, its next attempt. Pure.

use api::{RunState, RunStep, StepState};

use super::model::Model;
use crate::time;

/// True if the step has begun and not ended: it has something to tell.
pub fn is_at_work(state: StepState) -> bool {
    matches!(state, StepState::Running | StepState::Retrying)
}

/// The steps that a step still waits for, in its order.
pub fn unfinished<'a>(model: &'a Model, step: &RunStep) -> Vec<&'a RunStep> {
    if step.state != StepState::Waiting {
        return Vec::new();
    }
    let before = step.after.iter().filter_map(|id| model.step(id));
    before.filter(|before| !before.state.is_final()).collect()
}

/// The reason why a step has not started although it waits for no other step. `None` if it has started or will not.
pub fn queue_reason(model: &Model, step: &RunStep) -> Option<String> {
    let is_next = match step.state {
        StepState::Queued => true,
        StepState::Waiting => unfinished(model, step).is_empty(),
        _ => false,
    };
    let reason = match model.run.state {
        _ if !is_next => return None,
        RunState::Queued => String::from("Waits for the start of the run."),
        RunState::Paused => {
            String::from("Waits for you: the run is paused. Log in again, then resume.")
        }
        _ if step.state == StepState::Queued => String::from(
            "Waits for its turn: as many steps run as a run may have at a time. It starts when one of them ends.",
        ),
        _ => return None,
    };
    Some(reason)
}

/// The time from which a step waits for nothing but its turn, in milliseconds since 1970: the last end of the steps before it,
/// or the start of the run.
pub fn waits_from(model: &Model, step: &RunStep) -> Option<f64> {
    let before = step.after.iter().filter_map(|id| model.step(id));
    let ends = before.filter_map(|before| before.ended.as_deref());
    let run = &model.run;
    let start = run.started.as_deref().unwrap_or(&run.created);
    ends.chain([start]).filter_map(time::parse).reduce(f64::max)
}

/// The text below an active step: the last line of its log, with the time that it will probably take. A retrying step has
/// the time of its next attempt, in RFC 3339, and the reason.
pub fn note(
    step: &RunStep,
    line: Option<String>,
    next_attempt: Option<&str>,
    now_ms: Option<f64>,
) -> Option<String> {
    match step.state {
        StepState::Running => {
            let left = now_ms.and_then(|now_ms| left(step, now_ms));
            let parts: Vec<String> = line.into_iter().chain(left).collect();
            (!parts.is_empty()).then(|| parts.join(" · "))
        }
        StepState::Retrying => {
            let wait = next_attempt.and_then(time::parse).zip(now_ms);
            let when = match wait.map(|(at, now_ms)| ((at - now_ms) / 1000.0).ceil()) {
                Some(seconds) if seconds >= 60.0 => {
                    format!("in {}", time::duration(seconds * 1e3))
                }
                Some(seconds) if seconds > 0.0 => format!("in {seconds} s"),
                _ => String::from("follows"),
            };
            let reason = step.error.iter().map(|error| format!(" · {error}"));
            let next = format!("Attempt {} {when}", step.attempts + 1);
            Some(next + &reason.collect::<String>())
        }
        _ => None,
    }
}

/// Text of the time that a running step will probably take from now on. `None` if no step of its kind has run before.
fn left(step: &RunStep, now_ms: f64) -> Option<String> {
    let started = step.started.as_deref().and_then(time::parse)?;
    let left_ms = step.expected_ms? as f64 - (now_ms - started);
    Some(match (left_ms / 1000.0).ceil() {
        seconds if seconds <= 0.0 => String::from("longer than usual"),
        seconds if seconds < 60.0 => format!("about {seconds} s left"),
        _ => time::rest(left_ms),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn model(state: &str, states: [&str; 3]) -> Model {
        let step = |id: &str, after: &[&str], state: &str| {
            json!({"id": id, "kind": "create", "state": state, "after": after, "attempts": 1,
                "started": "2026-01-01T00:00:00Z", "ended": null, "error": null, "expected_ms": 30_000})
        };
        let [net, disk, web] = states;
        let run = json!({
            "id": "r", "deployment": "d", "kind": "deploy", "state": state, "author": "demo",
            "created": "2026-01-01T00:00:00Z", "started": null, "ended": null,
            "steps": [
                step("net:create", &[], net),
                step("disk:create", &[], disk),
                step("web:create", &["net:create", "disk:create"], web),
            ],
        });
        Model::new(serde_json::from_value(run).unwrap())
    }

    fn at(second: f64) -> Option<f64> {
        time::parse("2026-01-01T00:00:00Z").map(|start| start + second * 1e3)
    }

    #[test]
    fn a_step_waits_for_the_steps_before_it_that_have_not_ended() {
        let model = model("running", ["succeeded", "running", "waiting"]);
        let web = model.step("web:create").unwrap();
        let ids = unfinished(&model, web);
        let ids: Vec<&str> = ids.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(ids, ["disk:create"]);
        assert_eq!(queue_reason(&model, web), None);
    }

    #[test]
    fn a_step_that_could_start_tells_why_it_does_not() {
        let reason = |state, states| {
            let model = model(state, states);
            queue_reason(&model, model.step("net:create").unwrap()).unwrap_or_default()
        };
        let full = reason("running", ["queued", "running", "waiting"]);
        assert!(full.starts_with("Waits for its turn"), "{full}");
        let paused = reason("paused", ["queued", "succeeded", "waiting"]);
        assert!(paused.contains("Log in again"), "{paused}");
        let queued = reason("queued", ["waiting", "waiting", "waiting"]);
        assert_eq!(queued, "Waits for the start of the run.");
        assert_eq!(reason("running", ["running", "queued", "waiting"]), "");
    }

    #[test]
    fn a_step_waits_from_the_last_end_of_the_steps_before_it() {
        let mut model = model("running", ["succeeded", "succeeded", "queued"]);
        for (step, second) in model.run.steps.iter_mut().zip([20, 10]) {
            step.ended = Some(format!("2026-01-01T00:00:{second}Z"));
        }
        let from = |id| waits_from(&model, model.step(id).unwrap());
        assert_eq!(from("web:create"), at(20.0));
        assert_eq!(from("net:create"), at(0.0), "from the request for the run");
    }

    #[test]
    fn a_running_step_has_its_last_line_and_the_time_left() {
        let model = model("running", ["running", "waiting", "waiting"]);
        let net = model.step("net:create").unwrap();
        let line = || Some(String::from("the network is in state BUILD"));
        let note = |line, now| note(net, line, None, now).unwrap();
        assert_eq!(
            note(line(), at(10.0)),
            "the network is in state BUILD · about 20 s left"
        );
        assert_eq!(note(None, at(31.0)), "longer than usual");
        assert_eq!(note(line(), None), "the network is in state BUILD");
    }

    #[test]
    fn a_retrying_step_has_its_next_attempt_and_the_reason() {
        let mut model = model("running", ["retrying", "waiting", "waiting"]);
        model.run.steps[0].error = Some(String::from("the cloud answered 503"));
        let net = model.step("net:create").unwrap();
        let note = |now| note(net, None, Some("2026-01-01T00:00:10.5Z"), now).unwrap();
        assert_eq!(note(at(2.0)), "Attempt 2 in 9 s · the cloud answered 503");
        assert_eq!(note(at(11.0)), "Attempt 2 follows · the cloud answered 503");
    }
}
