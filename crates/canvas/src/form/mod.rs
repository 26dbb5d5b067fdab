//! The inspector's form, made from a resource type.
//!
//! Which control a property gets, what it shows, and which edit a new value means are decided here, so
//! that they can be tested without a browser. A value that is not a plain one (a parameter, an
//! attribute of another resource) is shown as what it is and edited as JSON.

mod choices;
mod maker;

use hot::{
    document::Edit,
    expr::Expr,
    template::{Resource, Template},
};
use planner::cloud::CloudFacts;
use serde_json::{Value, json};
use types::{Property, Registry};

use maker::Maker;

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
