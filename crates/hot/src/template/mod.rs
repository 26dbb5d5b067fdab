//! Model of a template: the content of its text, with a position for every entry.

use serde::{Deserialize, Serialize};

use crate::{expr::Expr, parameter::Parameter, text::Position, version::Version};

pub mod members;
pub mod read;

/// True if a word is a valid name of a resource, parameter or output.
pub fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 255
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// A HOT template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// `heat_template_version`, as written.
    pub version: String,
    /// `description`.
    pub description: String,
    /// `parameter_groups`, in the order of the text.
    pub parameter_groups: Vec<ParameterGroup>,
    /// Parameters in the order of the text.
    pub parameters: Vec<Parameter>,
    /// Conditions in the order of the text.
    pub conditions: Vec<Condition>,
    /// Resources in the order of the text.
    pub resources: Vec<Resource>,
    /// Outputs in the order of the text.
    pub outputs: Vec<Output>,
}

/// Entry of `parameter_groups`: parameters that a form displays together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterGroup {
    /// The label for forms.
    pub label: Option<String>,
    /// The description for forms.
    pub description: Option<String>,
    /// Names of parameters, in the order of the form. A parameter is in at most one group.
    pub parameters: Vec<String>,
}

/// Entry under `conditions:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Name.
    pub name: String,
    /// Position of the name.
    pub at: Position,
    /// A boolean, the name of another condition, or functions of parameters.
    pub value: Expr,
}

/// Entry under `resources:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resource {
    /// Name.
    pub name: String,
    /// Position of the name.
    pub at: Position,
    /// Type as written.
    pub resource_type: String,
    /// The description in the template.
    pub description: Option<String>,
    /// Properties in the order of the text.
    pub properties: Vec<ResourceProperty>,
    /// Names of resources as written, with their positions.
    pub depends_on: Vec<(String, Position)>,
    /// The whole `metadata`.
    pub metadata: Option<Expr>,
    /// The marks in `metadata.stackloom`.
    pub marks: Marks,
    /// The resource exists if the condition holds, or if there is none.
    pub condition: Option<Expr>,
    /// Id of an existing object that is only read, and never changed or deleted.
    pub external_id: Option<Expr>,
    /// See [`DeletionPolicy`].
    pub deletion_policy: Option<Expr>,
    /// Update policy. Its form depends on the type.
    pub update_policy: Option<Expr>,
}

/// Property of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceProperty {
    /// Name.
    pub name: String,
    /// Position of the name.
    pub at: Position,
    /// Value.
    pub value: Expr,
}

/// Entry under `outputs:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name.
    pub name: String,
    /// Position of the name.
    pub at: Position,
    /// The description in the template.
    pub description: Option<String>,
    /// Value.
    pub value: Expr,
    /// The output exists if the condition holds, or if there is none.
    pub condition: Option<Expr>,
}

impl Template {
    /// Version of the template, or the newest one if the version is unknown.
    pub fn hot(&self) -> Version {
        Version::of(&self.version).unwrap_or_default()
    }

    /// Resource by name. Searches linearly: build an index for many look-ups.
    pub fn resource(&self, name: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.name == name)
    }

    /// A condition by name.
    pub fn condition(&self, name: &str) -> Option<&Condition> {
        self.conditions
            .iter()
            .find(|condition| condition.name == name)
    }
}

impl Resource {
    /// A property's value by name.
    pub fn property(&self, name: &str) -> Option<&Expr> {
        self.properties
            .iter()
            .find(|property| property.name == name)
            .map(|property| &property.value)
    }

    /// True if the resource exists: it has no condition, or the condition holds. `None` if that is unknown in `scope`.
    pub fn is_on(&self, scope: &dyn crate::expr::Scope) -> Option<bool> {
        match &self.condition {
            None => Some(true),
            Some(condition) => condition.holds(scope).ok(),
        }
    }

    /// Treatment of the object when the resource is removed. `Delete` if the policy is unknown.
    pub fn deletion(&self, scope: &dyn crate::expr::Scope) -> DeletionPolicy {
        self.deletion_policy
            .as_ref()
            .and_then(|policy| policy.resolve(scope).ok())
            .and_then(|policy| DeletionPolicy::of_text(policy.as_str()?))
            .unwrap_or_default()
    }
}

impl Output {
    /// True if the output exists: it has no condition, or the condition holds. `None` if that is unknown in `scope`.
    pub fn is_on(&self, scope: &dyn crate::expr::Scope) -> Option<bool> {
        match &self.condition {
            None => Some(true),
            Some(condition) => condition.holds(scope).ok(),
        }
    }
}

/// Heat's `deletion_policy`: treatment of an object in the cloud when its resource is removed, replaced or undeployed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeletionPolicy {
    /// The object is deleted.
    #[default]
    Delete,
    /// The object stays in the cloud, and is removed from the deployment.
    Retain,
    /// A snapshot is created, then the object is deleted.
    Snapshot,
}

impl DeletionPolicy {
    /// True for the default policy.
    pub fn is_delete(&self) -> bool {
        *self == DeletionPolicy::Delete
    }

    /// The text in a template.
    pub fn as_text(self) -> &'static str {
        match self {
            DeletionPolicy::Delete => "Delete",
            DeletionPolicy::Retain => "Retain",
            DeletionPolicy::Snapshot => "Snapshot",
        }
    }

    /// Parses the text in a template (`Delete`, `Retain`, `Snapshot`). Lower case is accepted, as in Heat.
    pub fn of_text(text: &str) -> Option<DeletionPolicy> {
        match text {
            "Delete" | "delete" => Some(DeletionPolicy::Delete),
            "Retain" | "retain" => Some(DeletionPolicy::Retain),
            "Snapshot" | "snapshot" => Some(DeletionPolicy::Snapshot),
            _ => None,
        }
    }
}

/// Marks of a resource under `metadata: {stackloom: ...}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// True for a server that gets a public address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub public: bool,
    /// True for the server through which other servers are reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bastion: bool,
    /// True for a handle whose signals are fetched over SSH, for the waits on it, and for the servers that signal to it.
    /// No template contains it: plans set it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signals_over_ssh: bool,
}
