//! `outputs:`.

use super::{Keys, Reader};
use crate::{
    expr::Place,
    template::Output,
    text::did_you_mean,
    version::Version,
    yaml::{Entry, Node},
};
use yaql::shown;

/// Keys of an output.
pub const KEYS: Keys<'static> = &[
    ("description", Version::V2013_05_23),
    ("value", Version::V2013_05_23),
    ("condition", Version::V2016_10_14),
];

impl<'a> Reader<'a> {
    pub(super) fn outputs(&mut self, node: &'a Node) -> Vec<Output> {
        let mut outputs = Vec::new();
        for entry in self.section(node, "a map from names to outputs") {
            let output = self.below(&entry.key, |reader| {
                reader.name(entry, "an output");
                reader.output(entry)
            });
            outputs.extend(output);
        }
        outputs
    }

    fn output(&mut self, entry: &'a Entry) -> Option<Output> {
        let node = &entry.value;
        let keys = self.entries(node, "a map with `value`");
        // Heat ignores other keys here, so they are only warnings.
        for entry in keys {
            let known = KEYS
                .iter()
                .any(|(key, since)| *key == entry.key && *since <= self.version);
            if !known {
                let there = KEYS.iter().filter(|(_, since)| *since <= self.version);
                let near = did_you_mean(&entry.key, there.map(|(key, _)| *key));
                let message = format!(
                    "`{}` is no key of an output in version {}, and nothing comes of it{near}",
                    shown(&entry.key),
                    self.version
                );
                self.below(&entry.key, |reader| {
                    reader.warning("unknown-key", entry.key_span.start, message)
                });
            }
        }
        let Some(value) = node.entry("value") else {
            if node.entries().is_some() || node.is_null() {
                self.error(
                    "wrong-shape",
                    entry.key_span.start,
                    "an output needs a `value`",
                );
            }
            return None;
        };
        let description = node
            .entry("description")
            .and_then(|entry| self.below("description", |reader| reader.words_of(&entry.value)));
        let condition = node
            .entry("condition")
            .filter(|entry| !entry.value.is_null() && self.version >= Version::V2016_10_14)
            .map(|entry| self.below("condition", |reader| reader.condition(&entry.value)));
        let value = self.below("value", |reader| reader.expr(&value.value, Place::Value));
        Some(Output {
            name: entry.key.clone(),
            at: self.position(entry.key_span.start),
            description,
            value,
            condition,
        })
    }
}
