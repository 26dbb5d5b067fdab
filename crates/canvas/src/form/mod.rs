//! The inspector's form, generated from a resource type.
//!
//! The control of each property, its content, and the edit for a new value are decided here, so that they can be tested
//! without a browser. A value that is not a literal (a parameter, an attribute of another resource) is displayed
//! unchanged and edited as JSON.

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

/// One field of the form.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name of the property in HOT. For a key of a map, `map.key`.
    pub name: String,
    /// Path below `properties`.
    pub path: Vec<String>,
    /// Label for users: `Listen port`.
    pub label: String,
    /// Control.
    pub control: Control,
    /// Current value: text, number as text, `true`, or the key of a choice. Empty if not set.
    pub text: String,
    /// True if a value is required.
    pub required: bool,
    /// Help text, one sentence.
    pub help: String,
    /// Default value that applies while the field is empty.
    pub placeholder: String,
}

/// Control of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A line of text.
    Text,
    /// A line of masked text.
    Secret,
    /// A number.
    Number,
    /// A checkbox.
    Checkbox,
    /// A select with these choices. A current value that is not among them is kept.
    Select(Vec<Choice>),
    /// Lines of text.
    Area,
    /// A list of texts, one per line.
    Lines,
    /// A list of checkboxes for resources.
    Resources(Vec<Tick>),
    /// Any other value, edited as JSON.
    Json,
}

/// One choice of a select.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Key, unique in its select.
    pub key: String,
    /// Label for users.
    pub label: String,
    /// Value to set.
    pub value: Value,
}

/// Resource with a checkbox for a reference to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Name of the resource.
    pub name: String,
    /// Index in the list, if it is referenced.
    pub at: Option<usize>,
}

/// The form of a resource. Properties that its type does not define come last.
pub fn fields(
    template: &Template,
    resource: &Resource,
    types: &Registry,
    cloud: &CloudFacts,
) -> Vec<Field> {
    let maker = Maker {
        template,
        resource,
        types,
        cloud,
    };
    let Some(described) = types.get(&resource.resource_type) else {
        return resource
            .properties
            .iter()
            .map(|property| maker.unknown(&property.name, &property.value))
            .collect();
    };
    // Deprecated properties are displayed only if they are used.
    let offered = |property: &&Property| {
        !(property.hidden || property.unsupported) || resource.property(&property.name).is_some()
    };
    let mut fields: Vec<Field> = described
        .properties
        .iter()
        .filter(offered)
        .flat_map(|property| maker.fields(property))
        .collect();
    for property in &resource.properties {
        if described.property(&property.name).is_none() {
            fields.push(maker.unknown(&property.name, &property.value));
        }
    }
    fields
}

/// The edit for a new text in a control. `None` if the text is not a valid value.
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

/// The edit that adds or removes a reference to a resource.
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
    /// True if the field is always visible: required, set, or a choice from a list.
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

/// Label of a property: `Listen port` for `listen_port`. Abbreviations are in capitals.
pub fn label(name: &str) -> String {
    if name == "name" {
        // The resource also has a name in the template.
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
    fn an_incomplete_value_makes_no_edit() {
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
