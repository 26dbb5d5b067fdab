//! Changes a value to another one of the same shape: only differences are written, all in one pass.
//!
//! Comments, order and form of unchanged parts are kept. The text is parsed twice, not once for each change. Additions
//! come first and removals afterwards, so that no container becomes empty in between and is removed with its last
//! child.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    EditError,
    set::{Changes, Holder, Writer},
};
use crate::{
    expr,
    yaml::{Entry, Item, Kind, Node},
};

impl Writer<'_> {
    /// Changes that turn the node at `path` into `value`.
    pub(super) fn changes_to(
        &self,
        node: &Node,
        holder: Holder<'_>,
        path: &[String],
        value: &Value,
    ) -> Result<Changes, EditError> {
        let mut changes = Changes::default();
        // An empty node is null already, but null must be written explicitly.
        if value.is_null() || node.to_json() != *value {
            self.change(node, holder, &mut path.to_vec(), value, &mut changes)?;
        }
        Ok(changes)
    }

    /// Adds the changes for a `value` that differs from the node's.
    fn change(
        &self,
        node: &Node,
        holder: Holder<'_>,
        path: &mut Vec<String>,
        value: &Value,
        changes: &mut Changes,
    ) -> Result<(), EditError> {
        match (&node.kind, value) {
            (Kind::Map(entries), Value::Object(new))
                if !entries.is_empty()
                    && !new.is_empty()
                    && (is_written_out(path)
                        || is_same_call(entries, new)
                        || !is_call(new.keys())
                            && !is_call(entries.iter().map(|entry| &entry.key))) =>
            {
                self.change_map(node, entries, holder, path, new, changes)
            }
            (Kind::List(items), Value::Array(new)) if !items.is_empty() && !new.is_empty() => {
                self.change_list(node, items, holder, path, new, changes)
            }
            _ => {
                changes.splices.extend(self.replace(node, holder, value)?);
                Ok(())
            }
        }
    }

    fn change_map(
        &self,
        node: &Node,
        entries: &[Entry],
        holder: Holder<'_>,
        path: &mut Vec<String>,
        new: &Map<String, Value>,
        changes: &mut Changes,
    ) -> Result<(), EditError> {
        let own: HashMap<&str, &Entry> = entries
            .iter()
            .map(|entry| (entry.key.as_str(), entry))
            .collect();
        // Entries from merge keys stay there if all of them are in the new value.
        let all = node.entries().unwrap_or_default();
        let taken_over = || all.iter().filter(|entry| !own.contains_key(&*entry.key));
        let taken: HashMap<&str, &Entry> = if taken_over().all(|one| new.contains_key(&one.key)) {
            taken_over().map(|one| (one.key.as_str(), one)).collect()
        } else {
            HashMap::new()
        };
        let mut added = Map::new();
        for (key, value) in new {
            match own.get(key.as_str()) {
                Some(entry) if entry.value.to_json() == *value => {}
                Some(entry) => {
                    let parent = node;
                    let holder = Holder::Entry { entry, parent };
                    path.push(key.clone());
                    self.change(&entry.value, holder, path, value, changes)?;
                    path.pop();
                }
                None => {
                    let taken = taken.get(key.as_str());
                    if taken.is_none_or(|one| one.value.to_json() != *value) {
                        added.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        // Added after the changes of the last child.
        if !added.is_empty() {
            let added = self.add_entries(node, holder, &added)?;
            changes.splices.extend(added);
        }
        let stays = |key: &str| new.contains_key(key) || (key == "<<" && !taken.is_empty());
        let gone = entries.iter().filter(|entry| !stays(&entry.key));
        changes
            .gone
            .extend(gone.map(|entry| below(path, &entry.key)));
        Ok(())
    }

    fn change_list(
        &self,
        node: &Node,
        items: &[Item],
        holder: Holder<'_>,
        path: &mut Vec<String>,
        new: &[Value],
        changes: &mut Changes,
    ) -> Result<(), EditError> {
        let old: Vec<Value> = items.iter().map(|item| item.value.to_json()).collect();
        let head = common(old.iter().zip(new));
        let (rest, rest_new) = (old.len() - head, new.len() - head);
        // Nothing can be inserted before an item: additional items are appended.
        let tail = if rest_new > rest {
            0
        } else {
            common(old[head..].iter().rev().zip(new[head..].iter().rev()))
        };
        let changed = head..rest_new.min(rest) + head - tail;
        for index in changed.clone() {
            let (item, value) = (&items[index], &new[index]);
            let parent = node;
            path.push(index.to_string());
            let holder = Holder::Item { item, parent };
            self.change(&item.value, holder, path, value, changes)?;
            path.pop();
        }
        if let Some(more) = new.get(items.len()..).filter(|more| !more.is_empty()) {
            changes.splices.extend(self.add_items(node, holder, more)?);
        }
        let gone = changed.end..items.len() - tail;
        changes
            .gone
            .extend(gone.map(|index| below(path, &index.to_string())));
        Ok(())
    }
}

/// Number of equal pairs at the beginning.
fn common<'v>(mut pairs: impl Iterator<Item = (&'v Value, &'v Value)>) -> usize {
    let mut count = 0;
    while pairs.next().is_some_and(|(old, new)| old == new) {
        count += 1;
    }
    count
}

/// True for maps whose keys are content: sections, their entries, a resource's properties.
fn is_written_out(path: &[String]) -> bool {
    match path {
        [] | [_] => true,
        [section, _, key] => section == "resources" && key == "properties",
        _ => false,
    }
}

/// True if both are calls of the same function, with different arguments.
fn is_same_call(entries: &[Entry], new: &Map<String, Value>) -> bool {
    matches!((entries, new.keys().next()), ([only], Some(key)) if new.len() == 1 && only.key == *key)
}

fn below(path: &[String], key: &str) -> Vec<String> {
    let whole = path.iter().map(String::as_str).chain([key]);
    whole.map(str::to_owned).collect()
}

fn is_call<'k>(mut keys: impl Iterator<Item = &'k String>) -> bool {
    matches!((keys.next(), keys.next()), (Some(only), None) if expr::is_function(only))
}
