//! The graph of steps of a plan.
//!
//! A workflow is stored completely with its run: the engine needs no other input, and old runs can be displayed
//! unchanged. Values that are known at plan time are inserted; values that depend on another resource stay an [`Expr`]
//! and are resolved when the step starts. Hidden parameters stay expressions too, so that no secret is stored with the
//! workflow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::graph::target;
use hot::{
    expr::Expr,
    template::{DeletionPolicy, Marks},
};
use types::{
    FLOATING_IP, FLOATING_IP_ASSOCIATION, SECURITY_GROUP, SERVER,
    catalog::{NAME_KEY, SECRET_KEY},
};

/// Steps of one run, and the resources of the deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// Steps, each after all steps that it waits for.
    pub steps: Vec<Step>,
    /// Resources by name.
    pub resources: BTreeMap<String, ResourceSpec>,
    /// Outputs by name, resolved when they are read.
    #[serde(default)]
    pub outputs: BTreeMap<String, OutputSpec>,
    /// Resources that return to an older copy, with that copy's name. Resource and copy exchange names before the first
    /// step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub restores: BTreeMap<String, String>,
}

/// Unit of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Unique id in the workflow, readable: `web:create`, `nginx:configure`, `bastion:open`.
    pub id: String,
    /// The kind of work.
    pub kind: StepKind,
    /// Resource that the step works on. `None` for steps of the whole deployment.
    pub resource: Option<String>,
    /// Ids of the steps that must have succeeded before (or ended, if this step is `always_run`).
    pub after: Vec<String>,
    /// True if the step runs whenever the run ends: success, failure, cancel, crash.
    #[serde(default)]
    pub always_run: bool,
    /// Time limit from the first start, over all attempts, in seconds.
    pub timeout_seconds: u32,
    /// New name of the existing resource, if this step creates its successor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// True if the step is needed only when a value differs from the one that the resource was created from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_changed: bool,
    /// Properties with an unchanged text and a value that differs, or can differ. The values of secrets are not stored,
    /// so they cannot be compared when the step starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// True if the properties in `changed` were changed in the cloud. The update then sends them, although their values
    /// equal the recorded ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repairs: bool,
    /// Resources that must release a value before this step takes it, in circles of hand-overs. Their own steps come
    /// later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes_from: Vec<String>,
    /// Components, and servers between, that use what this step can change: addresses, or settings of a component. Their
    /// own steps come later. They are incomplete if the run ends in between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outdates: Vec<String>,
    /// Duration of a [`StepKind::Pause`] in seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pause_seconds: u32,
    /// Id in the cloud of the server that a [`StepKind::Command`] is for, and of the server or volume of a
    /// [`StepKind::Snapshot`] or [`StepKind::Restore`]. One that has taken its place is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_id: Option<String>,
    /// Id in the cloud of the snapshot that a [`StepKind::Restore`] restores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
}

impl Step {
    /// Step with default values in the other fields.
    pub(crate) fn new(
        id: String,
        kind: StepKind,
        resource: Option<&str>,
        after: Vec<String>,
        timeout_seconds: u32,
    ) -> Step {
        Step {
            id,
            kind,
            resource: resource.map(str::to_owned),
            after,
            always_run: false,
            timeout_seconds,
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
}

fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

/// The kind of a step's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Create the resource in the cloud and wait until it is ready.
    Create,
    /// Change the resource in the cloud without replacing it.
    Update,
    /// Delete the resource from the cloud and wait until it is gone.
    Delete,
    /// Wait until an SSH connection to the server succeeds, with our host key.
    WaitForSsh,
    /// Open the bastion's port 22 for the orchestrator's address with a security group rule.
    OpenBastion,
    /// Remove that rule.
    CloseBastion,
    /// Install the component's software on its host, before the components that it requires are ready.
    Install,
    /// Run the component's Ansible role on its host, in a sandbox.
    Configure,
    /// Wait between the batches of a group.
    Pause,
    /// Wait until a user releases the run: a hook of an environment.
    Hook,
    /// Remove strays, and wait until no more strays can appear.
    Sweep,
    /// Run the command of the run on the server. It is never repeated unasked.
    Command,
    /// Suspend the server, or run the software deployment for SUSPEND.
    Suspend,
    /// Resume the server, or run the software deployment for RESUME.
    Resume,
    /// Take a snapshot of the resource.
    Snapshot,
    /// Restore the resource from a snapshot.
    Restore,
}

/// Resource of a run: its description with parameters inserted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceSpec {
    /// The type, for example `OS::Nova::Server`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Values or expressions by property.
    #[serde(default)]
    pub properties: BTreeMap<String, Expr>,
    /// Marks for drivers: `public`, `bastion`.
    #[serde(default)]
    pub marks: Marks,
    /// Drawn by a user, or added by a pass.
    pub origin: Origin,
    /// Names of the resources that must exist before this one.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Names in the template's `depends_on`. `requires` contains them too, together with those of references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The treatment of the object in the cloud when the resource is removed.
    #[serde(default, skip_serializing_if = "DeletionPolicy::is_delete")]
    pub deletion_policy: DeletionPolicy,
    /// Id of an existing object that is only read, and never created, changed or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<Expr>,
    /// Version of the catalogue item that the component is set up with. `None` for all other resources, and for components
    /// from before versions were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl ResourceSpec {
    /// Server of a component or of a software deployment.
    pub fn host(&self) -> Option<&str> {
        target(
            self.properties
                .get(types::host_property(&self.resource_type))?,
        )
    }

