//! The inspector's form, generated from a resource type.
//!
//! The control of each property, its content, and the edit for a new value are decided here, so that they can be tested
//! without a browser. A value can also come from a parameter or another resource: see [`link`](Link). Any other value is
//! displayed unchanged and edited as JSON.

mod addresses;
mod beside;
mod choices;
mod common;
mod condition;
mod line;
mod link;
mod maker;
mod presets;
mod sections;
mod table;

pub use beside::{fields_beside, tick};
pub use common::{common_fields, common_sources, common_type, edit_all, switch_all};
pub use line::fields_of_line;
pub(crate) use link::described_below;
pub use link::{
    Link, PARAMETER_TYPES, Source, SourceChoice, described, parameter_for, sources, switch,
};
pub use presets::apply_preset;
pub use sections::{EntryRemoval, add_entry, entry_fields, names, remove_entry};
pub use table::{Column, NewRow, Row, Table, add_row, move_up, remove_row};

use hot::{
    document::Edit,
    template::{Resource, Template},
};
use planner::cloud::CloudFacts;
use serde_json::{Value, json};
use types::{Property, Registry};

use maker::{Maker, Values};

/// One field of the form.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name of the property in HOT. For a key of a map, `map.key`.
    pub name: String,
    /// Path in the template.
    pub path: Vec<String>,
    /// Label for users: `Listen port`.
    pub label: String,
    /// Control.
    pub control: Control,
    /// Current value: text, number as text, `true`, or the key of a choice. Empty if not set.
    pub text: String,
    /// True if a value is required.
    pub required: bool,
    /// True if the value is the only one in its row of a table. An empty text then leaves an empty row.
    pub is_alone: bool,
    /// Help text, one sentence.
    pub help: String,
    /// Default value that applies while the field is empty.
    pub placeholder: String,
    /// Values to propose in a field of text.
    pub proposals: Vec<String>,
    /// True if the form is of several resources with different values. The text is then empty.
    pub is_mixed: bool,
}

/// Control of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A line of text.
    Text,
    /// A line of masked text.
    Secret,
    /// Masked lines of text.
    SecretArea,
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
    /// A list of maps.
    Table(Table),
    /// A map with any keys: a field for each.
    Pairs(Vec<Field>),
    /// A value from a parameter or another resource.
    Linked(Link),
    /// The content of the file with this name (`get_file`).
    File(String),
    /// A text with words that are replaced (`str_replace`): fields for the text and for the words.
    Replace(Vec<Field>),
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
    /// Facts about the choice, such as `1 vCPU · 2 GiB RAM`. Empty if there are none.
    pub facts: String,
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
        types,
        cloud,
        own: &resource.name,
    };
    let entries = resource.properties.iter();
    let values = Values {
        entries: entries
            .map(|property| (property.name.as_str(), &property.value))
            .collect(),
        path: ["resources", &resource.name, "properties"]
            .map(str::to_owned)
            .to_vec(),
        prefix: String::new(),
    };
    match types.get(&resource.resource_type) {
        Some(described) => maker.map(&described.properties, &described.rules, &values),
        None => maker.map(&[], &[], &values),
    }
}

/// All choices of a property of a resource, which cannot refer to itself.
pub(crate) fn choices(
    template: &Template,
    types: &Registry,
    cloud: &CloudFacts,
    own: &str,
    property: &Property,
) -> Vec<Choice> {
    let maker = Maker {
        template,
        types,
        cloud,
        own,
    };
    maker.choices(property)
}

/// The edit for a new text in a control. `None` if the text is not a valid value.
pub fn edit(field: &Field, text: &str) -> Option<Edit> {
    let path = field.path.clone();
    let value = match &field.control {
        _ if text.is_empty() => return Some(clear(field)),
        Control::Text | Control::Secret | Control::Area | Control::SecretArea => json!(text),
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
        Control::Resources(_)
        | Control::Table(_)
        | Control::Pairs(_)
        | Control::Linked(_)
        | Control::File(_)
        | Control::Replace(_) => return None,
    };
    Some(Edit::Set { path, value })
}

/// The edit that adds a key to a map with any keys. `None` if it is there already, or has no letters.
pub fn add_key(field: &Field, key: &str) -> Option<Edit> {
    let Control::Pairs(pairs) = &field.control else {
        return None;
    };
    let is_taken = pairs
        .iter()
        .any(|pair| pair.path.last().is_some_and(|last| last == key));
    let path = [field.path.clone(), vec![key.to_owned()]].concat();
    (!key.is_empty() && !is_taken).then(|| Edit::Set {
        path,
        value: json!(""),
    })
}

/// The edit that removes a value. A row of a table stays, even if it becomes empty.
fn clear(field: &Field) -> Edit {
    let path = field.path.clone();
    match path.split_last() {
        Some((_, row)) if field.is_alone => Edit::Set {
            path: row.to_vec(),
            value: json!({}),
        },
        _ => Edit::Remove { path },
    }
}

impl Field {
    /// True if the field is always visible: required, set, or a choice from a list.
    pub fn is_main(&self) -> bool {
        self.required
            || self.is_mixed
            || !self.text.is_empty()
            || match &self.control {
                Control::Select(choices) => {
                    choices.iter().any(|choice| choice.value.is_object()) || self.help.is_empty()
                }
                Control::Resources(_) | Control::Table(_) => true,
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
        let word = if word == "volid" { "volume" } else { word };
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
mod tests;
