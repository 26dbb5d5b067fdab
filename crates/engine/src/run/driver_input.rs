//! The input of a step's driver calls: the properties, resolved and typed, and the state before the step.

use planner::workflow::ResourceSpec;
use serde_json::{Map, Value};

use super::{
    signals::StepSignals,
    step::{Attempt, StepResult},
};
use drivers::{Accepted, Context, Login, Marker};

/// The data that a driver's context borrows.
pub(super) struct DriverInput {
    pub spec: ResourceSpec,
    /// The resolved values of the properties, which plans compare.
    pub resolved: Map<String, Value>,
    /// The resolved values in the types of their description, which drivers read.
    pub properties: Map<String, Value>,
    pub before: Map<String, Value>,
    pub tried: Map<String, Value>,
    pub changed: Vec<String>,
    pub marker: Marker,
    pub login: Option<Login>,
    pub accepted: Accepted,
    pub signals: StepSignals,
}

impl DriverInput {
    /// The context of driver calls.
    pub fn context<'a>(&'a self, attempt: &'a Attempt) -> Context<'a> {
        Context {
            session: &attempt.run_context.session,
            marker: &self.marker,
            properties: &self.properties,
            before: &self.before,
            tried: &self.tried,
            changed: &self.changed,
            marks: &self.spec.marks,
            vault: &attempt.run_context.vault,
            login: self.login.as_ref(),
            accepted: &self.accepted,
            earlier: attempt.earlier,
            signals: &self.signals,
            is_rollback: attempt.run_context.is_rollback,
        }
    }
}

impl Attempt {
    /// The input for the planned description of a resource.
    pub(super) fn planned_input(&self, name: &str, spec: ResourceSpec) -> StepResult<DriverInput> {
        let resolved = self.resolve(&spec)?;
        Ok(DriverInput {
            properties: self.typed(&spec, &resolved),
            resolved,
            before: Map::new(),
            tried: Map::new(),
            changed: Vec::new(),
            marker: self.marker(name),
            login: self.login(name, &spec)?,
            accepted: Accepted::default(),
            signals: StepSignals::of(&self.run_context, name),
            spec,
        })
    }

    /// The input for an existing resource, with its values at creation: other resources in them can be gone.
    pub(super) fn recorded_input(&self, name: &str, spec: ResourceSpec) -> DriverInput {
        let scope = self.run_context.known.scope(&self.run_context.parameters);
        let resolved = spec
            .properties
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.resolve(&scope).ok()?)));
        let mut resolved: Map<String, Value> = resolved.collect();
        if let Some(entry) = self.run_context.known.get(name) {
            resolved.extend(entry.made_from);
        }
        DriverInput {
            properties: self.typed(&spec, &resolved),
            resolved,
            before: Map::new(),
            tried: Map::new(),
            changed: Vec::new(),
            marker: self.marker(name),
            login: None,
            accepted: Accepted::default(),
            signals: StepSignals::of(&self.run_context, name),
            spec,
        }
    }
}
