//! Changes of a plan: one per resource, with the property that causes it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::workflow::Origin;

/// The change of one resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The kind of change.
    pub action: Action,
    /// Name in the template, or the name that a pass chose.
    pub resource: String,
    /// The type, for example `OS::Nova::Server`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Drawn or derived.
    pub origin: Origin,
    /// One sentence: the property that causes the change, or the purpose of a derived resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// True if the change depends on a value that is known only during the run. The resource can then stay unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may: bool,
    /// True for a replacement if the cloud cannot hold old and new resource at once: the old one is deleted before the
    /// new one is created.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old_goes_first: bool,
    /// True if the update sets a component up with another version of its item. Such updates follow one another, so that
    /// a version that does not work reaches one component only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub upgrades: bool,
    /// True if the update restores properties that were changed in the cloud.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repairs: bool,
    /// Properties that differ, each with the path of the difference: `networks.0.network`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<PropertyChange>,
}

impl Change {
    /// Names of the properties whose text is unchanged and whose value differs, or can differ.
    pub(super) fn changed_values(&self) -> Vec<String> {
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

/// The kind of change of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The resource is created.
    Create,
    /// The resource is updated in place and keeps its id.
    Update,
    /// A new resource is created, and the old one is deleted.
    Replace,
    /// The resource is deleted.
    Delete,
    /// The resource is unchanged.
    None,
}

/// One property that differs. Secrets are masked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PropertyChange {
    /// The property's name, and the path within it.
    pub name: String,
    /// The deployed value in HOT form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// The planned value in HOT form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
    /// True if this property causes the replacement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// The reason, if the text is unchanged and the value differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Resources that the new value depends on and that the same run creates or changes. The value is known after their
    /// steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_after: Vec<String>,
}
