//! Proposals of a code editor at the caret, and help under the pointer.
//!
//! Both come from the descriptions that the forms use, so that code and forms never differ. The text at a caret is seldom
//! valid, so the place of the caret is read from its lines (`spot`), and names come from the last readable template.

mod explain;
mod help;
mod spot;
#[cfg(test)]
mod tests;

use hot::{
    bundle::Bundle,
    document::yaml_text,
    expr::{functions, is_function},
    template::{
        Template,
        read::{Keys, OUTPUT_KEYS, PARAMETER_KEYS, RESOURCE_KEYS, SECTIONS},
    },
    version::Version,
};
use planner::cloud::CloudFacts;
use serde::Serialize;
use serde_json::Value;
use types::{Property, PropertyKind, Registry, ResourceType};

pub use explain::{Explanation, explain};

use crate::form;
use help::{function_help, parameter_help, property_help, resource_help};
use spot::{At, Spot, spot};

/// Parameters that every template has.
const GIVEN_PARAMETERS: [&str; 3] = ["OS::stack_name", "OS::stack_id", "OS::project_id"];

/// Input of the proposals.
#[derive(Clone, Copy)]
pub struct CompletionInput<'a> {
    /// The last readable template.
    pub template: &'a Template,
    /// Resource types.
    pub types: &'a Registry,
    /// Facts about the cloud.
    pub cloud: &'a CloudFacts,
    /// Files beside the template.
    pub bundle: &'a Bundle,
}

/// Proposals for one word.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Completion {
    /// Start of the word in the text, in bytes. The word ends at the caret.
    pub from: usize,
    /// Proposals, the best first.
    pub options: Vec<Offer>,
}

/// One proposal.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Offer {
    /// The name.
    pub label: String,
    /// A few words beside the label.
    pub detail: String,
    /// Help, in sentences with names in backquotes.
    pub help: Vec<String>,
    /// The text that replaces the word.
    pub insert: String,
    /// Position of the caret in that text, in bytes.
    pub caret: usize,
    /// True if more can be proposed at that position.
    pub again: bool,
}

impl Offer {
    fn new(label: impl Into<String>, insert: impl Into<String>) -> Self {
        let insert = insert.into();
        Self {
            label: label.into(),
            caret: insert.len(),
            insert,
            ..Self::default()
        }
    }

    fn word(label: impl Into<String>) -> Self {
        let label = label.into();
        Self::new(label.clone(), label)
    }

    fn detail(mut self, text: impl Into<String>) -> Self {
        self.detail = text.into();
        self
    }

    fn help(mut self, lines: Vec<String>) -> Self {
        self.help = lines;
        self
    }

    fn again(mut self, again: bool) -> Self {
        self.again = again;
        self
    }

    /// Moves the caret back, into a bracket.
    fn within(mut self, bytes: usize) -> Self {
        self.caret -= bytes;
        self.again(true)
    }
}

/// Proposals at a byte offset. While the user only types, `asked` is false, and there are none before the first letter
/// and after a complete word, where they would be in the way.
pub fn complete(
    input: &CompletionInput<'_>,
    text: &str,
    offset: usize,
    asked: bool,
) -> Option<Completion> {
    let spot = spot(text, offset)?;
    if !asked && spot.word.is_empty() {
        return None;
    }
    let options = Maker { input, spot: &spot }.offers();
    let is_complete = options.iter().any(|one| one.label == spot.word);
    (!options.is_empty() && (asked || !is_complete)).then_some(Completion {
        from: spot.from,
        options,
    })
}

/// The property or key of a map that a path below `properties` leads to.
fn property_at<'t>(described: &'t ResourceType, path: &[&str]) -> Option<&'t Property> {
    let (first, rest) = path.split_first()?;
    form::described_below(types::find(&described.properties, first)?, rest)
}

/// The type of the resource around the caret.
fn type_at<'t>(input: &CompletionInput<'t>, spot: &Spot, name: &str) -> Option<&'t ResourceType> {
    let written = spot.resource_type.as_deref();
    let known = || Some(&*input.template.resource(name)?.resource_type);
    input.types.get(written.or_else(known)?)
}

struct Maker<'a> {
    input: &'a CompletionInput<'a>,
    spot: &'a Spot,
}

