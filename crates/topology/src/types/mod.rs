//! Resource types: one description each, from which forms, checks, the palette and the planner read.
//!
//! One file a type, in a folder a service; `read` says how they are written. Names, kinds, defaults,
//! constraints and what updates in place are Heat's own, so that a template which Heat takes is right
//! here, and one which it refuses is refused for the same reason. Where we differ on purpose, the file
//! says so. A new type is a file and a line in `files`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{catalog::CatalogItem, text::shown};

mod build;
mod files;
mod names;
mod read;
mod rule;

pub(crate) use build::*;
pub use names::SSH_KEY;
pub(crate) use names::*;
pub use rule::{OneOf, Rule, When};

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

/// Where a type stands in the palette.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
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
    #[default]
    Orchestration,
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

/// How the canvas draws a resource of a type (see the design of the canvas in `canvas::drawing`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A tinted frame that others stand in: a network.
    Frame,
    /// A card: a server, and all types without a drawing of their own.
    #[default]
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
    /// What the keys of a map owe each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// What another value means for what is deployed.
    pub on_change: OnChange,
    /// What a `get_resource` here means on the canvas, and to which types it may lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// What the cloud can offer as values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Choices>,
    /// A former name that Heat still takes for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formerly: Option<String>,
    /// Taken for old templates and not offered in forms.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hidden: bool,
    /// Heat knows the name and refuses it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsupported: bool,
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
    /// A multiple of `step`, plus `offset`.
    Modulo {
        /// Not 0.
        step: i64,
        /// Smaller than the step.
        offset: i64,
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
    /// `CloudFacts::volume_types`.
    VolumeType,
}

/// What `get_attr` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// As in HOT.
    pub name: String,
    /// One sentence.
    pub summary: String,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// All types that a template may use. Cheap to clone: descriptions are shared.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    types: BTreeMap<String, Arc<ResourceType>>,
    /// Former names to present ones.
    former: HashMap<String, String>,
}

impl Registry {
    /// The types that we describe, read once. Not for the browser, which asks the server instead: the descriptions
    /// would be a large part of what it loads.
    pub fn openstack() -> Registry {
        Registry::shared().clone()
    }

    /// [`Registry::openstack`] without a copy.
    pub fn shared() -> &'static Registry {
        static OPENSTACK: LazyLock<Registry> = LazyLock::new(|| {
            // A test reads all of them; here none can be wrong.
            let described = files::FILES
                .iter()
                .filter_map(|(_, text)| read::resource_type(text).ok());
            let retired = read::retired(files::RETIRED).unwrap_or_default();
            Registry::of(described.chain(retired))
        });
        &OPENSTACK
    }

    /// These and no others: what `GET /resource-types` answered, in a browser.
    pub fn of(described: impl IntoIterator<Item = ResourceType>) -> Registry {
        let mut registry = Registry::default();
        for one in described {
            registry.insert(one);
        }
        registry
    }

    /// One more, or another in its place.
    pub(crate) fn insert(&mut self, described: ResourceType) {
        for former in &described.formerly {
            self.former.insert(former.clone(), described.name.clone());
        }
        self.types
            .insert(described.name.clone(), Arc::new(described));
    }

    /// And the catalogue's items, as `Stackloom::Catalog::<name>`.
    pub fn with_catalog(mut self, items: impl IntoIterator<Item = CatalogItem>) -> Registry {
        for item in items {
            self.insert(item.resource_type());
        }
        self
    }

    /// The description of a type, if we know it; also by a former name.
    pub fn get(&self, name: &str) -> Option<&ResourceType> {
        if let Some(described) = self.types.get(name).or_else(|| {
            let present = self.former.get(name)?;
            self.types.get(present)
        }) {
            return Some(described);
        }
        // Before 2013 Neutron was called so, and Heat still takes the name.
        let rest = name.strip_prefix("OS::Quantum::")?;
        self.types
            .get(&format!("OS::Neutron::{rest}"))
            .map(Arc::as_ref)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &ResourceType> {
        self.types.values().map(Arc::as_ref)
    }
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
pub(crate) fn no_driver(resource: &str, resource_type: &str) -> String {
    format!(
        "`{resource}` cannot be deployed yet: Stackloom has no driver for `{resource_type}`; remove it, or deploy it with Heat"
    )
}

/// A property by name, or by its former name.
pub(crate) fn find<'a>(properties: &'a [Property], name: &str) -> Option<&'a Property> {
    let is = |property: &&Property| property.name == name;
    let was = |property: &&Property| property.formerly.as_deref() == Some(name);
    properties
        .iter()
        .find(is)
        .or_else(|| properties.iter().find(was))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_refusal_says_what_to_use_instead() {
        let refusal = |name: &str| {
            Registry::openstack()
                .get(name)
                .unwrap()
                .refusal("a")
                .unwrap()
        };
        assert_eq!(
            refusal("OS::Designate::Domain"),
            "`a` cannot be deployed: Stackloom does not make `OS::Designate::Domain`. Use OS::Designate::Zone instead."
        );
        assert!(refusal("OS::Heat::Stack").contains("`type: other.yaml`"));
        assert!(refusal("OS::Swift::Container").contains("has no driver"));
    }

    #[test]
    fn every_file_is_read_and_says_its_own_type() {
        for (path, text) in files::FILES {
            let described =
                read::resource_type(text).unwrap_or_else(|why| panic!("{path}.yaml: {why}"));
            let plain = |text: &str| text.to_lowercase().replace(['_', ':', '/'], "");
            let expected = plain(&described.name);
            assert!(
                expected.ends_with(&plain(path)),
                "{path}.yaml is of `{}`",
                described.name
            );
        }
        let retired = read::retired(files::RETIRED).unwrap();
        assert!(retired.iter().all(|one| one.any_property));
        assert_eq!(
            Registry::openstack().iter().count(),
            files::FILES.len() + retired.len(),
            "two files of one type"
        );
    }

    #[test]
    fn every_file_has_its_line() {
        let listed: BTreeSet<&str> = files::FILES.iter().map(|(path, _)| *path).collect();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/types");
        let mut found = BTreeSet::new();
        for service in std::fs::read_dir(&folder).unwrap().flatten() {
            if !service.path().is_dir() {
                continue;
            }
            for file in std::fs::read_dir(service.path()).unwrap().flatten() {
                let path = file.path().with_extension("");
                found.insert(path.strip_prefix(&folder).unwrap().display().to_string());
            }
        }
        assert_eq!(
            found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
            listed
        );
    }

    #[test]
    fn former_names_lead_to_the_present_type() {
        let registry = Registry::openstack();
        for (former, present) in [
            ("OS::Quantum::Port", "OS::Neutron::Port"),
            ("OS::Ceilometer::Alarm", "OS::Aodh::Alarm"),
            (
                "OS::Heat::SoftwareDeployments",
                "OS::Heat::SoftwareDeploymentGroup",
            ),
        ] {
            assert_eq!(registry.get(former).unwrap().name, present);
        }
        let port = registry.get("OS::Neutron::Port").unwrap();
        assert_eq!(port.property("network_id").unwrap().name, "network");
    }

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
