//! Progress of a run: the part that is done, and the time that is left, by the durations of earlier steps of the same kinds. Pure.

use std::collections::HashMap;

use api::{RunState, RunStep, StepState};

use super::Model;

impl Model {
    /// Part of the run that is done, in percent: each step counts by its duration or its expected one, and a running step in
    /// part. 100 only for a run that succeeded. Skipped and stopped steps do not count as done.
    pub fn percent(&self, now_ms: Option<f64>) -> u32 {
        if self.run.state == RunState::Succeeded {
            return 100;
        }
        let steps = &self.run.steps;
        let known: Vec<Option<f64>> = steps
            .iter()
            .map(|step| took(step).or_else(|| expected(step)))
            .collect();
        let usual = median(known.iter().copied().flatten().collect()).unwrap_or(1.0);
        let (mut done, mut total) = (0.0, 0.0);
        for (step, known) in steps.iter().zip(known) {
            // A step of no duration counts, too.
            let weight = known.unwrap_or(usual).max(1.0);
            total += weight;
            done += match step.state {
                StepState::Succeeded => weight,
                StepState::Running => elapsed(step, now_ms).min(weight * 0.9),
                _ => 0.0,
            };
        }
        let percent = if total > 0.0 {
            done / total * 100.0
        } else {
            0.0
        };
        (percent as u32).min(99)
    }

    /// Time until the run will probably have succeeded: the longest path through the steps that have not ended, by their
    /// expected durations. `None` if the run is not going on, or most of these steps are of kinds that have never run before.
    pub fn time_left(&self, now_ms: f64) -> Option<TimeLeft> {
        if self.run.state != RunState::Running {
            return None;
        }
        let is_left =
            |step: &&RunStep| !matches!(step.state, StepState::Succeeded | StepState::Skipped);
        let left = || self.run.steps.iter().filter(is_left);
        let known: Vec<f64> = left().filter_map(expected).collect();
        let unknown = left().count() - known.len();
        if unknown > known.len() {
            return None;
        }
        let usual = median(known).unwrap_or_default();
        let mut ends: HashMap<&str, f64> = HashMap::new();
        // A step comes after all steps that it waits for.
        for step in &self.run.steps {
            let own = if is_left(&step) {
                let expected = expected(step).unwrap_or(usual);
                (expected - elapsed(step, Some(now_ms))).max(0.0)
            } else {
                0.0
            };
            let before = step.after.iter().filter_map(|id| ends.get(id.as_str()));
            let start = before.copied().fold(0.0, f64::max);
            ends.insert(&step.id, start + own);
        }
        Some(TimeLeft {
            milliseconds: ends.into_values().fold(0.0, f64::max),
            is_rough: unknown > 0,
        })
    }
}

/// Time until a run will probably have succeeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLeft {
    /// The time. 0 if it takes longer than usual.
    pub milliseconds: f64,
    /// True if some steps are of kinds that have never run before: they count like the median of the others.
    pub is_rough: bool,
}

/// Milliseconds that a step will probably take. `None` if no step of its kind has run before.
fn expected(step: &RunStep) -> Option<f64> {
    step.expected_ms.map(|expected| expected as f64)
}

/// Milliseconds that a step took that has ended.
fn took(step: &RunStep) -> Option<f64> {
    let ended = crate::time::parse(step.ended.as_deref()?)?;
    Some(ended - crate::time::parse(step.started.as_deref()?)?)
}

/// Milliseconds since the start of a step. 0 if it has not started.
fn elapsed(step: &RunStep, now_ms: Option<f64>) -> f64 {
    let started = step.started.as_deref().and_then(crate::time::parse);
    let elapsed = started
        .zip(now_ms)
        .map(|(started, now_ms)| now_ms - started);
    elapsed.unwrap_or_default().max(0.0)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::model::tests::{run, step};

    #[test]
    fn the_time_left_is_the_longest_path_of_what_has_not_ended() {
        let mut model = Model::new(run());
        let at = |second: f64| crate::time::parse("2026-01-01T00:00:00Z").unwrap() + second * 1e3;
        let left = |model: &Model, second: f64| {
            let left = model.time_left(at(second))?;
            Some((left.milliseconds / 1e3, left.is_rough))
        };
        model.run.state = RunState::Running;
        assert_eq!(left(&model, 0.0), None, "no such step has run before");
        let usual = [("net:create", 2), ("web:create", 30), ("web:ssh", 15)];
        for (step, (id, seconds)) in model.run.steps.iter_mut().zip(usual) {
            assert_eq!(step.id, id);
            step.expected_ms = Some(seconds * 1000);
        }
        model.run.steps[2].after = vec![String::from("web:create")];
        assert_eq!(left(&model, 0.0), Some((45.0, false)));
        model.apply(&step(10, "web:create", StepState::Running));
        assert_eq!(left(&model, 20.0), Some((35.0, false)));
        assert_eq!(
            left(&model, 90.0),
            Some((15.0, false)),
            "late, then the next"
        );
        model.apply(&step(60, "web:create", StepState::Succeeded));
        assert_eq!(left(&model, 90.0), Some((15.0, false)));
        model.run.state = RunState::Cancelling;
        assert_eq!(left(&model, 90.0), None);
    }

    #[test]
    fn a_kind_without_earlier_steps_counts_like_the_median_of_the_others() {
        let mut model = Model::new(run());
        model.run.state = RunState::Running;
        model.run.steps[0].expected_ms = Some(4_000);
        model.run.steps[1].expected_ms = Some(30_000);
        model.run.steps[2].after = vec![String::from("net:create")];
        let rough = TimeLeft {
            milliseconds: 34_000.0,
            is_rough: true,
        };
        assert_eq!(model.time_left(0.0), Some(rough));
        model.run.steps[1].expected_ms = None;
        assert_eq!(model.time_left(0.0), None, "most of them are unknown");
    }

    #[test]
    fn steps_count_by_their_durations() {
        let mut model = Model::new(run());
        let at =
            |second: f64| crate::time::parse("2026-01-01T00:00:00Z").map(|it| it + second * 1e3);
        model.run.state = RunState::Running;
        assert_eq!(model.percent(at(0.0)), 0);
        for (step, seconds) in model.run.steps.iter_mut().zip([10, 60, 30]) {
            step.expected_ms = Some(seconds * 1000);
        }
        model.apply(&step(0, "net:create", StepState::Running));
        model.apply(&step(10, "net:create", StepState::Succeeded));
        model.apply(&step(10, "web:create", StepState::Running));
        assert_eq!(model.percent(at(10.0)), 10);
        assert_eq!(model.percent(at(40.0)), 40);
        assert_eq!(model.percent(at(900.0)), 64, "late, and not done");
        model.run.state = RunState::Succeeded;
        assert_eq!(model.percent(None), 100);
    }
}
