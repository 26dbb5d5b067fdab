//! Expected durations of a run's steps: the median of earlier steps of the same kind on the same resource type, in the
//! same project.

use std::collections::HashMap;

use api::{Run, RunStep};
use planner::workflow::{StepKind, Workflow};
use store::{RunRow, StepDuration};

use super::Engine;
use crate::{Result, Tenant};

/// Number of the project's last successful runs whose steps count.
const RUNS: u32 = 20;

impl Engine {
    /// A run with its steps. Steps that have not ended have an expected duration, if there were such steps before.
    pub(super) async fn show_run(&self, tenant: &Tenant, row: RunRow) -> Result<Run> {
        let mut steps = self.core.store.step_list(tenant, &row.shown.id).await?;
        if !row.shown.state.is_final() {
            let durations = self.core.store.step_durations(tenant, RUNS).await?;
            expect(&mut steps, &row.workflow()?, &Medians::of(durations));
        }
        Ok(Run { steps, ..row.shown })
    }
}

fn expect(steps: &mut [RunStep], workflow: &Workflow, medians: &Medians) {
    for step in steps.iter_mut().filter(|step| step.ended.is_none()) {
        let resource = step.resource.as_ref();
        let spec = resource.and_then(|name| workflow.resources.get(name));
        let resource_type = spec.map(|spec| spec.resource_type.as_str());
        step.expected_ms = medians.find(step.kind, resource_type);
    }
}

/// Medians of durations in milliseconds, by kind and resource type.
struct Medians(HashMap<(StepKind, Option<String>), u64>);

impl Medians {
    fn of(durations: Vec<StepDuration>) -> Medians {
        let mut grouped: HashMap<_, Vec<u64>> = HashMap::new();
        for one in durations {
            let key = (one.kind, one.resource_type);
            grouped.entry(key).or_default().push(one.milliseconds);
        }
        let median = |mut values: Vec<u64>| {
            values.sort_unstable();
            values[values.len() / 2]
        };
        let medians = grouped.into_iter();
        Medians(medians.map(|(key, values)| (key, median(values))).collect())
    }

    fn find(&self, kind: StepKind, resource_type: Option<&str>) -> Option<u64> {
        let key = (kind, resource_type.map(str::to_owned));
        self.0.get(&key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_expected_to_take_as_long_as_the_median_of_its_kind_and_type() {
        let took = |kind, resource_type: &str, milliseconds| StepDuration {
            kind,
            resource_type: Some(resource_type.to_owned()),
            milliseconds,
        };
        let medians = Medians::of(vec![
            took(StepKind::Create, "OS::Nova::Server", 9_000),
            took(StepKind::Create, "OS::Nova::Server", 600_000),
            took(StepKind::Create, "OS::Nova::Server", 12_000),
            took(StepKind::Create, "OS::Neutron::Net", 300),
            took(StepKind::Delete, "OS::Nova::Server", 2_000),
        ]);
        let of = |kind, resource_type| medians.find(kind, Some(resource_type));
        assert_eq!(of(StepKind::Create, "OS::Nova::Server"), Some(12_000));
        assert_eq!(of(StepKind::Create, "OS::Neutron::Net"), Some(300));
        assert_eq!(of(StepKind::Update, "OS::Nova::Server"), None);
        assert_eq!(medians.find(StepKind::Create, None), None);
    }
}
