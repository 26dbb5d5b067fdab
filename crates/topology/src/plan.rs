//! From what is deployed to what is drawn.
//!
//! `plan` checks the document, runs the passes, compares the result with what is deployed, and
//! compiles the difference to a [`Workflow`]. Pure: the browser shows the same plan that the server
//! will run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    cloud::CloudFacts,
    diagnostic::Diagnostic,
    document::Document,
    types::Registry,
    workflow::{Origin, ResourceSpec, Workflow},
};

/// What [`plan`] reads.
pub struct PlanInput<'a> {
    /// The drawing.
    pub document: &'a Document,
    /// Values that the person gave for the template's parameters.
    pub parameters: &'a BTreeMap<String, Value>,
    /// What is there already; empty for a new deployment.
    pub deployed: &'a Deployed,
    /// Resource types, those of the catalogue included.
    pub types: &'a Registry,
    /// What the cloud has.
    pub cloud: &'a CloudFacts,
}

/// What a deployment consists of now, by resource name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deployed {
    /// As they were made.
    pub resources: BTreeMap<String, ResourceSpec>,
}

/// The answer of [`plan`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// All problems. With an error among them there is no workflow.
    pub diagnostics: Vec<Diagnostic>,
    /// One per resource, drawn or derived, unchanged ones included.
    pub changes: Vec<Change>,
    /// What a run would do.
    pub workflow: Option<Workflow>,
}

/// What happens to one resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// What happens.
    pub action: Action,
    /// Name in the template, or the name that a pass gave.
    pub resource: String,
    /// Such as `OS::Nova::Server`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Drawn or derived.
    pub origin: Origin,
    /// One sentence: the property that causes it, or what it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The properties that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<PropertyChange>,
}

/// What a plan does to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It is made.
    Create,
    /// It is changed and keeps its id.
    Update,
    /// A new one is made, the old one removed.
    Replace,
    /// It is removed.
    Delete,
    /// It stays as it is.
    None,
}

/// One property that differs. Secrets are masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropertyChange {
    /// Its name.
    pub name: String,
    /// As deployed, in HOT form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// As drawn, in HOT form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
}

/// Compare, pass, compile. See the module's doc.
pub fn plan(input: &PlanInput<'_>) -> Plan {
    let _ = input;
    todo!("topology")
}

/// The workflow that removes all of it, in the reverse order.
pub fn plan_undeploy(deployed: &Deployed, types: &Registry) -> Plan {
    let _ = (deployed, types);
    todo!("topology")
}
