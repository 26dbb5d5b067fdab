//! What a plan tells: a change per resource, with the property that causes it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::workflow::Origin;

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
    /// It hangs on a value that is known only when the run comes there; then it may stay as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may: bool,
    /// It is replaced, and the cloud cannot hold old and new at once: the old one is removed before the new one is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old_goes_first: bool,
    /// The properties that differ, each by the path of what differs in it: `networks.0.network`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<PropertyChange>,
}

impl Change {
    /// Names of the properties whose text is the same and whose value is not, or may not be.
    pub(super) fn beneath_the_text(&self) -> Vec<String> {
        let found = self
            .properties
            .iter()
            .filter(|property| property.because.is_some());
        let mut names: Vec<String> = found
            .filter_map(|property| property.name.split('.').next())
            .map(str::to_owned)
            .collect();
        names.dedup();
        names
    }
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PropertyChange {
    /// Its name, and the path within it.
    pub name: String,
    /// As deployed, in HOT form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// As drawn, in HOT form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
    /// It is what the resource is replaced for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// Where the text is the same and the value is not: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Resources that the new value hangs on and that are made or changed by the same run: it is known when they are
    /// done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_after: Vec<String>,
}
