//! Parser of a role's `meta/argument_specs.yml`: the options of its entry point become an item's inputs.

use serde_json::Value;

use super::Reader;
use crate::{
    catalog::CatalogItem,
    property::{Property, PropertyKind},
};
use hot::{
    constraint::Constraint,
    text::{did_you_mean, listed},
    yaml::{Entry, Node},
};
use yaql::shown;

const OPTION_KEYS: [&str; 13] = [
    "type",
    "required",
    "default",
    "choices",
    "description",
    "elements",
    "options",
    "no_log",
    "version_added",
    "aliases",
    "required_one_of",
    "mutually_exclusive",
    "removed_in_version",
];
const OPTION_TYPES: [&str; 8] = ["str", "int", "bool", "list", "dict", "float", "path", "raw"];

impl Reader<'_> {
    pub(super) fn specs(&mut self) -> Vec<Property> {
        let Some(root) = self.root.take() else {
            if self.diagnostics.is_empty() {
                let message = "`argument_specs` is missing: `meta/argument_specs.yml` lists the options of the role, and is `argument_specs: {main: {options: {}}}` if there are none";
                self.error("", 0, message.to_owned());
            }
            return Vec::new();
        };
        let main = root
            .entry("argument_specs")
            .and_then(|specs| specs.value.entry("main"));
        let Some(main) = main else {
            self.error(
                "",
                root.span.start,
                "`argument_specs.main` is missing: the options of the role's entry point"
                    .to_owned(),
            );
            return Vec::new();
        };
        self.options(&main.value, "main")
    }

    fn options(&mut self, node: &Node, path: &str) -> Vec<Property> {
        let Some(options) = node.entry("options").filter(|entry| !entry.value.is_null()) else {
            return Vec::new();
        };
        let Some(entries) = options.value.entries() else {
            self.error(
                path,
                options.value.span.start,
                "`options` takes a map from names to options".to_owned(),
            );
            return Vec::new();
        };
        entries
            .iter()
            .filter_map(|entry| self.option(entry, &format!("{path}.{}", entry.key)))
            .collect()
    }

    fn option(&mut self, entry: &Entry, path: &str) -> Option<Property> {
        let node = &entry.value;
        let Some(keys) = node.entries() else {
            self.error(
                path,
                entry.key_span.start,
                format!(
                    "the option `{}` takes a map with `type` and `description`",
                    shown(&entry.key)
                ),
            );
            return None;
        };
        self.unknown_keys(path, keys, &OPTION_KEYS);
        let kind_name = self
            .text(node, "type", path)
            .unwrap_or_else(|| "str".to_owned());
        let kind = self.kind(node, &kind_name, path)?;
        let mut property = crate::property::of_kind(&entry.key, kind).updates();
        property.required = self.flag(node, "required", path);
        property.secret = self.flag(node, "no_log", path);
        property.default = node
            .entry("default")
            .map(|entry| entry.value.to_json())
            .filter(|value| !value.is_null());
        property.summary = self.description(node);
        if let Some(choices) = node.entry("choices") {
            match choices.value.to_json() {
                Value::Array(values) => {
                    property.constraints.push(Constraint::AllowedValues(values))
                }
                _ => self.error(
                    path,
                    choices.value.span.start,
                    "`choices` takes a list".to_owned(),
                ),
            }
        }
        if kind_name == "int" && entry.key.ends_with("port") {
            property = property.range(1.0, 65535.0);
        }
        let default = property.default.as_ref().and_then(Value::as_str);
        let has_lines = default.is_some_and(|text| text.contains('\n'));
        // A certificate or a key has no default, and several lines.
        property.multiline = kind_name == "str" && (has_lines || property.summary.contains("PEM"));
        Some(property)
    }

    pub(super) fn flag(&mut self, node: &Node, key: &str, path: &str) -> bool {
        let Some(entry) = node.entry(key) else {
            return false;
        };
        match entry.value.scalar() {
            Some(Value::Bool(value)) => value,
            _ => {
                self.error(
                    path,
                    entry.value.span.start,
                    format!("`{key}` takes `true` or `false`"),
                );
                false
            }
        }
    }

    /// A string, or a list of paragraphs.
    fn description(&mut self, node: &Node) -> String {
        match node.entry("description").map(|entry| entry.value.to_json()) {
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(Value::Array(parts)) => parts
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" "),
            _ => String::new(),
        }
    }

    fn kind(&mut self, node: &Node, name: &str, path: &str) -> Option<PropertyKind> {
        Some(match name {
            "str" | "path" => PropertyKind::String,
            "int" => PropertyKind::Integer,
            "float" => PropertyKind::Number,
            "bool" => PropertyKind::Boolean,
            "raw" => PropertyKind::Any,
            "dict" => PropertyKind::Map {
                of: self.options(node, path),
            },
            "list" => {
                let elements = self.text(node, "elements", path);
                let of = match elements {
                    // An argument specification cannot describe the items of inner lists.
                    Some(elements) if elements == "list" => Some(Box::new(
                        crate::property::of_kind("item", PropertyKind::List { of: None }),
                    )),
                    Some(elements) => Some(Box::new(crate::property::of_kind(
                        "item",
                        self.kind(node, &elements, path)?,
                    ))),
                    None => None,
                };
                PropertyKind::List { of }
            }
            other => {
                let at = node
                    .entry("type")
                    .map_or(node.span.start, |entry| entry.value.span.start);
                let near = did_you_mean(other, OPTION_TYPES);
                self.error(
                    path,
                    at,
                    format!(
                        "`{}` is no type of option{near}; there are {}",
                        shown(other),
                        listed(&OPTION_TYPES)
                    ),
                );
                return None;
            }
        })
    }

    pub(super) fn reserved(&mut self, item: &CatalogItem) {
        if item.inputs.iter().any(|input| input.name == "host") {
            self.error(
                "",
                0,
                "an option cannot be named `host`: that is the server that the role runs on"
                    .to_owned(),
            );
        }
    }
}
