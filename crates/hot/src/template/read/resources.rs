//! `resources:`.

use serde_json::Value;

use super::{Keys, Reader};
use crate::{
    expr::{Expr, Place},
    template::{DeletionPolicy, Marks, Resource, ResourceProperty},
    text::{Position, listed},
    version::Version,
    yaml::{Entry, Node},
};
use yaql::shown;

/// Keys of a resource.
pub const KEYS: Keys<'static> = &[
    ("type", Version::V2013_05_23),
    ("properties", Version::V2013_05_23),
    ("metadata", Version::V2013_05_23),
    ("depends_on", Version::V2013_05_23),
    ("update_policy", Version::V2013_05_23),
    ("deletion_policy", Version::V2013_05_23),
    ("description", Version::V2013_05_23),
    ("external_id", Version::V2016_10_14),
    ("condition", Version::V2016_10_14),
];
const MARKS: Keys<'static> = &[
    ("public", Version::V2013_05_23),
    ("bastion", Version::V2013_05_23),
    // The version of a component's item. Plans read it from the metadata.
    ("version", Version::V2013_05_23),
    // Added by an exporter, for a later import.
    ("exported", Version::V2013_05_23),
];

impl<'a, const REPORTS: bool> Reader<'a, REPORTS> {
    pub(super) fn resources(&mut self, node: &'a Node) -> Vec<Resource> {
        let mut resources = Vec::new();
        for entry in self.section(node, "a map from names to resources") {
            let resource = self.below(&entry.key, |reader| {
                reader.name(entry, "a resource");
                reader.resource(entry)
            });
            resources.extend(resource);
        }
        resources
    }

    fn resource(&mut self, entry: &'a Entry) -> Option<Resource> {
        let node = &entry.value;
        if node.entries().is_none() {
            self.wrong_shape(node, "a map with `type`");
            return None;
        }
        let keys = self.entries(node, "");
        self.known_keys(keys, KEYS, "a resource");
        let mut resource = Resource {
            name: entry.key.clone(),
            at: self.position(entry.key_span.start),
            ..Resource::default()
        };
        for Entry { key, value, .. } in keys {
            self.below(key, |reader| match key.as_str() {
                "type" => resource.resource_type = reader.text_of(value).unwrap_or_default(),
                "description" if value.scalar().is_none_or(|value| value.is_string()) => {
                    resource.description = reader.text_of(value)
                }
                "description" => reader.wrong_shape(value, "text"),
                "properties" if reader.filled(value, "a map from names to values") => {
                    resource.properties = reader.properties(value)
                }
                "depends_on"
                    if reader.filled(value, "the name of a resource, or a list of names,") =>
                {
                    resource.depends_on = reader.depends_on(value)
                }
                "metadata" if reader.filled(value, "a map") => {
                    resource.marks = reader.marks(value);
                    resource.metadata = reader.map_or_function(value);
                }
                "condition" if reader.filled(value, "a condition") => {
                    resource.condition = Some(reader.condition(value))
                }
                "external_id" => resource.external_id = reader.text_or_function(value),
                "deletion_policy" => resource.deletion_policy = reader.deletion_policy(value),
                "update_policy" => resource.update_policy = reader.map_or_function(value),
                _ => {}
            });
        }
        if resource.resource_type.is_empty() {
            let message = "a resource needs a `type`, such as `OS::Nova::Server`";
            self.error("resource-type-missing", entry.key_span.start, || message);
        }
        Some(resource)
    }

    fn properties(&mut self, node: &'a Node) -> Vec<ResourceProperty> {
        let mut properties = Vec::new();
        for entry in self.entries(node, "a map from names to values") {
            let value = self.below(&entry.key, |reader| reader.expr(&entry.value, Place::Value));
            properties.push(ResourceProperty {
                name: entry.key.clone(),
                at: self.position(entry.key_span.start),
                value,
            });
        }
        properties
    }

    fn depends_on(&mut self, node: &'a Node) -> Vec<(String, Position)> {
        if let Some(items) = node.items() {
            let mut names = Vec::new();
            for item in items {
                match item.value.scalar() {
                    Some(Value::String(name)) => {
                        names.push((name, self.position(item.value.span.start)))
                    }
                    _ => self.wrong_shape(&item.value, "the name of a resource"),
                }
            }
            return names;
        }
        match node.scalar() {
            Some(Value::String(name)) => vec![(name, self.position(node.span.start))],
            Some(Value::Null) => Vec::new(),
            _ => {
                self.wrong_shape(node, "the name of a resource, or a list of names,");
                Vec::new()
            }
        }
    }

    fn text_or_function(&mut self, node: &'a Node) -> Option<Expr> {
        if !self.filled(node, "text") {
            return None;
        }
        let value = self.expr(node, Place::Value);
        match &value {
            Expr::Literal(Value::Null) => None,
            Expr::Literal(Value::String(_)) => Some(value),
            Expr::Literal(_) | Expr::List(_) | Expr::Map(_) => {
                self.wrong_shape(node, "text");
                None
            }
            _ => Some(value),
        }
    }

    fn map_or_function(&mut self, node: &'a Node) -> Option<Expr> {
        if !self.filled(node, "a map") {
            return None;
        }
        let value = self.expr(node, Place::Value);
        match &value {
            Expr::Literal(Value::Null) => None,
            Expr::Literal(_) | Expr::List(_) => {
                self.wrong_shape(node, "a map");
                None
            }
            _ => Some(value),
        }
    }

    fn deletion_policy(&mut self, node: &'a Node) -> Option<Expr> {
        let value = self.text_or_function(node)?;
        let Some(word) = value.as_str() else {
            return Some(value);
        };
        let known = DeletionPolicy::of_text(word).is_some();
        let lower = self.version >= Version::V2016_10_14;
        if !known || (!lower && word.starts_with(|c: char| c.is_lowercase())) {
            let message = || {
                let words: &[&str] = if lower {
                    &["delete", "retain", "snapshot"]
                } else {
                    &["Delete", "Retain", "Snapshot"]
                };
                let since = if known {
                    "; lower-case words came with version 2016-10-14"
                } else {
                    ""
                };
                format!(
                    "`{}` is no deletion policy; there are {}{since}",
                    shown(word),
                    listed(words)
                )
            };
            self.error("deletion-policy-unknown", node.span.start, message);
        }
        Some(value)
    }

    fn marks(&mut self, metadata: &'a Node) -> Marks {
        let mut marks = Marks::default();
        let Some(ours) = metadata.entry("stackloom") else {
            return marks;
        };
        self.below("stackloom", |reader| {
            let entries = reader.entries(&ours.value, "a map with `public` or `bastion`");
            reader.known_keys(entries, MARKS, "`metadata.stackloom`");
            for Entry { key, value, .. } in entries {
                match key.as_str() {
                    "public" => marks.public = reader.below(key, |reader| reader.boolean(value)),
                    "bastion" => marks.bastion = reader.below(key, |reader| reader.boolean(value)),
                    _ => {}
                }
            }
        });
        marks
    }
}