    /// The devices of a server: the entries of its device mappings.
    pub fn devices(&self) -> impl Iterator<Item = &Expr> {
        let mappings = ["block_device_mapping_v2", "block_device_mapping"].into_iter();
        let mappings = mappings.filter_map(move |name| self.properties.get(name));
        mappings.flat_map(|mapping| match mapping {
            Expr::List(entries) => entries.as_slice(),
            _ => &[],
        })
    }

    /// The secret of one consumer of a component, in the component's list of consumers: a role variable that
    /// `passes::consumers` sets.
    pub fn secret_of(&self, consumer: &str, list: &str) -> Option<&Expr> {
        let Expr::List(entries) = self.properties.get(list)? else {
            return None;
        };
        let is_own = |entry: &&Expr| entry.get(NAME_KEY).and_then(Expr::as_str) == Some(consumer);
        entries.iter().find(is_own)?.get(SECRET_KEY)
    }

    /// True for a wait condition whose signals are fetched over SSH.
    pub fn fetches_signals(&self) -> bool {
        self.marks.signals_over_ssh && types::is_wait_condition(&self.resource_type)
    }

    /// The servers of which a wait condition's signals are fetched over SSH. `resource` finds a resource by name.
    pub fn signal_servers<'a>(
        &'a self,
        resource: impl Fn(&str) -> Option<&'a ResourceSpec>,
    ) -> impl Iterator<Item = &'a str> {
        let fetches = self.fetches_signals();
        let signals = move |name: &&str| {
            fetches
                && resource(name)
                    .is_some_and(|spec| spec.resource_type == SERVER && spec.marks.signals_over_ssh)
        };
        self.requires.iter().map(String::as_str).filter(signals)
    }
}

/// Name of an older copy of a resource until it is deleted: `web@1`. No template can contain such a name.
pub fn copy_name(resource: &str, number: u32) -> String {
    format!("{resource}@{number}")
}

/// Resource of an older copy. `None` if the name is not that of a copy.
pub fn copy_of(name: &str) -> Option<&str> {
    let (resource, number) = name.rsplit_once('@')?;
    number.parse::<u32>().is_ok().then_some(resource)
}

/// Origin of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Origin {
    /// The resource is in the template.
    Drawn,
    /// A pass added the resource.
    Derived {
        /// Name of the pass, for example `floating-ip`.
        pass: String,
        /// Reason, as one sentence.
        why: String,
        /// Drawn resource that needs this one.
        #[serde(rename = "for")]
        serves: Option<String>,
    },
}

/// One entry under `outputs:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// The description of the output in the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Resolved when the output is read.
    pub value: Expr,
}

/// The bastion, and the resources for access to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bastion<'a> {
    /// Name of the server.
    pub server: &'a str,
    /// Resource with the public address in its attribute `floating_ip_address`.
    pub floating_ip: &'a str,
    /// Security group for the rule that allows the orchestrator's address.
    pub security_group: &'a str,
}

impl Workflow {
    /// The bastion, if the deployment contains software.
    pub fn bastion(&self) -> Option<Bastion<'_>> {
        let (server, _) = self
            .resources
            .iter()
            .find(|(_, spec)| spec.marks.bastion && spec.resource_type == SERVER)?;
        let (security_group, _) = self.resources.iter().find(|(_, spec)| {
            spec.resource_type == SECURITY_GROUP
                && matches!(&spec.origin, Origin::Derived { pass, serves: Some(serves), .. } if pass == "access" && serves == server)
        })?;
        Some(Bastion {
            server,
            floating_ip: self.public_address_of(server)?,
            security_group,
        })
    }

    /// Floating IP of the server. The address is in its attribute `floating_ip_address`.
    pub fn public_address_of(&self, server: &str) -> Option<&str> {
        let ports = self.ports_of(server);
        let leads_here = |spec: &ResourceSpec| {
            spec.properties
                .get("port_id")
                .and_then(target)
                .is_some_and(|port| ports.contains(&port))
        };
        let drawn_in_networks = || {
            let Expr::List(networks) = self.resources.get(server)?.properties.get("networks")?
            else {
                return None;
            };
            networks
                .iter()
                .find_map(|entry| target(entry.get("floating_ip")?))
        };
        self.resources
            .iter()
            .find_map(|(name, spec)| match spec.resource_type.as_str() {
                FLOATING_IP if leads_here(spec) => Some(name.as_str()),
                FLOATING_IP_ASSOCIATION if leads_here(spec) => {
                    spec.properties.get("floatingip_id").and_then(target)
                }
                _ => None,
            })
            .or_else(drawn_in_networks)
    }

    /// A server's ports, in the order of its networks.
    pub fn ports_of(&self, server: &str) -> Vec<&str> {
        match self
            .resources
            .get(server)
            .and_then(|spec| spec.properties.get("networks"))
        {
            Some(Expr::List(networks)) => networks
                .iter()
                .filter_map(|entry| target(entry.get("port")?))
                .collect(),
            _ => Vec::new(),
        }
    }
}
