//! The model of a template: what the text says, with a position for every entry.

use serde::{Deserialize, Serialize};

use crate::{expr::Expr, parameter::Parameter, text::Position, version::Version};

pub mod members;
pub mod read;

/// Whether a word may name a resource, parameter or output.
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
    /// In the order of the text.
    pub parameters: Vec<Parameter>,
    /// In the order of the text.
    pub conditions: Vec<Condition>,
    /// In the order of the text.
    pub resources: Vec<Resource>,
    /// In the order of the text.
    pub outputs: Vec<Output>,
}

/// An entry of `parameter_groups`: parameters that a form shows together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterGroup {
    /// For people.
    pub label: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// Names, in the order of the form. A parameter is in one group at most.
    pub parameters: Vec<String>,
}

/// An entry under `conditions:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub at: Position,
    /// A truth, the name of another condition, or functions of parameters.
    pub value: Expr,
}

/// An entry under `resources:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub at: Position,
    /// Its type, as written.
    pub resource_type: String,
    /// For people.
    pub description: Option<String>,
    /// In the order of the text.
    pub properties: Vec<ResourceProperty>,
    /// Names of resources, as written.
    pub depends_on: Vec<(String, Position)>,
    /// `metadata`, whole.
    pub metadata: Option<Expr>,
    /// From `metadata.stackloom`.
    pub marks: Marks,
    /// Without it, or where it holds, the resource is there.
    pub condition: Option<Expr>,
    /// The id of a live object that is taken as it is: never changed, never removed.
    pub external_id: Option<Expr>,
    /// See [`DeletionPolicy`].
    pub deletion_policy: Option<Expr>,
    /// Its form hangs on the type.
    pub update_policy: Option<Expr>,
}

/// A property of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceProperty {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub at: Position,
    /// Its value.
    pub value: Expr,
}

/// An entry under `outputs:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub at: Position,
    /// For people.
    pub description: Option<String>,
    /// What it shows.
    pub value: Expr,
    /// Without it, or where it holds, the output is there.
    pub condition: Option<Expr>,
}

impl Template {
    /// The version that its text names; the newest where it names none that there is.
    pub fn hot(&self) -> Version {
        Version::of(&self.version).unwrap_or_default()
    }

    /// A resource by name. Looks through all of them: build an index where it is asked often.
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

    /// Whether it is there, as far as `scope` knows: one without a condition always is.
    pub fn is_on(&self, scope: &dyn crate::expr::Scope) -> Option<bool> {
        match &self.condition {
            None => Some(true),
            Some(condition) => condition.holds(scope).ok(),
        }
    }

    /// What becomes of the object when the resource goes, as far as it is known.
    pub fn deletion(&self, scope: &dyn crate::expr::Scope) -> DeletionPolicy {
        self.deletion_policy
            .as_ref()
            .and_then(|policy| policy.resolve(scope).ok())
            .and_then(|policy| DeletionPolicy::of_text(policy.as_str()?))
            .unwrap_or_default()
    }
}

impl Output {
    /// Whether it is there, as far as `scope` knows.
    pub fn is_on(&self, scope: &dyn crate::expr::Scope) -> Option<bool> {
        match &self.condition {
            None => Some(true),
            Some(condition) => condition.holds(scope).ok(),
        }
    }
}

/// Heat's `deletion_policy`: what becomes of a thing in the cloud when its resource vanishes, is
/// replaced, or is undeployed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeletionPolicy {
    /// It is removed.
    #[default]
    Delete,
    /// It stays, and is forgotten here.
    Retain,
    /// A snapshot of it is taken, then it is removed.
    Snapshot,
}

impl DeletionPolicy {
    /// Whether it is what happens anyway.
    pub fn is_delete(&self) -> bool {
        *self == DeletionPolicy::Delete
    }

    /// As a template writes it.
    pub fn as_text(self) -> &'static str {
        match self {
            DeletionPolicy::Delete => "Delete",
            DeletionPolicy::Retain => "Retain",
            DeletionPolicy::Snapshot => "Snapshot",
        }
    }

    /// As a template writes it (`Delete`, `Retain`, `Snapshot`); Heat takes lower case too.
    pub fn of_text(text: &str) -> Option<DeletionPolicy> {
        match text {
            "Delete" | "delete" => Some(DeletionPolicy::Delete),
            "Retain" | "retain" => Some(DeletionPolicy::Retain),
            "Snapshot" | "snapshot" => Some(DeletionPolicy::Snapshot),
            _ => None,
        }
    }
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
