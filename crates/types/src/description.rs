//! The description of a resource type.

use serde::{Deserialize, Serialize};
use yaql::shown;

use crate::{
    catalog::CatalogItem,
    category::{Category, Shape},
    property::{Attribute, Property, find},
    rule::Rule,
};

/// A resource type, described once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceType {
    /// Such as `OS::Neutron::FloatingIP`.
    pub name: String,
    /// For people, such as `Floating IP`.
    pub title: String,
    /// One sentence.
    pub summary: String,
    /// Where it stands in the palette, and its hue.
    pub category: Category,
    /// How the canvas draws it.
    pub shape: Shape,
    /// In the order of a form.
    pub properties: Vec<Property>,
    /// What `get_attr` gives.
    pub attributes: Vec<Attribute>,
    /// Attributes that Heat knows and that have no value here. A template that asks for one gets a warning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_given: Vec<String>,
    /// What the properties owe each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// What may stand under `update_policy`, as properties.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub update_policy: Vec<Property>,
    /// Further names that Heat takes for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formerly: Vec<String>,
    /// Who makes it, if anybody.
    #[serde(default)]
    pub executable: Executable,
    /// What to use in its place, where nobody makes it; a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Whether `deletion_policy: Snapshot` is possible.
    #[serde(default, skip_serializing_if = "is_false")]
    pub snapshots: bool,
    /// It takes properties that are not described.
    #[serde(default, skip_serializing_if = "is_false")]
    pub any_property: bool,
    /// It has attributes that are not described, such as a nested template's outputs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub any_attribute: bool,
    /// For a catalogue item: what it listens on, offers and needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<CatalogItem>,
}

/// Who makes a resource of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Executable {
    /// A driver of the engine, in the cloud.
    Driver,
    /// A driver of the engine, without a cloud: helpers of the language.
    Local,
    /// Nobody yet: it runs on servers, or acts after the deployment.
    Software,
    /// Nobody: it is kept, shown, checked and put in order.
    #[default]
    No,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl ResourceType {
    /// A property by name, or by its former name.
    pub fn property(&self, name: &str) -> Option<&Property> {
        find(&self.properties, name)
    }

    /// Whether it is software on a server.
    pub fn is_component(&self) -> bool {
        self.component.is_some()
    }

    /// Why a plan cannot have a resource of this type made; nothing where it can.
    pub fn refusal(&self, resource: &str) -> Option<String> {
        let (resource, name) = (shown(resource), &self.name);
        match self.executable {
            Executable::Driver | Executable::Local => None,
            Executable::Software => Some(format!(
                "`{resource}` cannot be deployed yet: it is checked and put in order, but running what `{name}` stands for comes later; use an item of the catalogue, or deploy it with Heat"
            )),
            Executable::No => Some(match &self.advice {
                Some(advice) => {
                    format!(
                        "`{resource}` cannot be deployed: Stackloom does not make `{name}`. {advice}"
                    )
                }
                None => no_driver(&resource, name),
            }),
        }
    }
}

/// The refusal of a type that nobody makes.
pub fn no_driver(resource: &str, resource_type: &str) -> String {
    format!(
        "`{resource}` cannot be deployed yet: Stackloom has no driver for `{resource_type}`; remove it, or deploy it with Heat"
    )
}
