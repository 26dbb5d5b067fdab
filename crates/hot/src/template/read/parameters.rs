//! `parameters:` and `parameter_groups:`.

use std::collections::HashMap;

use serde_json::Value;

use super::{Keys, Reader};
use crate::{
    constraint,
    parameter::{PSEUDO_PARAMETERS, Parameter},
    template::ParameterGroup,
    text::{did_you_mean, listed},
    version::Version,
    yaml::{Entry, Node},
};
use yaql::shown;

/// Keys of a parameter.
pub const KEYS: Keys<'static> = &[
    ("type", Version::V2013_05_23),
    ("label", Version::V2013_05_23),
    ("description", Version::V2013_05_23),
    ("default", Version::V2013_05_23),
    ("hidden", Version::V2013_05_23),
    ("immutable", Version::V2013_05_23),
    ("constraints", Version::V2013_05_23),
    ("schema", Version::V2013_05_23),
    ("tags", Version::V2018_03_02),
];
const GROUP_KEYS: [&str; 3] = ["label", "description", "parameters"];
const TYPES: [&str; 5] = [
    "string",
    "number",
    "json",
    "comma_delimited_list",
    "boolean",
];

impl<'a, const REPORTS: bool> Reader<'a, REPORTS> {
    pub(super) fn parameters(&mut self, node: &'a Node) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        for entry in self.section(node, "a map from names to parameters") {
            let parameter = self.below(&entry.key, |reader| {
                if PSEUDO_PARAMETERS.contains(&entry.key.as_str()) {
                    let message =
                        || format!("`{}` is always there and cannot be declared", entry.key);
                    reader.error("bad-name", entry.key_span.start, message);
                } else if entry.key.starts_with("Stackloom::") {
                    let message = || {
                        format!(
                            "`{}` cannot be declared: names that begin with `Stackloom::` are reserved for plans",
                            shown(&entry.key)
                        )
                    };
                    reader.error("bad-name", entry.key_span.start, message);
                } else {
                    reader.name(entry, "a parameter");
                }
                reader.parameter(entry)
            });
            parameters.extend(parameter);
        }
        parameters
    }

    fn parameter(&mut self, entry: &'a Entry) -> Option<Parameter> {
        let node = &entry.value;
        if node.entries().is_none() {
            self.wrong_shape(node, "a map with `type`");
            return None;
        }
        let keys = self.entries(node, "");
        self.known_keys(keys, KEYS, "a parameter");
        let mut parameter = Parameter {
            name: entry.key.clone(),
            at: self.position(entry.key_span.start),
            kind: self.kind(entry),
            label: None,
            description: None,
            default: None,
            hidden: false,
            immutable: false,
            tags: Vec::new(),
            constraints: Vec::new(),
        };
        let kind = parameter.kind.clone();
        for Entry { key, value, .. } in keys {
            self.below(key, |reader| match key.as_str() {
                "label" => parameter.label = reader.words_of(value),
                "description" => parameter.description = reader.words_of(value),
                "default" => {
                    parameter.default = Some(value.to_json()).filter(|value| !value.is_null())
                }
                "hidden" => parameter.hidden = reader.truth(value),
                "immutable" => parameter.immutable = reader.truth(value),
                "tags" if reader.filled(value, "a list of tags") => {
                    parameter.tags = reader.words(value, "a list of tags")
                }
                "constraints" => parameter.constraints = reader.constraints(value, &kind),
                _ => {}
            });
        }
        Some(parameter)
    }

    /// Type of the parameter. `string` if it is missing or unknown.
    fn kind(&mut self, entry: &'a Entry) -> String {
        let given = entry.value.entry("type");
        let kind = given
            .and_then(|entry| self.below("type", |reader| reader.text_of(&entry.value)))
            .unwrap_or_default();
        if TYPES.contains(&kind.as_str()) {
            return kind;
        }
        let at = given.map_or(entry.key_span.start, |entry| entry.value.span.start);
        let message = || match kind.as_str() {
            "" => format!("a parameter needs a `type`: {}", listed(&TYPES)),
            kind => format!(
                "`{}` is no type of parameter; there are {}{}",
                shown(kind),
                listed(&TYPES),
                did_you_mean(kind, TYPES)
            ),
        };
        self.error("parameter-type-unknown", at, message);
        "string".to_owned()
    }

    /// Boolean attribute. Heat accepts any value and applies Python's rules, so the quoted text `no` is true there.
    /// Here words for no are false, with a warning.
    fn truth(&mut self, node: &'a Node) -> bool {
        match node.scalar() {
            Some(Value::Bool(truth)) => truth,
            Some(Value::Null) => false,
            other => {
                let text = other.map(|value| constraint::as_text(&value));
                let truth = text.and_then(|text| constraint::is_boolean_word(&text));
                let message = || {
                    format!(
                        "`true` or `false` belongs here, not {}; it counts as `{}`",
                        node.describe(),
                        truth.unwrap_or(true)
                    )
                };
                self.warning("wrong-shape", node.span.start, message);
                truth.unwrap_or(true)
            }
        }
    }

    fn words(&mut self, node: &'a Node, wanted: &str) -> Vec<String> {
        let Some(items) = node.items() else {
            if !node.is_null() {
                self.wrong_shape(node, wanted);
            }
            return Vec::new();
        };
        items
            .iter()
            .filter_map(|item| self.text_of(&item.value))
            .collect()
    }

    pub(super) fn parameter_groups(
        &mut self,
        node: &'a Node,
        parameters: &[Parameter],
    ) -> Vec<ParameterGroup> {
        let empty = node.is_null()
            || node.scalar().is_some_and(|value| value == "")
            || node.entries().is_some_and(<[_]>::is_empty);
        let Some(items) = node.items() else {
            if !empty {
                self.wrong_shape(node, "a list of groups");
            }
            return Vec::new();
        };
        let mut taken: HashMap<String, usize> = HashMap::new();
        items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                self.at_index(index, |reader| {
                    reader.parameter_group(index, &item.value, parameters, &mut taken)
                })
            })
            .collect()
    }

    fn parameter_group(
        &mut self,
        index: usize,
        node: &'a Node,
        parameters: &[Parameter],
        taken: &mut HashMap<String, usize>,
    ) -> ParameterGroup {
        let entries = self.entries(node, "a map with `parameters`");
        for entry in entries
            .iter()
            .filter(|entry| !GROUP_KEYS.contains(&entry.key.as_str()))
        {
            let message = || {
                format!(
                    "`{}` is no key of a group of parameters, and nothing comes of it{}",
                    shown(&entry.key),
                    did_you_mean(&entry.key, GROUP_KEYS)
                )
            };
            self.below(&entry.key, |reader| {
                reader.warning("unknown-key", entry.key_span.start, message)
            });
        }
        let mut group = ParameterGroup::default();
        if node.entry("parameters").is_none() {
            let message = "a group of parameters needs `parameters`, a list of names";
            self.error("parameter-group-invalid", node.span.start, || message);
        }
        for Entry { key, value, .. } in entries {
            self.below(key, |reader| match key.as_str() {
                "label" => group.label = reader.words_of(value),
                "description" => group.description = reader.words_of(value),
                "parameters" => {
                    for (place, item) in value.items().unwrap_or_default().iter().enumerate() {
                        reader.at_index(place, |reader| {
                            group.parameters.extend(reader.grouped(
                                index,
                                &item.value,
                                parameters,
                                taken,
                            ));
                        });
                    }
                    if value.items().is_none() {
                        reader.wrong_shape(value, "a list of parameters");
                    }
                }
                _ => {}
            });
        }
        group
    }

    /// Name of a parameter in a group, if the parameter exists and is in no other group.
    fn grouped(
        &mut self,
        group: usize,
        node: &'a Node,
        parameters: &[Parameter],
        taken: &mut HashMap<String, usize>,
    ) -> Option<String> {
        let Some(Value::String(name)) = node.scalar() else {
            self.wrong_shape(node, "the name of a parameter");
            return None;
        };
        let known = || parameters.iter().map(|parameter| parameter.name.as_str());
        if !known().any(|known| known == name) {
            let message = || {
                format!(
                    "there is no parameter `{}` in the template{}",
                    shown(&name),
                    did_you_mean(&name, known())
                )
            };
            self.error("parameter-group-invalid", node.span.start, message);
            return None;
        }
        match taken.insert(name.clone(), group) {
            None => Some(name),
            Some(_) => {
                let message = || {
                    format!(
                        "the parameter `{}` is in a group already; it can be in one only",
                        shown(&name)
                    )
                };
                self.error("parameter-group-invalid", node.span.start, message);
                None
            }
        }
    }
}
