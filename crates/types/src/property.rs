//! Properties and attributes: names, kinds, constraints, updates and references.

use hot::constraint::{Constraint, ValueKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rule::Rule;

/// One property of a type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Property {
    /// Name in HOT.
    pub name: String,
    /// Type of the value.
    pub kind: PropertyKind,
    /// Whether a value is required.
    #[serde(default)]
    pub required: bool,
    /// Default value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Constraints of the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Constraint>,
    /// Rules about several keys of a map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Effect of a change on a deployed resource.
    pub on_change: OnChange,
    /// Role of a `get_resource` in this property on the canvas, and valid target types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// Source of live values from the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Choices>,
    /// Former name that Heat still accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formerly: Option<String>,
    /// Whether forms hide the property. It is accepted for old templates only.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hidden: bool,
    /// Whether Heat refuses the property although its name is known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsupported: bool,
    /// Whether the value is shown as dots and masked in plans and logs.
    #[serde(default)]
    pub secret: bool,
    /// Whether forms use a text area.
    #[serde(default)]
    pub multiline: bool,
    /// Entries that forms offer for a list, by their labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub presets: Vec<(String, Value)>,
    /// Summary in one sentence.
    #[serde(default)]
    pub summary: String,
}

/// The type of a value. In JSON `"string"`, or `{"list": {"of": ...}}`: with a tag beside the other keys, each property
/// would be read into a copy first, by code of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PropertyKind {
    /// Text.
    String,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list. Without `of`, its items can have any type.
    List {
        /// Type of the items; the name is irrelevant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Box<Property>>,
    },
    /// A map. Without `of`, it can have any keys.
    Map {
        /// Properties of the keys.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        of: Vec<Property>,
    },
    /// Any type.
    Any,
}

impl PropertyKind {
    /// The type without the types of list items or map keys.
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

    /// The type error of a value as a sentence. Does not check members of lists and maps.
    pub fn problem(&self, value: &Value) -> Option<String> {
        hot::constraint::type_problem(self.value_kind(), value)
    }
}

/// Effect of a change on a deployed resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnChange {
    /// The resource keeps its id.
    UpdateInPlace,
    /// A new resource replaces it.
    Replace,
}

/// Meaning of a reference in a property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Role on the canvas.
    pub role: ReferenceRole,
    /// Valid target types, such as `OS::Neutron::Net`. `component:http` means any component with the capability `http`.
    pub to: Vec<String>,
    /// Attribute of the target that is the value, such as `first_address`. `None` for its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
}

/// Role of a reference on the canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceRole {
    /// The resource is drawn inside the target: software on a server, a server in a network.
    Nests,
    /// A line to the target.
    Connects,
}

/// Source of live values for form controls.
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

/// An attribute for `get_attr`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Name in HOT.
    pub name: String,
    /// Summary in one sentence.
    pub summary: String,
}

/// A property by its name, or by its former name.
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

/// A property with default settings. Its changes replace the resource.
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
        presets: Vec::new(),
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

    /// Marks changes of the property as updates in place.
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
        self.reference = Some(Reference {
            role,
            to,
            attribute: None,
        });
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
