//! The description of a resource type.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yaql::shown;

use crate::{
    catalog::CatalogItem,
    category::{Category, Shape},
    property::{Attribute, Property, find},
    rule::Rule,
};

/// The description of a resource type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceType {
    /// Name, such as `OS::Neutron::FloatingIP`.
    pub name: String,
    /// Display name, such as `Floating IP`.
    pub title: String,
    /// Summary in one sentence.
    pub summary: String,
    /// Category in the palette, which also sets the hue.
    pub category: Category,
    /// Shape on the canvas.
    pub shape: Shape,
    /// Properties, in the order of forms.
    pub properties: Vec<Property>,
    /// Values that forms offer together, by their labels. Each is a map of properties.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub presets: Vec<(String, Value)>,
    /// Attributes for `get_attr`.
    pub attributes: Vec<Attribute>,
    /// Attributes of Heat without a value in Stackloom. A template that uses one gets a warning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_given: Vec<String>,
    /// Rules about several properties.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Keys of `update_policy`, as properties.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub update_policy: Vec<Property>,
    /// Further names that Heat accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formerly: Vec<String>,
    /// Kind of driver.
    #[serde(default)]
    pub executable: Executable,
    /// Alternative to a type without a driver, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Whether the type supports `deletion_policy: Snapshot`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub snapshots: bool,
    /// Whether the type accepts undescribed properties.
    #[serde(default, skip_serializing_if = "is_false")]
    pub any_property: bool,
    /// Whether the type has undescribed attributes, such as the outputs of a nested template.
    #[serde(default, skip_serializing_if = "is_false")]
    pub any_attribute: bool,
    /// The catalogue item, with ports, capabilities and requirements. `None` for other types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<CatalogItem>,
}

/// Kind of driver of a resource type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Executable {
    /// A driver of the engine that calls the cloud.
    Driver,
    /// A driver of the engine without calls: helpers of the template language.
    Local,
    /// The engine itself, over SSH: the type runs a configuration on a server.
    Server,
    /// No driver: resources are stored, shown, checked and ordered only.
    #[default]
    No,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl ResourceType {
    /// A property by its name, or by its former name.
    pub fn property(&self, name: &str) -> Option<&Property> {
        find(&self.properties, name)
    }

    /// Whether the type is a catalogue item.
    pub fn is_component(&self) -> bool {
        self.component.is_some()
    }

    /// Whether resources of the type run on a server, over SSH: catalogue items and software deployments.
    pub fn runs_on_server(&self) -> bool {
        self.is_component() || self.executable == Executable::Server
    }

    /// True for a component that can take its software off a server that stays.
    pub fn has_removal(&self) -> bool {
        self.component.as_ref().is_some_and(|item| item.removes)
    }

    /// True for a component whose installation needs no other component.
    pub fn has_installation(&self) -> bool {
        self.component.as_ref().is_some_and(|item| item.installs)
    }

    /// The reason why a plan cannot create a resource of this type. `None` if it can.
    pub fn refusal(&self, resource: &str) -> Option<String> {
        let (resource, name) = (shown(resource), &self.name);
        match self.executable {
            Executable::Driver | Executable::Local | Executable::Server => None,
            Executable::No => Some(match &self.advice {
                Some(advice) => {
                    format!(
                        "`{resource}` cannot be deployed: Stackloom does not create `{name}`. {advice}"
                    )
                }
                None => no_driver(&resource, name),
            }),
        }
    }
}

/// The refusal for a type without a driver.
pub fn no_driver(resource: &str, resource_type: &str) -> String {
    format!(
        "`{resource}` cannot be deployed yet: Stackloom has no driver for `{resource_type}`; remove it, or deploy it with Heat"
    )
}
