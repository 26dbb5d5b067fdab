//! The graph of steps that a plan compiles to.
//!
//! A workflow is stored whole with its run: the engine needs nothing else, and an old run can be
//! shown as it was. Values that are known when the plan is made are already in place; what hangs on
//! another resource stays an [`Expr`] and is resolved when the step starts. Hidden parameters stay
//! expressions too, so that no secret is stored with the workflow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::expr::Expr;

/// The steps of one run, and the resources that they work on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// In an order in which every step comes after all that it waits for.
    pub steps: Vec<Step>,
    /// By resource name.
    pub resources: BTreeMap<String, ResourceSpec>,
    /// By output name; resolved when they are read.
    #[serde(default)]
    pub outputs: BTreeMap<String, OutputSpec>,
}

/// One unit of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Unique in the workflow and readable: `web:create`, `nginx:configure`, `bastion:open`.
    pub id: String,
    /// What is done.
    pub kind: StepKind,
    /// The resource that it is done to.
    pub resource: Option<String>,
    /// Ids of the steps that must have succeeded (or ended, if this one is `always_run`).
    pub after: Vec<String>,
    /// Runs on every ending of the run: success, failure, cancel, crash.
    #[serde(default)]
    pub always_run: bool,
    /// From start to timeout, all attempts together.
    pub timeout_seconds: u32,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Make the resource in the cloud and wait until it is there.
    Create,
    /// Change the resource in the cloud without replacing it.
    Update,
    /// Remove the resource from the cloud and wait until it is gone.
    Delete,
    /// Wait until the server answers over SSH with the host key that we gave it.
    WaitForSsh,
    /// Let the orchestrator's address in to the bastion's port 22.
    OpenBastion,
    /// Take that rule away again.
    CloseBastion,
    /// Run the component's Ansible role on its host, in a sandbox.
    Configure,
}

/// A resource as a run works on it: what was drawn, with parameters filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceSpec {
    /// Such as `OS::Nova::Server`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Property name to value or expression.
    #[serde(default)]
    pub properties: BTreeMap<String, Expr>,
    /// Marks of ours that a driver needs: `public`, `bastion`.
    #[serde(default)]
    pub marks: Marks,
    /// Drawn by a person, or added by a pass.
    pub origin: Origin,
    /// Names of the resources that must exist before it.
    #[serde(default)]
    pub requires: Vec<String>,
}

/// What a person may say of a resource under `metadata: {stackloom: ...}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// A server that shall have a public address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub public: bool,
    /// The server through which the others are reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bastion: bool,
}

/// Where a resource comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Origin {
    /// It stands in the template.
    Drawn,
    /// A pass added it.
    Derived {
        /// The pass, such as `floating-ip`.
        pass: String,
        /// One sentence for the person.
        why: String,
        /// The drawn resource that it serves.
        #[serde(rename = "for")]
        serves: Option<String>,
    },
}

/// One entry under `outputs:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Resolved when the output is read.
    pub value: Expr,
}
