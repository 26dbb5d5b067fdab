//! Resource types: one description each, from which forms, checks, the palette and the planner read.
//!
//! One file a type. A new type is a file and a line in [`Registry::openstack`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::CatalogItem;

mod build;
mod floating_ip;
mod floating_ip_association;
mod key_pair;
mod net;
mod port;
mod router;
mod router_interface;
mod security_group;
mod security_group_rule;
mod server;
mod ssh_key;
mod subnet;

pub(crate) use build::*;
pub use ssh_key::NAME as SSH_KEY;

/// A resource type, described once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// For a catalogue item: what it listens on, offers and needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<CatalogItem>,
}

/// Where a type stands in the palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Servers and what belongs to them.
    Compute,
    /// Networks, subnets, ports, routers, addresses.
    Network,
    /// Security groups, keys, secrets.
    Security,
    /// Volumes and objects.
    Storage,
    /// What runs on servers.
    Software,
    /// Helpers of the language.
    Orchestration,
}

/// How the canvas draws a resource of a type (see the design of the canvas in `canvas::drawing`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A tinted frame that others stand in: a network.
    Frame,
    /// A card: a server, and all types without a drawing of their own.
    Card,
    /// A small round node: a router.
    Node,
    /// A row inside its host: software.
    Chip,
    /// A pin, line, badge or row of another: ports, subnets, interfaces, addresses, rules, keys.
    Part,
}

/// One property of a type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Property {
    /// As in HOT.
    pub name: String,
    /// What it takes.
    #[serde(flatten)]
    pub kind: PropertyKind,
    /// Must be given.
    #[serde(default)]
    pub required: bool,
    /// Taken when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What a value must fulfil.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Constraint>,
    /// What another value means for what is deployed.
    pub on_change: OnChange,
    /// What a `get_resource` here means on the canvas, and to which types it may lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// What the cloud can offer as values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Choices>,
    /// Shown as dots, masked in plans and logs.
    #[serde(default)]
    pub secret: bool,
    /// Edited in a text area.
    #[serde(default)]
    pub multiline: bool,
    /// One sentence.
    #[serde(default)]
    pub summary: String,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum PropertyKind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list; of anything where `of` is absent.
    List {
        /// What each item is (its name does not matter).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Box<Property>>,
    },
    /// A map; with any keys where `of` is empty.
    Map {
        /// The keys.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        of: Vec<Property>,
    },
    /// Anything.
    Any,
}

/// What a value must fulfil.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// One of these.
    AllowedValues(Vec<Value>),
    /// A whole match of this pattern.
    AllowedPattern(String),
    /// Characters or items.
    Length {
        /// At least.
        min: Option<u64>,
        /// At most.
        max: Option<u64>,
    },
    /// A number within, both ends included.
    Range {
        /// At least.
        min: Option<f64>,
        /// At most.
        max: Option<f64>,
    },
    /// Heat's named constraints that need no cloud: `ip_addr`, `net_cidr`, `mac_addr` ...
    Custom(String),
}

impl PropertyKind {
    /// What is wrong with the type of a value, in a sentence; members of lists and maps are not looked at.
    pub fn problem(&self, value: &Value) -> Option<String> {
        crate::constraint::type_problem(self, value)
    }
}

impl Constraint {
    /// What is wrong with a value, in a sentence. Constraints that ask a cloud find nothing.
    pub fn problem(&self, value: &Value) -> Option<String> {
        crate::constraint::problem(self, value)
    }
}

/// What another value means for a deployed resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnChange {
    /// It keeps its id.
    UpdateInPlace,
    /// A new one takes its place.
    Replace,
}

/// What a reference in a property means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Nested in it, or connected with it.
    pub role: ReferenceRole,
    /// Type names that fit, such as `OS::Neutron::Net`; `component:http` fits any component that
    /// provides the capability `http`.
    pub to: Vec<String>,
}

