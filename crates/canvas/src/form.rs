//! The inspector's form, made from a resource type.
//!
//! Which control a property gets, what it shows, and which edit a new value means are decided here, so
//! that they can be tested without a browser. A value that is not a plain one (a parameter, an
//! attribute of another resource) is shown as what it is and edited as JSON.

use serde_json::{Value, json};
use topology::{
    cloud::CloudFacts,
    document::Edit,
    expr::Expr,
    template::{Resource, Template},
    types::{Choices, Constraint, Property, PropertyKind, Registry},
};

use crate::drawing::{interfaces, plain_reference};

/// One line of the form.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The property, as in HOT; of a map's key `map.key`.
    pub name: String,
    /// Below `properties`.
    pub path: Vec<String>,
    /// For people: `Listen port`.
    pub label: String,
    /// How it is edited.
    pub control: Control,
    /// What it is now: text, number as text, `true`, a choice's key; empty where it is not set.
    pub text: String,
    /// Must be given.
    pub required: bool,
    /// One sentence.
    pub help: String,
    /// What holds while nothing is given.
    pub placeholder: String,
}

/// How a property is edited.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A line of text.
    Text,
    /// A line of text that is not shown.
    Secret,
    /// A number.
    Number,
    /// Yes or no.
    Checkbox,
    /// One of these; what is not among them and is the value now is kept.
    Select(Vec<Choice>),
    /// Lines of text.
    Area,
    /// Texts, one a line.
    Lines,
    /// Any number of resources.
    Resources(Vec<Tick>),
    /// Any other value, as JSON.
    Json,
}

/// One choice of a select.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Unique in its select.
    pub key: String,
    /// For people.
    pub label: String,
    /// What is set.
    pub value: Value,
}

/// A resource that can be named or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The resource.
    pub name: String,
    /// Its index in the list, if it is named now.
    pub at: Option<usize>,
}

/// The form of a resource; properties that its type does not know come last.
pub fn fields(
    template: &Template,
    resource: &Resource,
    types: &Registry,
    cloud: &CloudFacts,
) -> Vec<Field> {
    let desk = Maker {
        template,
        resource,
        types,
        cloud,
    };
    let Some(described) = types.get(&resource.resource_type) else {
        return resource
            .properties
            .iter()
            .map(|property| desk.unknown(&property.name, &property.value))
            .collect();
    };
    // What is only taken for old templates is shown where it is used.
    let offered = |property: &&Property| {
        !(property.hidden || property.unsupported) || resource.property(&property.name).is_some()
    };
    let mut fields: Vec<Field> = described
        .properties
        .iter()
        .filter(offered)
        .flat_map(|property| desk.fields(property))
        .collect();
    for property in &resource.properties {
        if described.property(&property.name).is_none() {
            fields.push(desk.unknown(&property.name, &property.value));
        }
    }
    fields
}

/// The edit that a new text in a control means; `None` where the text is not a value (yet).
pub fn edit(resource: &str, field: &Field, text: &str) -> Option<Edit> {
    let path = path(resource, field);
    let value = match &field.control {
        _ if text.is_empty() => return Some(Edit::Remove { path }),
        Control::Text | Control::Secret | Control::Area => json!(text),
        Control::Number => match text.parse::<i64>() {
            Ok(whole) => json!(whole),
            Err(_) => json!(
                text.parse::<f64>()
                    .ok()
                    .filter(|number| number.is_finite())?
            ),
        },
        Control::Checkbox => json!(text == "true"),
        Control::Select(choices) => choices
            .iter()
            .find(|choice| choice.key == text)?
            .value
            .clone(),
        Control::Lines => json!(text.lines().collect::<Vec<_>>()),
        Control::Json => serde_json::from_str(text).ok()?,
        Control::Resources(_) => return None,
    };
    Some(Edit::Set { path, value })
}

/// The edit that ticking a resource, or no longer ticking it, means.
pub fn tick(resource: &Resource, field: &Field, tick: &Tick) -> Edit {
    match tick.at {
        Some(index) => Edit::Remove {
            path: [path(&resource.name, field), vec![index.to_string()]].concat(),
        },
        None => {
            let named = json!({ "get_resource": tick.name });
            let value = if field.name == "networks" {
                json!({ "network": named })
            } else {
                named
            };
            match resource.property(&field.name) {
                Some(Expr::List(items)) if !items.is_empty() => Edit::Set {
                    path: [path(&resource.name, field), vec![items.len().to_string()]].concat(),
                    value,
                },
                _ => Edit::Set {
                    path: path(&resource.name, field),
                    value: json!([value]),
                },
            }
        }
    }
}

