//! Failed attempts of a step with their reasons. Pure.

use super::Model;

/// Maximum number of failed attempts of a step that are kept.
const FAILURES_MAX: usize = 20;

/// A failed attempt of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// Number of the attempt, from 1.
    pub number: u32,
    /// Time of the step's start before it, in RFC 3339. See [`api::RunStep::started`].
    pub started: Option<String>,
    /// Time of the failure, in RFC 3339.
    pub time: String,
    /// The error, with its remedy.
    pub error: String,
}

impl Model {
    /// The last failed attempts of a step, in order.
    pub fn failures(&self, step: &str) -> &[FailedAttempt] {
        self.failures.get(step).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add_failure(&mut self, step: &str, failure: FailedAttempt) {
        let failures = self.failures.entry(step.to_owned()).or_default();
        // A step that gives up tells the error of its last attempt again.
        let is_known = |last: &FailedAttempt| last.number == failure.number;
        if failures.last().is_some_and(is_known) {
            failures.pop();
        }
        failures.push(failure);
        if failures.len() > FAILURES_MAX {
            failures.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use api::{Event, EventBody, StepState};

    use super::*;
    use crate::run::model::tests::run;

    fn attempt(model: &mut Model, state: StepState, attempt: u32, error: Option<&str>) {
        model.apply(&Event {
            seq: 1,
            time: String::from("2026-01-01T00:00:00Z"),
            body: EventBody::Step {
                step: String::from("net:create"),
                state,
                attempt,
                error: error.map(str::to_owned),
                retry_at: None,
            },
        });
    }

    fn errors(model: &Model) -> Vec<(u32, &str)> {
        let failures = model.failures("net:create").iter();
        failures
            .map(|one| (one.number, one.error.as_str()))
            .collect()
    }

    #[test]
    fn each_failed_attempt_has_its_reason() {
        let mut model = Model::beginning(&run());
        attempt(&mut model, StepState::Running, 1, None);
        attempt(&mut model, StepState::Retrying, 1, Some("503"));
        attempt(&mut model, StepState::Running, 2, None);
        attempt(&mut model, StepState::Retrying, 2, Some("timeout"));
        attempt(&mut model, StepState::Failed, 2, Some("timeout; gave up"));
        assert_eq!(errors(&model), [(1, "503"), (2, "timeout; gave up")]);
        assert_eq!(model.failures("web:create"), []);
    }

    #[test]
    fn of_many_attempts_the_last_ones_are_kept() {
        let mut model = Model::beginning(&run());
        for number in 1..100 {
            attempt(&mut model, StepState::Retrying, number, Some("503"));
        }
        assert_eq!(errors(&model).len(), FAILURES_MAX);
        assert_eq!(errors(&model).last(), Some(&(99, "503")));
    }
}