/// How a reference is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceRole {
    /// It stands inside: software on a server, a server in a network.
    Nests,
    /// A line.
    Connects,
}

/// Live values for a form's control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choices {
    /// `CloudFacts::images`.
    Image,
    /// `CloudFacts::flavors`.
    Flavor,
    /// `CloudFacts::networks`.
    Network,
    /// `CloudFacts::external_networks`.
    ExternalNetwork,
    /// `CloudFacts::key_pairs`.
    KeyPair,
    /// `CloudFacts::availability_zones`.
    AvailabilityZone,
}

/// What `get_attr` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// As in HOT.
    pub name: String,
    /// One sentence.
    pub summary: String,
}

/// All types that a template may use.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    types: BTreeMap<String, ResourceType>,
}

impl Registry {
    /// The OpenStack types that we describe. Not for the browser, which asks the server instead: the descriptions would
    /// be a large part of what it loads.
    pub fn openstack() -> Registry {
        let described = [
            server::resource_type(),
            key_pair::resource_type(),
            net::resource_type(),
            subnet::resource_type(),
            port::resource_type(),
            router::resource_type(),
            router_interface::resource_type(),
            floating_ip::resource_type(),
            floating_ip_association::resource_type(),
            security_group::resource_type(),
            security_group_rule::resource_type(),
            ssh_key::resource_type(),
        ];
        Registry::of(described)
    }

    /// These and no others: what `GET /resource-types` answered, in a browser.
    pub fn of(types: impl IntoIterator<Item = ResourceType>) -> Registry {
        Registry {
            types: types
                .into_iter()
                .map(|one| (one.name.clone(), one))
                .collect(),
        }
    }

    /// And the catalogue's items, as `Stackloom::Catalog::<name>`.
    pub fn with_catalog(mut self, items: impl IntoIterator<Item = CatalogItem>) -> Registry {
        for item in items {
            let described = item.resource_type();
            self.types.insert(described.name.clone(), described);
        }
        self
    }

    /// One more, or another in its place.
    pub(crate) fn insert(&mut self, described: ResourceType) {
        self.types.insert(described.name.clone(), described);
    }

    /// The description of a type, if we know it.
    pub fn get(&self, name: &str) -> Option<&ResourceType> {
        self.types.get(name)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &ResourceType> {
        self.types.values()
    }
}

impl ResourceType {
    /// A property by name.
    pub fn property(&self, name: &str) -> Option<&Property> {
        self.properties
            .iter()
            .find(|property| property.name == name)
    }

    /// Whether it is software on a server.
    pub fn is_component(&self) -> bool {
        self.component.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_type_that_there_is() {
        fn check(registry: &Registry, owner: &str, property: &Property) {
            for to in property
                .reference
                .iter()
                .flat_map(|reference| &reference.to)
            {
                assert!(
                    registry.get(to).is_some(),
                    "{owner}.{} leads to `{to}`",
                    property.name
                );
            }
            match &property.kind {
                PropertyKind::List { of: Some(item) } => check(registry, owner, item),
                PropertyKind::Map { of } => of.iter().for_each(|key| check(registry, owner, key)),
                _ => {}
            }
        }
        let registry = Registry::openstack();
        assert_eq!(registry.iter().count(), 12);
        for described in registry.iter() {
            assert!(
                !described.title.is_empty() && !described.summary.is_empty(),
                "{}",
                described.name
            );
            for property in &described.properties {
                assert!(
                    !property.summary.is_empty(),
                    "{}.{} says nothing of itself",
                    described.name,
                    property.name
                );
                check(&registry, &described.name, property);
            }
        }
    }

    #[test]
    fn a_description_survives_json() {
        for described in Registry::openstack().iter() {
            let json = serde_json::to_string(described).unwrap();
            assert_eq!(
                &serde_json::from_str::<ResourceType>(&json).unwrap(),
                described
            );
        }
    }
}
