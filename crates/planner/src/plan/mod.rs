//! From deployed resources to planned ones.
//!
//! [`plan`] checks the document, runs the passes, compares the result with the deployed resources, and compiles the
//! difference to a [`Workflow`]. It is pure: the browser shows the same plan that the server will run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    cloud::CloudFacts,
    compose, graph,
    passes::{self, Model, PassContext},
    services, signals, software,
    workflow::{OutputSpec, ResourceSpec, Workflow},
};
use hot::{
    bundle::Bundle,
    diagnostic::{self, Diagnostic},
    document::Document,
    environment::Rule,
    expr::Scope,
    merged::Merged,
    parameter,
    scope::Known,
    template::DeletionPolicy,
};
use types::Registry;

mod change;
pub mod command;
mod compare;
mod compile;
mod diff;
mod differences;
mod digest;
mod exclusive;
mod hooks;
mod last_runs;
mod locks;
mod nested;
mod ordering;
mod pauses;
mod quota;
mod remove;
mod retained;
pub mod snapshots;
pub mod suspension;
mod time_limits;
mod upgrades;

pub use crate::deployed::{Actual, Deployed};
pub use change::{Action, Change, PropertyChange};
pub use nested::properties;
pub use quota::{QUOTA_EXCEEDED, QuotaUse};

pub use parameter::coerce;

/// The input of [`plan`].
pub struct PlanInput<'a> {
    /// The template.
    pub document: &'a Document,
    /// Files and environments beside the template.
    pub bundle: &'a Bundle,
    /// The user's values for the template's parameters.
    pub parameters: &'a BTreeMap<String, Value>,
    /// The deployed resources. Empty for a new deployment.
    pub deployed: &'a Deployed,
    /// Resource types, including those of the catalogue.
    pub types: &'a Registry,
    /// Facts about the cloud.
    pub cloud: &'a CloudFacts,
}

/// The result of [`plan`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// All problems. If one of them is an error, there is no workflow.
    pub diagnostics: Vec<Diagnostic>,
    /// One change per resource, drawn or derived, including unchanged ones.
    pub changes: Vec<Change>,
    /// Known quotas whose use changes during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaUse>,
    /// The steps of a run.
    pub workflow: Option<Workflow>,
    /// Id of the deployment's newest run when the plan was made. An update names it, so that it does not undo a later
    /// change of another user. `None` for a new deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_run: Option<String>,
    /// The [digest](Plan::digest_of_changes) of the changes, if there is a workflow. A request with it is refused if its
    /// plan has other changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Plan {
    /// True if a quota of the project is too small for the plan.
    pub fn exceeds_quota(&self) -> bool {
        let mut problems = self.diagnostics.iter();
        problems.any(|one| one.code == QUOTA_EXCEEDED)
    }
}

/// Plan for a template: checks it, runs the passes and compares.
pub fn plan(input: &PlanInput<'_>) -> Plan {
    let PlanInput {
        document,
        bundle,
        parameters,
        deployed,
        types,
        cloud,
    } = *input;
    let template = document.template();
    let compose::Checked {
        merged,
        parameters,
        known,
        mut diagnostics,
    } = compose::check(document, bundle, types, cloud, parameters, deployed);
    let parameters = &parameters;
    if !document.is_readable() {
        return Plan {
            diagnostics,
            ..Plan::default()
        };
    }
    let mut found = crate::parameters::check(template, parameters, cloud);
    if !deployed.resources.is_empty() {
        let before = merged.parameters(template, &deployed.parameters);
        found.extend(crate::parameters::immutable(template, &before, parameters));
    }
    let scope = Known::of(template, &known)
        .with_files(bundle, None)
        .with_zones(cloud.zone_names());
    let (model, unresolved) = Model::of(template, &scope);
    found.extend(
        unresolved
            .into_iter()
            .filter(|one| !diagnostics.iter().any(|other| other.path == one.path)),
    );
    let there = |output: &&hot::template::Output| output.is_on(&scope) != Some(false);
    let outputs = template.outputs.iter().filter(there).map(|output| {
        let value = output.value.simplify(&scope);
        let value = value.unwrap_or_else(|_| output.value.clone());
        let description = output.description.clone();
        (output.name.clone(), OutputSpec { description, value })
    });
    let input = compose::CompositionInput {
        document,
        bundle,
        merged: &merged,
        types,
        cloud,
        deployed,
        scope: &scope,
    };
    let mut flat = compose::flatten(&input, model, outputs.collect());
    let mut model = std::mem::take(&mut flat.model);
    model.set_versions(types);
    found.append(&mut flat.diagnostics);
    found.extend(undeployable(&model, types));
    found.extend(software::problems(&model));
    let last_runs = software::last_runs(&model, deployed, types);
    model.last_runs = last_runs.into_iter().map(|(_, server)| server).collect();
    signals::fetch_over_ssh(&mut model, &deployed.resources, types, cloud);
    found.extend(passes::run(&mut model, &PassContext { types, cloud }));
    let is_count = |one: &Diagnostic| one.code == software::CONNECTION_COUNT;
    if !diagnostics.iter().any(is_count) {
        // Those in the text are counted above, and these come from groups and conditions.
        found.extend(software::wrong_counts(&model, types));
    }
    found.extend(software::not_provided(&model, types));
    found.extend(services::missing(&model, cloud));
    let outputs = flat.outputs.values().map(|output| &output.value);
    found.extend(signals::unreachable(
        &model,
        outputs,
        &deployed.resources,
        cloud,
    ));
    let mut diff = diff::changes(&model, deployed, types);
    diff::explain(&mut diff.changes, &model, deployed, template);
    found.extend(locks::locked(&merged, &diff.changes));
    let begun = diff.changes.iter().filter(|change| {
        let action = change.action;
        matches!(action, Action::Create | Action::Update | Action::Replace)
    });
    let begun = begun.map(|change| change.resource.as_str());
    found.extend(signals::unsent(&model, begun.clone()));
    found.extend(software::untested(&model, begun, types, cloud));
    found.extend(diff::problems(&diff.changes, &model, deployed, types));
    found.extend(retained::blocked_by_retained(
        &diff.changes,
        &model,
        &diff.deployed,
    ));
    for mut one in found {
        flat.locate(&mut one);
        if !diagnostics.contains(&one) {
            diagnostics.push(one);
        }
    }
    if let Some(budget) = scope.budget() {
        budget.report(&mut diagnostics);
    }
    drop_repeated_warnings(&mut diagnostics);
    diagnostic::sort(&mut diagnostics);
    let workflow = (!diagnostics.iter().any(Diagnostic::is_error)).then(|| {
        let outputs = std::mem::take(&mut flat.outputs);
        compile::workflow(model, &diff, types, outputs, (&flat.pauses, &merged.rules))
    });
    let mut changes = diff.changes;
    match workflow {
        Some(Err(circle)) => {
            diagnostics.push(circle_added(&circle, &flat));
            Plan {
                diagnostics,
                changes,
                ..Plan::default()
            }
        }
        Some(Ok(workflow)) => {
            compile::set_old_goes_first(&mut changes, &workflow);
            let quotas = quota::quota_uses(&workflow, &diff.deployed, cloud);
            for mut one in quota::exceeded(&quotas) {
                flat.locate(&mut one);
                diagnostics.push(one);
            }
            Plan {
                diagnostics,
                changes,
                quotas,
                workflow: Some(workflow),
                ..Plan::default()
            }
        }
        None => Plan {
            diagnostics,
            changes,
            ..Plan::default()
        },
    }
}

