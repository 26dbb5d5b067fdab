//! What a deployment consists of, as far as a plan reads it.
//!
//! The descriptions alone cannot tell what differs: `{get_resource: net}` reads the same before and
//! after `net` was replaced. So each resource carries what it was really made from, and what others
//! can refer to of it now; a plan compares values wherever both are known, and descriptions elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::workflow::{ResourceSpec, copy_name, copy_of};

/// What a deployment consists of now, by resource name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deployed {
    /// As they were made. Older copies that an unfinished update left stand here too, under the names
    /// that [`copy_name`] gives.
    pub resources: BTreeMap<String, ResourceSpec>,
    /// What is known of them in the cloud. One without an entry is taken to be there and in order.
    #[serde(default)]
    pub actual: BTreeMap<String, Actual>,
    /// Values that the template's parameters had; hidden ones left out.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Hidden parameters that have another value now.
    #[serde(default)]
    pub hidden_changed: BTreeSet<String>,
    /// The same by resource, where it is known what each was made with: a change that did not end reached some of them only.
    #[serde(default)]
    pub hidden_changed_of: BTreeMap<String, BTreeSet<String>>,
    /// Hidden values that `parameter_defaults` gave to nested templates and that the files no longer say, by the names
    /// of [`Merged::hidden_defaults`](hot::merged::Merged::hidden_defaults). Never stored with it.
    #[serde(skip)]
    pub kept: BTreeMap<String, Value>,
    /// What `OS::stack_name` and the other pseudo parameters are, as far as it is known: for conditions. Everywhere else they
    /// are asked for when a run comes there.
    #[serde(skip)]
    pub pseudo: BTreeMap<String, Value>,
}

/// What is known of a deployed resource in the cloud.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Actual {
    /// Whether the cloud has given it an id.
    pub exists: bool,
    /// Whether the last step on it ended well.
    pub in_order: bool,
    /// What `get_resource` gives.
    #[serde(default)]
    pub reference: Option<Value>,
    /// What `get_attr` gives.
    #[serde(default)]
    pub attributes: Map<String, Value>,
    /// Values of the properties that mention other resources, as they were when it was made or last
    /// changed.
    #[serde(default)]
    pub made_from: BTreeMap<String, Value>,
}

impl Deployed {
    /// Resources of which nothing else is known.
    pub fn of(resources: BTreeMap<String, ResourceSpec>) -> Deployed {
        Deployed {
            resources,
            ..Deployed::default()
        }
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

    /// The name under which the copy that is there now will be kept until it is removed.
    pub(super) fn next_copy(&self, name: &str) -> String {
        let numbers = self
            .copies(name)
            .filter_map(|copy| copy.rsplit_once('@')?.1.parse::<u32>().ok());
        copy_name(name, numbers.max().unwrap_or(0) + 1)
    }

    /// The older copy takes its name back; what had the name becomes the older copy.
    pub(super) fn swap(&mut self, name: &str, copy: &str) {
        swap(&mut self.resources, name, copy);
        swap(&mut self.actual, name, copy);
        swap(&mut self.hidden_changed_of, name, copy);
    }

    /// Whether the last step on a resource ended well.
    pub(super) fn is_in_order(&self, name: &str) -> bool {
        self.actual
            .get(name)
            .is_none_or(|actual| actual.in_order && actual.exists)
    }

    /// Whether a value that one was made from is the id of another.
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

    /// Hidden parameters that have another value than a resource was made with.
    pub(super) fn hidden_changed_of(&self, name: &str) -> &BTreeSet<String> {
        let own = self.hidden_changed_of.get(name);
        own.unwrap_or(&self.hidden_changed)
    }

    /// Whether it is in the cloud.
    pub(super) fn exists(&self, name: &str) -> bool {
        self.actual.get(name).is_none_or(|actual| actual.exists)
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
