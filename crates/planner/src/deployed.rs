//! Resources of a deployment, as input of a plan.
//!
//! Descriptions alone do not show all differences: `{get_resource: net}` is the same text before and after `net` was
//! replaced. So each resource contains the values that it was created from, and the present values of its reference and
//! attributes. A plan compares values if both are known, and descriptions otherwise.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    scaling,
    workflow::{ResourceSpec, copy_name, copy_of},
};

/// Present state of a deployment, by resource name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deployed {
    /// Descriptions at creation, including older copies left by an unfinished update, under the names of [`copy_name`].
    pub resources: BTreeMap<String, ResourceSpec>,
    /// Known state in the cloud. A resource without an entry is treated as existing and in order.
    #[serde(default)]
    pub actual: BTreeMap<String, Actual>,
    /// Values of the template's parameters, without hidden ones.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Hidden parameters with a changed value.
    #[serde(default)]
    pub hidden_changed: BTreeSet<String>,
    /// Hidden parameters with a changed value, by resource, if known. An unfinished update may have reached only
    /// some resources.
    #[serde(default)]
    pub hidden_changed_of: BTreeMap<String, BTreeSet<String>>,
    /// Hidden values of `parameter_defaults` for nested templates that are no longer in the files, by the names of
    /// [`Merged::hidden_defaults`](hot::merged::Merged::hidden_defaults). Never stored with the deployment.
    #[serde(skip)]
    pub stored_hidden: BTreeMap<String, Value>,
    /// Known values of `OS::stack_name` and the other pseudo parameters, for conditions. Elsewhere they are resolved
    /// during the run.
    #[serde(skip)]
    pub pseudo: BTreeMap<String, Value>,
    /// Requests for scaling groups, by full name. Other groups keep their members.
    #[serde(skip)]
    pub groups: BTreeMap<String, GroupRequest>,
    /// Damage to repair, by resource name.
    #[serde(skip)]
    pub damage: BTreeMap<String, Damage>,
    /// Number of components that are set up with another version of their item at the same time. 0 means 1.
    #[serde(skip)]
    pub upgrade_batch: usize,
}

/// Damage to a resource that was done outside of Stackloom.
#[derive(Clone, Debug, PartialEq)]
pub enum Damage {
    /// The resource is gone from the cloud.
    Gone,
    /// The resource exists, and cannot be used. Contains the cloud's reason.
    Broken(String),
    /// Properties have other values in the cloud: each property with its value now, if it is no secret. `status` is the
    /// power state of a server.
    Changed(Vec<(String, Option<Value>)>),
    /// A health check of the component fails. Contains its answer.
    Unhealthy(String),
}

/// Request for the members of a scaling group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRequest {
    /// This number of members.
    Size(u64),
    /// The members that the group had, by name: a roll-back takes back those that are still there.
    Members(Vec<String>),
}

/// Known state of a deployed resource in the cloud.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Actual {
    /// True if the resource has an id in the cloud.
    pub exists: bool,
    /// True if its last step succeeded.
    pub in_order: bool,
    /// Result of `get_resource`.
    #[serde(default)]
    pub reference: Option<Value>,
    /// Results of `get_attr`.
    #[serde(default)]
    pub attributes: Map<String, Value>,
    /// Values of the properties that refer to other resources, at its creation or last change.
    #[serde(default)]
    pub made_from: BTreeMap<String, Value>,
}

impl Deployed {
    /// Deployment of which only the descriptions are known.
    pub fn of(resources: BTreeMap<String, ResourceSpec>) -> Deployed {
        Deployed {
            resources,
            ..Deployed::default()
        }
    }

    /// Names of the members that are recorded for a scaling group, oldest first.
    pub fn members_of(&self, group: &str) -> Vec<String> {
        let recorded = self.resources.get(group);
        recorded.map(scaling::members).unwrap_or_default()
    }

    /// Names of the older copies of a resource.
    pub(super) fn copies<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let from = format!("{name}@");
        self.resources
            .range(from..)
            .map(|(copy, _)| copy.as_str())
            .take_while(move |copy| copy.starts_with(name))
            .filter(move |copy| copy_of(copy) == Some(name))
    }

    /// Name of the present copy until it is deleted.
    pub(super) fn next_copy(&self, name: &str) -> String {
        let numbers = self
            .copies(name)
            .filter_map(|copy| copy.rsplit_once('@')?.1.parse::<u32>().ok());
        copy_name(name, numbers.max().unwrap_or(0) + 1)
    }

    /// Exchanges the names of a resource and its older copy.
    pub(super) fn swap(&mut self, name: &str, copy: &str) {
        swap(&mut self.resources, name, copy);
        swap(&mut self.actual, name, copy);
        swap(&mut self.hidden_changed_of, name, copy);
    }

    /// True if the last step on a resource succeeded.
    pub(super) fn is_in_order(&self, name: &str) -> bool {
        let actual = self.actual.get(name);
        actual.is_none_or(|actual| actual.in_order) && self.exists(name)
    }

    /// True if a resource was created from the id of the other one.
    pub(super) fn is_made_from(&self, name: &str, other: &str) -> bool {
        let reference = self
            .actual
            .get(other)
            .and_then(|actual| actual.reference.as_ref());
        let (Some(reference), Some(actual)) = (reference, self.actual.get(name)) else {
            return false;
        };
        actual
            .made_from
            .values()
            .any(|value| holds(value, reference))
    }

    /// Hidden parameters with a changed value since the creation of a resource.
    pub(super) fn hidden_changed_of(&self, name: &str) -> &BTreeSet<String> {
        let own = self.hidden_changed_of.get(name);
        own.unwrap_or(&self.hidden_changed)
    }

    /// True if the resource is in the cloud.
    pub(super) fn exists(&self, name: &str) -> bool {
        !self.is_gone(name) && self.actual.get(name).is_none_or(|actual| actual.exists)
    }

    /// True if the resource has disappeared from the cloud.
    pub(super) fn is_gone(&self, name: &str) -> bool {
        self.damage.get(name) == Some(&Damage::Gone)
    }
}

fn swap<T>(map: &mut BTreeMap<String, T>, one: &str, other: &str) {
    let (first, second) = (map.remove(one), map.remove(other));
    map.extend(first.map(|value| (other.to_owned(), value)));
    map.extend(second.map(|value| (one.to_owned(), value)));
}

fn holds(value: &Value, wanted: &Value) -> bool {
    value == wanted
        || match value {
            Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
            Value::Object(map) => map.values().any(|item| holds(item, wanted)),
            _ => false,
        }
}