/// Removes warnings that a resource type is kept without being deployable, where an error says that it cannot be deployed.
fn drop_repeated_warnings(diagnostics: &mut Vec<Diagnostic>) {
    const CODE: &str = "resource-type-not-deployable";
    let refused: BTreeSet<String> = diagnostics
        .iter()
        .filter(|one| one.is_error() && one.code == CODE)
        .map(|one| one.path.clone())
        .collect();
    diagnostics.retain(|one| one.is_error() || one.code != CODE || !refused.contains(&one.path));
}

/// The error for a circle that members of groups or resources of passes close, at the first resource of it in the text.
fn circle_added(circle: &[String], flat: &compose::Flat<'_>) -> Diagnostic {
    let message = format!(
        "with members of groups and the resources that the plan adds, these resources wait for each other in a circle: `{}`",
        circle.join("` → `")
    );
    let located = |name: &String| {
        let path = format!("resources.{name}");
        let mut one = Diagnostic::error("circular-reference", path, message.clone());
        flat.locate(&mut one);
        one
    };
    // Derived resources have no position in the text.
    let drawn = circle.iter().map(located).find(|one| one.line.is_some());
    drawn.unwrap_or_else(|| Diagnostic::error("circular-reference", "", message.clone()))
}

/// For each drawn resource, by name in the template's order, the drawn resources that it waits for, without derived
/// resources and members of groups. References in `metadata` count, as in Heat.
pub fn dependencies(
    document: &Document,
    bundle: &Bundle,
    parameters: &BTreeMap<String, Value>,
) -> Vec<(String, Vec<String>)> {
    let template = document.template();
    let parameters = Merged::of(bundle, template).parameters(template, parameters);
    let scope = Known::of(template, &parameters).with_files(bundle, None);
    let (mut model, _) = Model::of(template, &scope);
    model.fill_requires(graph::Rules::Heat, Registry::shared());
    model
        .iter()
        .map(|(name, spec)| (name.to_owned(), spec.requires.clone()))
        .collect()
}

/// Workflow that deletes all deployed resources, in reverse order. `rules` are those of the deployment's environments.
pub fn plan_undeploy(deployed: &Deployed, types: &Registry, rules: &[Rule]) -> Plan {
    let diff = diff::changes(&Model::default(), deployed, types);
    let outputs = BTreeMap::new();
    let workflow = compile::workflow(Model::default(), &diff, types, outputs, (&[], rules));
    let diagnostics =
        retained::blocked_by_retained(&diff.changes, &Model::default(), &diff.deployed);
    let changes = diff.changes;
    match workflow {
        Ok(workflow) => Plan {
            diagnostics,
            changes,
            workflow: Some(workflow),
            ..Plan::default()
        },
        Err(circle) => {
            let message = format!(
                "the deployed resources wait for each other in a circle: `{}`",
                circle.join("` → `")
            );
            Plan {
                diagnostics: vec![Diagnostic::error("circular-reference", "", message)],
                changes,
                ..Plan::default()
            }
        }
    }
}

/// Errors for resource types that are accepted in templates but cannot be deployed.
fn undeployable(model: &Model, types: &Registry) -> Vec<Diagnostic> {
    model
        .iter()
        .filter(|(_, spec)| !spec.resource_type.is_empty())
        .filter(|(_, spec)| !crate::members::is_parent(&spec.resource_type))
        .filter_map(|(name, spec)| {
            let resource_type = spec.resource_type.as_str();
            let why = match types.get(resource_type) {
                Some(described) => described.refusal(name)?,
                None if resource_type.starts_with("Stackloom::") => return None,
                None => types::no_driver(name, &yaql::shown(resource_type)),
            };
            let path = format!("resources.{name}.type");
            Some(Diagnostic::error("resource-type-not-deployable", path, why))
        })
        .collect()
}

#[cfg(test)]
mod tests;
