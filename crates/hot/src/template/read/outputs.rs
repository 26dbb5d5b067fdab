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

impl<'a, const REPORTS: bool> Reader<'a, REPORTS> {
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
        let version = self.version;
        // Heat ignores other keys here, so they are only warnings.
        for entry in keys {
            let known = KEYS
                .iter()
                .any(|(key, since)| *key == entry.key && *since <= version);
            if !known {
                let message = || {
                    let there = KEYS.iter().filter(|(_, since)| *since <= version);
                    let near = did_you_mean(&entry.key, there.map(|(key, _)| *key));
                    format!(
                        "`{}` is no key of an output in version {version}, and nothing comes of it{near}",
                        shown(&entry.key)
                    )
                };
                self.below(&entry.key, |reader| {
                    reader.warning("unknown-key", entry.key_span.start, message)
                });
            }
        }
        let Some(value) = node.entry("value") else {
            if node.entries().is_some() || node.is_null() {
                let message = "an output needs a `value`";
                self.error("wrong-shape", entry.key_span.start, || message);
            }
            return None;
        };
        let description = node
            .entry("description")
            .and_then(|entry| self.below("description", |reader| reader.words_of(&entry.value)));
        let condition = node
            .entry("condition")
            .filter(|entry| !entry.value.is_null() && version >= Version::V2016_10_14)
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