impl Maker<'_> {
    fn offers(&self) -> Vec<Offer> {
        let template = self.input.template;
        let path: Vec<&str> = self.spot.path.iter().map(String::as_str).collect();
        let is_key = self.spot.at == At::Key;
        match (&*path, self.spot.at) {
            ([.., "get_resource"], At::Value) => self.resources(self.target()),
            ([.., "get_param"], At::Value) | ([.., "get_param", "0"], At::Item) => {
                self.parameters()
            }
            ([.., "get_attr"], At::Value) => {
                let names = template.resources.iter().map(|one| &one.name);
                names
                    .map(|name| Offer::new(name, format!("[{name}, ]")).within(1))
                    .collect()
            }
            ([.., "get_attr", "0"], At::Item) => self.resources(None),
            ([.., "get_attr", "1"], At::Item) => self.attributes(),
            ([.., "get_file"], At::Value) => self
                .input
                .bundle
                .files()
                .map(|(path, _)| Offer::word(path))
                .collect(),
            ([.., "if", "0"], At::Item)
            | (["resources" | "outputs", _, "condition"], At::Value) => template
                .conditions
                .iter()
                .map(|one| Offer::word(&one.name))
                .collect(),
            ([], At::Key) => self.keys(&SECTIONS),
            (["heat_template_version"], At::Value) => {
                let mut dates: Vec<Offer> = Version::words().map(Offer::word).collect();
                dates.reverse();
                dates
            }
            (["parameters", _], At::Key) => self.keys(PARAMETER_KEYS),
            (["parameters", _, "type"], At::Value) => form::PARAMETER_TYPES.map(Offer::word).into(),
            (["parameters", _, "hidden" | "immutable"], At::Value) => booleans(),
            (["outputs", _], At::Key) => self.keys(OUTPUT_KEYS),
            (["outputs", _, "value", ..] | ["conditions", ..], _) if path.len() > 1 => {
                self.functions(None)
            }
            (["resources", _], At::Key) => self.keys(RESOURCE_KEYS),
            (["resources", _, "type"], At::Value) => self.types(),
            (["resources", _, "deletion_policy"], At::Value) => {
                ["Delete", "Retain", "Snapshot"].map(Offer::word).into()
            }
            (["resources", own, "depends_on", ..], At::Value | At::Item) => {
                let mut others = self.resources(None);
                others.retain(|one| one.label != *own);
                others
            }
            (["resources", own, "properties", rest @ ..], _) => {
                let Some(described) = type_at(self.input, self.spot, own) else {
                    return Vec::new();
                };
                match rest {
                    [] if is_key => self.properties(&described.properties),
                    [] => Vec::new(),
                    // Arguments of a function can be anything.
                    _ if rest.iter().any(|key| is_function(key)) => self.functions(None),
                    _ => match property_at(described, rest) {
                        Some(property) => self.below(property, own),
                        None => self.functions(None),
                    },
                }
            }
            _ => Vec::new(),
        }
    }

    /// Proposals in the value of a property.
    fn below(&self, property: &Property, own: &str) -> Vec<Offer> {
        let keys = match &property.kind {
            PropertyKind::Map { of } => &of[..],
            _ => &[],
        };
        if self.spot.at != At::Value && !keys.is_empty() {
            let mut offers = self.properties(keys);
            if self.spot.siblings.is_empty() {
                offers.extend(self.functions(None));
            }
            return offers;
        }
        if self.spot.at == At::Key {
            return if self.spot.siblings.is_empty() {
                self.functions(None)
            } else {
                Vec::new()
            };
        }
        let (template, cloud) = (self.input.template, self.input.cloud);
        let choices = form::choices(template, self.input.types, cloud, own, property);
        let mut offers: Vec<Offer> = choices
            .into_iter()
            .filter(|choice| !(self.spot.is_quoted && choice.value.is_object()))
            .map(|choice| Offer::new(choice.label, self.value(&choice.value)).detail(choice.facts))
            .collect();
        if property.kind == PropertyKind::Boolean {
            offers.extend(booleans());
        }
        if let Some(default) = property.default.as_ref().filter(|one| is_scalar(one)) {
            let text = self.value(default);
            match offers.iter_mut().find(|one| one.insert == text) {
                Some(offer) => offer.detail = "default".to_owned(),
                None => offers.push(Offer::word(text).detail("default")),
            }
        }
        if !self.spot.is_quoted {
            offers.extend(self.functions(Some(property)));
        }
        offers
    }

    /// A value in flow style.
    fn value(&self, value: &Value) -> String {
        match value {
            Value::Object(map) => {
                let entries = map.iter();
                let entries = entries.map(|(key, value)| format!("{key}: {}", self.value(value)));
                format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.value(item));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Value::String(text) if self.spot.is_quoted => text.clone(),
            scalar => yaml_text(scalar).trim_end().to_owned(),
        }
    }

    /// Keys of a part of the template.
    fn keys(&self, keys: Keys<'_>) -> Vec<Offer> {
        let version = self.input.template.hot();
        let is_free = |key: &str| !self.spot.siblings.iter().any(|one| one == key);
        let keys = keys
            .iter()
            .filter(|(key, since)| *since <= version && is_free(key));
        keys.map(|(key, _)| match *key {
            "parameters" | "conditions" | "resources" | "outputs" | "properties" | "metadata" => {
                self.opened(key, "")
            }
            "parameter_groups" | "constraints" => self.opened(key, "- "),
            key => Offer::new(key, format!("{key}: "))
                .again(!matches!(key, "description" | "label" | "default")),
        })
        .collect()
    }

    /// A key whose value begins on the next line.
    fn opened(&self, key: &str, start: &str) -> Offer {
        let text = if self.spot.is_flow {
            format!("{key}: ")
        } else {
            format!("{key}:\n{}{start}", " ".repeat(self.spot.column + 2))
        };
        Offer::new(key, text).again(!matches!(
            key,
            "parameters" | "resources" | "outputs" | "conditions"
        ))
    }

    /// Properties that the map does not have yet, required ones first.
    fn properties(&self, properties: &[Property]) -> Vec<Offer> {
        let is_free = |one: &&Property| {
            let given = |name: &String| self.spot.siblings.contains(name);
            let is_given = given(&one.name) || one.formerly.as_ref().is_some_and(given);
            !(one.hidden || one.unsupported || is_given)
        };
        let mut free: Vec<&Property> = properties.iter().filter(is_free).collect();
        free.sort_by_key(|one| !one.required);
        let offer = |one: &&Property| {
            let offer = match &one.kind {
                PropertyKind::Map { of } if !of.is_empty() => self.opened(&one.name, ""),
                PropertyKind::List { .. } => self.opened(&one.name, "- "),
                _ => Offer::new(&one.name, format!("{}: ", one.name)).again(has_choices(one)),
            };
            offer
                .detail(if one.required { "required" } else { "" })
                .help(property_help(one))
        };
        free.iter().map(offer).collect()
    }

    fn types(&self) -> Vec<Offer> {
        let types = self.input.types.iter();
        types
            .map(|one| {
                Offer::word(&one.name)
                    .detail(&one.title)
                    .help(vec![one.summary.clone()])
            })
            .collect()
    }

    /// Names of resources, those of the fitting types first.
    fn resources(&self, target: Option<&Property>) -> Vec<Offer> {
        let reference = target.and_then(|property| property.reference.as_ref());
        let fits = |one: &hot::template::Resource| {
            reference.is_some_and(|reference| reference.to.contains(&one.resource_type))
        };
        let mut all: Vec<_> = self.input.template.resources.iter().collect();
        all.sort_by_key(|one| !fits(one));
        all.into_iter()
            .map(|one| {
                let title = self
                    .input
                    .types
                    .get(&one.resource_type)
                    .map(|one| &*one.title);
                Offer::word(&one.name)
                    .detail(title.unwrap_or(&one.resource_type))
                    .help(resource_help(self.input, one))
            })
            .collect()
    }

    fn parameters(&self) -> Vec<Offer> {
        let own = self.input.template.parameters.iter();
        let own = own.map(|one| {
            Offer::word(&one.name)
                .detail(&one.kind)
                .help(parameter_help(one))
        });
        own.chain(GIVEN_PARAMETERS.map(Offer::word)).collect()
    }

    fn attributes(&self) -> Vec<Offer> {
        let resource = self.spot.before.first();
        let resource = resource.and_then(|name| self.input.template.resource(name));
        let described = resource.and_then(|one| self.input.types.get(&one.resource_type));
        let attributes = described.into_iter().flat_map(|one| &one.attributes);
        attributes
            .map(|one| Offer::word(&one.name).help(vec![one.summary.clone()]))
            .collect()
    }

    /// Functions, as a value or as the key of one. Those that refer to something come first.
    fn functions(&self, property: Option<&Property>) -> Vec<Offer> {
        let version = self.input.template.hot();
        let is_used = |name: &&str| is_function(name) || self.spot.path[0] == "conditions";
        let names = functions(version).filter(is_used);
        let refers = property.is_none_or(|property| property.reference.is_some());
        names
            .filter(|name| refers || *name != "get_resource")
            .map(|name| {
                let offer = match self.spot.at {
                    At::Key => Offer::new(name, format!("{name}: ")).again(true),
                    At::Value | At::Item => Offer::new(name, format!("{{ {name}:  }}")).within(2),
                };
                offer.detail("function").help(function_help(name))
            })
            .collect()
    }

    /// The property that the function at the caret is the value of.
    fn target(&self) -> Option<&Property> {
        let path: Vec<&str> = self.spot.path.iter().map(String::as_str).collect();
        let ["resources", name, "properties", rest @ .., _] = &*path else {
            return None;
        };
        property_at(type_at(self.input, self.spot, name)?, rest)
    }
}

fn booleans() -> Vec<Offer> {
    ["true", "false"].map(Offer::word).into()
}

fn is_scalar(value: &Value) -> bool {
    !(value.is_object() || value.is_array() || value.is_null())
}

fn has_choices(property: &Property) -> bool {
    property.choices.is_some()
        || property.reference.is_some()
        || property.default.is_some()
        || property.kind == PropertyKind::Boolean
        || !property.constraints.is_empty()
}
