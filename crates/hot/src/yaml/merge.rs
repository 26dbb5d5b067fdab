//! Merge keys: `<<: *defaults`, and `<<: [*a, *b]`.
//!
//! YAML 1.1 and Heat support them: the entries of the named maps are added. The map's own entries have precedence over
//! added ones, and maps that are named earlier over later ones. The tree contains the text's own entries for edits, and
//! separately the merged entries for readers. Added values are shared, not copied.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{Entry, Kind, Node, Severity, Style, YamlProblem};

/// The key that merges.
pub(super) const KEY: &str = "<<";

/// Maps that were merged already, for reuse.
#[derive(Default)]
pub(super) struct Merger {
    shared: HashMap<*const Node, Arc<[Entry]>>,
    /// Number of added entries so far.
    count: u64,
}

impl Merger {
    /// Entries of a map, including those from merge keys. `None` if there is no merge key.
    pub(super) fn merge(
        &mut self,
        text: &str,
        entries: &[Entry],
        most: u64,
    ) -> Result<Option<Arc<[Entry]>>, YamlProblem> {
        let is_merge =
            |entry: &Entry| entry.key == KEY && text.get(entry.key_span.clone()) == Some(KEY);
        if !entries.iter().any(is_merge) {
            return Ok(None);
        }
        let mut taken: HashSet<&str> = entries
            .iter()
            .filter(|entry| !is_merge(entry))
            .map(|entry| entry.key.as_str())
            .collect();
        let mut sources = Vec::new();
        for entry in entries.iter().filter(|entry| is_merge(entry)) {
            let wrong = || YamlProblem {
                code: "merge-key-invalid",
                severity: Severity::Error,
                message: "`<<` takes a map, or a list of maps, mostly by an alias".to_owned(),
                at: entry.value.span.start,
                fatal: false,
            };
            match &entry.value.target().kind {
                Kind::Map(_) => sources.push(self.share(&entry.value)),
                Kind::List(items) => {
                    for item in items {
                        if item.value.entries().is_none() {
                            return Err(wrong());
                        }
                        sources.push(self.share(&item.value));
                    }
                }
                _ => return Err(wrong()),
            }
        }
        let mut merged: Vec<Entry> = Vec::new();
        for entry in sources.iter().flat_map(|source| source.iter()) {
            if taken.insert(&entry.key) {
                merged.push(entry.clone());
            }
        }
        self.count = self.count.saturating_add(merged.len() as u64);
        if self.count > most {
            return Err(YamlProblem {
                code: "alias-bomb",
                severity: Severity::Error,
                message: format!("its merge keys would give more than {most} values"),
                at: entries[0].key_span.start,
                fatal: true,
            });
        }
        merged.extend(entries.iter().filter(|entry| !is_merge(entry)).cloned());
        Ok(Some(merged.into()))
    }

    /// Entries of a map, with shared values.
    fn share(&mut self, node: &Node) -> Arc<[Entry]> {
        let target = node.target();
        let entries = || -> Arc<[Entry]> {
            let share = |entry: &Entry| {
                let value = match &entry.value.kind {
                    Kind::Alias(_) => entry.value.clone(),
                    _ => Node::new(
                        Kind::Alias(Arc::new(entry.value.clone())),
                        Style::Plain,
                        entry.value.span.clone(),
                        entry.value.weight,
                    ),
                };
                Entry {
                    value,
                    ..entry.clone()
                }
            };
            target
                .entries()
                .unwrap_or_default()
                .iter()
                .map(share)
                .collect()
        };
        match &node.kind {
            Kind::Alias(shared) => self
                .shared
                .entry(Arc::as_ptr(shared))
                .or_insert_with(entries)
                .clone(),
            _ => entries(),
        }
    }
}