fn path(resource: &str, field: &Field) -> Vec<String> {
    let mut path = ["resources", resource, "properties"]
        .map(str::to_owned)
        .to_vec();
    path.extend(field.path.iter().cloned());
    path
}

impl Field {
    /// Seen at once, not folded away: what must be given, what is given, and what is chosen from a list.
    pub fn is_main(&self) -> bool {
        self.required
            || !self.text.is_empty()
            || match &self.control {
                Control::Select(choices) => {
                    choices.iter().any(|choice| choice.value.is_object()) || self.help.is_empty()
                }
                Control::Resources(_) => true,
                _ => false,
            }
    }
}

/// `listen_port` to `Listen port`; abbreviations that people write large are.
pub fn label(name: &str) -> String {
    if name == "name" {
        // The resource has a name too, in the template.
        return "Name in the cloud".to_owned();
    }
    let mut label = String::new();
    for (index, word) in name
        .split(['_', '-'])
        .filter(|word| !word.is_empty())
        .enumerate()
    {
        if index > 0 {
            label.push(' ');
        }
        let upper = matches!(
            word,
            "ip" | "ha"
                | "dns"
                | "cidr"
                | "dhcp"
                | "mtu"
                | "mac"
                | "id"
                | "url"
                | "ssh"
                | "tls"
                | "http"
                | "tcp"
                | "udp"
                | "snat"
                | "qos"
        );
        let mut letters = word.chars();
        match letters.next() {
            _ if upper => label.push_str(&word.to_uppercase()),
            Some(first) if index == 0 => {
                label.extend(first.to_uppercase());
                label.push_str(letters.as_str());
            }
            _ => label.push_str(word),
        }
    }
    label
}

struct Maker<'a> {
    template: &'a Template,
    resource: &'a Resource,
    types: &'a Registry,
    cloud: &'a CloudFacts,
}

