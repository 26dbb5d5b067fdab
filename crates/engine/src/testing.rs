//! Builders for tests.

use std::collections::BTreeMap;

use hot::{expr::Expr, template::Marks};
use planner::workflow::{Origin, ResourceSpec, Step, StepKind, Workflow};
use store::ResourceRow;

/// A step for the resource before the colon.
pub fn step(id: &str, kind: StepKind, after: &[&str]) -> Step {
    Step {
        id: id.into(),
        kind,
        resource: id.split(':').next().map(Into::into),
        after: after.iter().map(|id| (*id).into()).collect(),
        always_run: matches!(kind, StepKind::CloseBastion | StepKind::Sweep),
        timeout_seconds: 600,
        replaces: None,
        if_changed: false,
        changed: Vec::new(),
        repairs: false,
        takes_from: Vec::new(),
        outdates: Vec::new(),
        pause_seconds: 0,
        server_id: None,
        snapshot_id: None,
    }
}

/// Steps without resources.
pub fn workflow(steps: impl IntoIterator<Item = Step>) -> Workflow {
    Workflow {
        steps: steps.into_iter().collect(),
        ..Workflow::default()
    }
}

/// A planned resource.
pub fn resource<'a>(
    resource_type: &str,
    properties: impl IntoIterator<Item = (&'a str, Expr)>,
) -> ResourceSpec {
    ResourceSpec {
        resource_type: resource_type.into(),
        properties: properties
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<BTreeMap<_, _>>(),
        marks: Marks::default(),
        origin: Origin::Drawn,
        requires: Vec::new(),
        depends_on: Vec::new(),
        deletion_policy: Default::default(),
        external_id: None,
        version: None,
    }
}

/// A recorded resource that is ready, without an id and values.
pub fn row(name: &str, spec: ResourceSpec) -> ResourceRow {
    ResourceRow {
        name: name.into(),
        spec,
        physical_id: None,
        reference: None,
        attributes: Default::default(),
        state: api::ResourceState::Ready,
        incarnation: 0,
        made_from: BTreeMap::new(),
        made_with: None,
        tried: Default::default(),
        read_at: None,
        health: None,
    }
}
