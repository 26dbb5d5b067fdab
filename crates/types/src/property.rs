//! Properties and attributes: names, kinds, constraints, and what a change or a reference means.

use hot::constraint::{Constraint, ValueKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rule::Rule;

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
    /// Constraints of the value.
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

impl PropertyKind {
    /// The type alone, without what a list or a map consists of.
    pub fn value_kind(&self) -> ValueKind {
        match self {
            PropertyKind::String => ValueKind::String,
            PropertyKind::Integer => ValueKind::Integer,
            PropertyKind::Number => ValueKind::Number,
            PropertyKind::Boolean => ValueKind::Boolean,
            PropertyKind::List { .. } => ValueKind::List,
            PropertyKind::Map { .. } => ValueKind::Map,
            PropertyKind::Any => ValueKind::Any,
        }
    }

    /// What is wrong with the type of a value, in a sentence; members of lists and maps are not looked at.
    pub fn problem(&self, value: &Value) -> Option<String> {
        hot::constraint::type_problem(self.value_kind(), value)
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

/// A property by name, or by its former name.
pub fn find<'a>(properties: &'a [Property], name: &str) -> Option<&'a Property> {
    let is = |property: &&Property| property.name == name;
    let was = |property: &&Property| property.formerly.as_deref() == Some(name);
    properties
        .iter()
        .find(is)
        .or_else(|| properties.iter().find(was))
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A property of a kind, with no more said about it. A change of it replaces the resource.
pub fn of_kind(name: &str, kind: PropertyKind) -> Property {
    Property {
        name: name.to_owned(),
        kind,
        required: false,
        default: None,
        constraints: Vec::new(),
        rules: Vec::new(),
        on_change: OnChange::Replace,
        reference: None,
        choices: None,
        formerly: None,
        hidden: false,
        unsupported: false,
        secret: false,
        multiline: false,
        summary: String::new(),
    }
}

pub(crate) fn string(name: &str) -> Property {
    of_kind(name, PropertyKind::String)
}

pub(crate) fn list(name: &str, of: Property) -> Property {
    of_kind(
        name,
        PropertyKind::List {
            of: Some(Box::new(of)),
        },
    )
}

impl Property {
    pub(crate) fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Another value keeps the resource's id.
    pub(crate) fn updates(mut self) -> Self {
        self.on_change = OnChange::UpdateInPlace;
        self
    }

    pub(crate) fn range(mut self, min: f64, max: f64) -> Self {
        self.constraints.push(Constraint::Range {
            min: Some(min),
            max: Some(max),
        });
        self
    }

    pub(crate) fn nests(self, to: &[&str]) -> Self {
        let to = to.iter().map(|one| (*one).to_owned());
        self.refers(ReferenceRole::Nests, to.collect())
    }

    pub(crate) fn connects(self, to: &[&str]) -> Self {
        let to = to.iter().map(|one| (*one).to_owned());
        self.refers(ReferenceRole::Connects, to.collect())
    }

    pub(crate) fn refers(mut self, role: ReferenceRole, to: Vec<String>) -> Self {
        self.reference = Some(Reference { role, to });
        self
    }

    pub(crate) fn summary(mut self, text: &str) -> Self {
        self.summary = text.to_owned();
        self
    }
}

pub(crate) fn attribute(name: &str, summary: &str) -> Attribute {
    Attribute {
        name: name.to_owned(),
        summary: summary.to_owned(),
    }
}