impl Maker<'_> {
    fn unknown(&self, name: &str, value: &Expr) -> Field {
        let (control, text) = match value {
            Expr::Literal(Value::String(text)) if text.contains('\n') => {
                (Control::Area, text.clone())
            }
            Expr::Literal(Value::String(text)) => (Control::Text, text.clone()),
            other => (Control::Json, pretty(&other.to_json())),
        };
        Field {
            name: name.to_owned(),
            path: vec![name.to_owned()],
            label: label(name),
            control,
            text,
            required: false,
            help: String::new(),
            placeholder: String::new(),
        }
    }

    /// One field, or one for each key of a map whose keys are known and simple.
    fn fields(&self, property: &Property) -> Vec<Field> {
        let (written, value) = self.given(property);
        if let PropertyKind::Map { of } = &property.kind {
            let keys: Vec<&Property> = of.iter().filter(|key| simple(key)).collect();
            let fits = match value {
                None => true,
                Some(Expr::Map(entries)) => entries
                    .iter()
                    .all(|(name, _)| keys.iter().any(|key| key.name == *name)),
                Some(_) => false,
            };
            if fits && !keys.is_empty() {
                return keys
                    .into_iter()
                    .map(|key| {
                        let inner = value.and_then(|value| crate::drawing::entry(value, &key.name));
                        let mut field = self.field(key, inner);
                        field.name = format!("{}.{}", property.name, key.name);
                        field.path.insert(0, property.name.clone());
                        field.label =
                            format!("{}: {}", label(&property.name), key.name.replace('_', " "));
                        field.required &= value.is_some();
                        field
                    })
                    .collect();
            }
        }
        let mut field = self.field(property, value);
        field.path = vec![written.to_owned()];
        vec![field]
    }

    /// The name by which a property is written, and its value: a former name stays until somebody changes it.
    fn given<'p>(&'p self, property: &'p Property) -> (&'p str, Option<&'p Expr>) {
        let value = |name: &str| self.resource.property(name);
        match (value(&property.name), &property.formerly) {
            (None, Some(former)) if value(former).is_some() => (former, value(former)),
            (value, _) => (&property.name, value),
        }
    }

    fn field(&self, property: &Property, value: Option<&Expr>) -> Field {
        let (control, text) = self.control(property, value);
        Field {
            name: property.name.clone(),
            path: vec![property.name.clone()],
            label: label(&property.name),
            control,
            text,
            required: property.required,
            help: property.summary.clone(),
            placeholder: match &property.default {
                Some(default) => plain(default),
                None if self.lacks_list(property) => "a name; the cloud gave no list".to_owned(),
                None => String::new(),
            },
        }
    }

    fn control(&self, property: &Property, value: Option<&Expr>) -> (Control, String) {
        if let Some(ticks) = self.ticks(property, value) {
            return (Control::Resources(ticks), String::new());
        }
        let choices = self.choices(property);
        if !choices.is_empty() {
            return with_value(choices, value);
        }
        match (&property.kind, value) {
            (_, Some(Expr::Literal(_)) | None) if simple(property) => {
                let control = match &property.kind {
                    PropertyKind::Integer | PropertyKind::Number => Control::Number,
                    PropertyKind::Boolean => Control::Checkbox,
                    _ if property.secret => Control::Secret,
                    _ if property.multiline => Control::Area,
                    _ => Control::Text,
                };
                let now = literal_of(value).or(match &property.kind {
                    PropertyKind::Boolean => property.default.as_ref(),
                    _ => None,
                });
                (control, now.map(plain).unwrap_or_default())
            }
            (PropertyKind::List { of }, _) if of.as_ref().is_none_or(|of| matches!(of.kind, PropertyKind::String)) => {
                match value {
                    None => (Control::Lines, String::new()),
                    Some(Expr::List(items)) if items.iter().all(|item| matches!(item, Expr::Literal(Value::String(text)) if !text.contains('\n'))) => {
                        let lines: Vec<String> = items.iter().map(|item| literal_of(Some(item)).map(plain).unwrap_or_default()).collect();
                        (Control::Lines, lines.join("\n"))
                    }
                    Some(other) => (Control::Json, pretty(&other.to_json())),
                }
            }
            (_, None) => (Control::Json, String::new()),
            (_, Some(other)) => (Control::Json, pretty(&other.to_json())),
        }
    }

    /// Resources that a list property may name, where the property is of that sort.
    fn ticks(&self, property: &Property, value: Option<&Expr>) -> Option<Vec<Tick>> {
        let PropertyKind::List { of } = &property.kind else {
            return None;
        };
        if !matches!(value, None | Some(Expr::List(_))) {
            return None;
        }
        if property.name == "networks"
            && self.resource.resource_type == crate::drawing::types::SERVER
        {
            return self.networks(value);
        }
        let reference = property
            .reference
            .as_ref()
            .or_else(|| of.as_ref()?.reference.as_ref())?;
        let items: &[Expr] = match value {
            Some(Expr::List(items)) => items,
            _ => &[],
        };
        // Something else in the list would be lost sight of.
        if items.iter().any(|item| plain_reference(item).is_none()) {
            return None;
        }
        let at = |name: &str| {
            items
                .iter()
                .position(|item| plain_reference(item) == Some(name))
        };
        Some(
            self.fitting(&reference.to)
                .map(|name| Tick {
                    name: name.to_owned(),
                    at: at(name),
                })
                .collect(),
        )
    }

    fn networks(&self, value: Option<&Expr>) -> Option<Vec<Tick>> {
        let mine = interfaces(self.template, self.resource);
        let count = match value {
            Some(Expr::List(items)) => items.len(),
            _ => 0,
        };
        let all_drawn = mine.len() == count && mine.iter().all(|one| one.network.is_some());
        all_drawn.then(|| {
            self.fitting(&[crate::drawing::types::NET.to_owned()])
                .map(|name| Tick {
                    name: name.to_owned(),
                    at: mine
                        .iter()
                        .find(|one| one.network.as_deref() == Some(name))
                        .map(|one| one.index),
                })
                .collect()
        })
    }

    /// Names of resources of a type that fits.
    fn fitting(&self, to: &[String]) -> impl Iterator<Item = &str> {
        self.template
            .resources
            .iter()
            .filter(move |other| {
                other.name != self.resource.name
                    && to.iter().any(|one| match one.strip_prefix("component:") {
                        Some(capability) => self
                            .types
                            .get(&other.resource_type)
                            .and_then(|described| described.component.as_ref())
                            .is_some_and(|item| {
                                item.provides.iter().any(|offer| offer.name == capability)
                            }),
                        None => *one == other.resource_type,
                    })
            })
            .map(|other| other.name.as_str())
    }

    /// The cloud answered, but not what there is to choose from.
    fn lacks_list(&self, property: &Property) -> bool {
        let cloud = self.cloud;
        *cloud != CloudFacts::default()
            && match property.choices {
                Some(Choices::Image) => cloud.images.is_none(),
                Some(Choices::Flavor) => cloud.flavors.is_none(),
                Some(Choices::Network) => cloud.networks.is_none(),
                Some(Choices::ExternalNetwork) => cloud.external_networks.is_none(),
                Some(Choices::KeyPair) => cloud.key_pairs.is_none(),
                Some(Choices::AvailabilityZone) => cloud.availability_zones.is_none(),
                Some(Choices::VolumeType) => cloud.volume_types.is_none(),
                None => false,
            }
    }

    fn choices(&self, property: &Property) -> Vec<Choice> {
        if !matches!(
            property.kind,
            PropertyKind::String | PropertyKind::Any | PropertyKind::Integer | PropertyKind::Number
        ) {
            return Vec::new();
        }
        let mut choices: Vec<Choice> = Vec::new();
        let named = |name: &str, label: String| Choice {
            key: name.to_owned(),
            label,
            value: json!(name),
        };
        if let Some(reference) = &property.reference {
            choices.extend(self.fitting(&reference.to).map(|name| Choice {
                key: format!("@{name}"),
                label: name.to_owned(),
                value: json!({ "get_resource": name }),
            }));
        }
        if let Some(live) = property.choices {
            let names = |list: &Option<Vec<topology::cloud::Named>>| {
                list.iter()
                    .flatten()
                    .map(|one| named(&one.name, one.name.clone()))
                    .collect::<Vec<_>>()
            };
            choices.extend(match live {
                Choices::Image => names(&self.cloud.images),
                Choices::Network => names(&self.cloud.networks),
                Choices::ExternalNetwork => names(&self.cloud.external_networks),
                Choices::KeyPair => names(&self.cloud.key_pairs),
                Choices::AvailabilityZone => names(&self.cloud.availability_zones),
                Choices::VolumeType => names(&self.cloud.volume_types),
                Choices::Flavor => self
                    .cloud
                    .flavors
                    .iter()
                    .flatten()
                    .map(|flavor| named(&flavor.name, flavor_label(flavor)))
                    .collect(),
            });
        }
        for constraint in &property.constraints {
            if let Constraint::AllowedValues(values) = constraint {
                choices.extend(values.iter().map(|value| Choice {
                    key: plain(value),
                    label: plain(value),
                    value: value.clone(),
                }));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        choices.retain(|choice| seen.insert(choice.key.clone()));
        choices
    }
}

/// A select that can show the value as it is now, known or not.
fn with_value(mut choices: Vec<Choice>, value: Option<&Expr>) -> (Control, String) {
    let Some(value) = value else {
        return (Control::Select(choices), String::new());
    };
    let now = value.to_json();
    if let Some(choice) = choices.iter().find(|choice| choice.value == now) {
        let key = choice.key.clone();
        return (Control::Select(choices), key);
    }
    let label = match value {
        Expr::Literal(literal) => plain(literal),
        Expr::GetParam(name, _) => format!("parameter {name}"),
        Expr::GetResource(name) => name.clone(),
        Expr::GetAttr(name, rest) => {
            let rest: Vec<String> = rest.iter().map(|part| plain(&part.to_json())).collect();
            format!("{} of {name}", rest.join("."))
        }
        _ => now.to_string(),
    };
    let key = format!("={label}");
    choices.insert(
        0,
        Choice {
            key: key.clone(),
            label,
            value: now,
        },
    );
    (Control::Select(choices), key)
}

fn flavor_label(flavor: &topology::cloud::Flavor) -> String {
    let memory = match flavor.ram_mib {
        mib if mib >= 1024 && mib % 1024 == 0 => format!("{} GiB", mib / 1024),
        mib if mib >= 1024 => format!("{:.1} GiB", f64::from(mib) / 1024.0),
        mib => format!("{mib} MiB"),
    };
    format!("{} · {} vCPU · {memory}", flavor.name, flavor.vcpus)
}

fn simple(property: &Property) -> bool {
    matches!(
        property.kind,
        PropertyKind::String | PropertyKind::Integer | PropertyKind::Number | PropertyKind::Boolean
    )
}

fn literal_of(value: Option<&Expr>) -> Option<&Value> {
    match value {
        Some(Expr::Literal(literal)) => Some(literal),
        _ => None,
    }
}

/// A value as the text of a control.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_read_like_words() {
        assert_eq!(label("listen_port"), "Listen port");
        assert_eq!(label("image"), "Image");
        assert_eq!(label("cidr"), "CIDR");
        assert_eq!(label("fixed_ip_address"), "Fixed IP address");
    }

    #[test]
    fn what_is_half_typed_is_no_edit() {
        let field = |control| Field {
            name: "x".into(),
            path: vec!["x".into()],
            label: "X".into(),
            control,
            text: String::new(),
            required: false,
            help: String::new(),
            placeholder: String::new(),
        };
        assert_eq!(edit("web", &field(Control::Number), "8x"), None);
        assert_eq!(edit("web", &field(Control::Json), "{"), None);
        assert!(
            matches!(edit("web", &field(Control::Number), "80"), Some(Edit::Set { value, .. }) if value == json!(80))
        );
        assert!(
            matches!(edit("web", &field(Control::Text), "80"), Some(Edit::Set { value, .. }) if value == json!("80"))
        );
        assert!(matches!(
            edit("web", &field(Control::Text), ""),
            Some(Edit::Remove { .. })
        ));
    }
}
