//! Undo and redo.
//!
//! An entry stores the whole text, the files and all positions from before a change. Undo therefore restores the same
//! bytes after any change: a canvas command, a form field, typing in the code view or in a file, or a template pasted
//! over everything. Texts are shared, not copied.
//!
//! Typing is coalesced: changes with the same key become one entry until [`History::seal`] is called (on blur, on
//! selection, on any other change). No clock is needed.

use std::sync::Arc;

use hot::bundle::Bundle;

use crate::layout::Places;

/// The state that undo restores.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The template, byte for byte.
    pub text: Arc<str>,
    /// Positions of the nodes.
    pub places: Arc<Places>,
    /// Files and environments beside the template.
    pub bundle: Arc<Bundle>,
}

impl Snapshot {
    /// Memory for a snapshot after `before`, in bytes. Shared files are not counted.
    fn bytes(&self, before: Option<&Snapshot>) -> usize {
        let files = match before {
            Some(before) if Arc::ptr_eq(&before.bundle, &self.bundle) => 0,
            _ => self.bundle.files().map(|(_, text)| text.len()).sum(),
        };
        self.text.len() + files
    }
}

/// One change that can be undone.
#[derive(Clone, Debug)]
struct Entry {
    label: String,
    key: Option<String>,
    other: Snapshot,
}

/// Limit for the texts in the history, in bytes. Beyond it the oldest entries are dropped.
const BYTES_MAX: usize = 64 << 20;

/// Changes that can be undone, and undone changes.
#[derive(Clone, Debug, Default)]
pub struct History {
    past: Vec<Entry>,
    future: Vec<Entry>,
    sealed: bool,
}

impl History {
    /// Records a change that is about to replace `before`. If the last entry has the same `key` and
    /// [`seal`](Self::seal) was not called since, the change is merged into that entry.
    pub fn record(&mut self, label: impl Into<String>, before: Snapshot, key: Option<&str>) {
        self.future.clear();
        let joins = !self.sealed
            && key.is_some()
            && self
                .past
                .last()
                .is_some_and(|last| last.key.as_deref() == key);
        self.sealed = false;
        if !joins {
            self.past.push(Entry {
                label: label.into(),
                key: key.map(str::to_owned),
                other: before,
            });
            self.forget_the_oldest();
        }
    }

    /// Starts a new entry for the next change.
    pub fn seal(&mut self) {
        self.sealed = true;
    }

    /// The state before the last change, and the change's label.
    pub fn undo(&mut self, now: Snapshot) -> Option<(Snapshot, String)> {
        let entry = self.past.pop()?;
        self.sealed = true;
        self.future.push(Entry {
            other: now,
            key: None,
            label: entry.label.clone(),
        });
        Some((entry.other, entry.label))
    }

    /// The state after the last undone change, and the change's label.
    pub fn redo(&mut self, now: Snapshot) -> Option<(Snapshot, String)> {
        let entry = self.future.pop()?;
        self.sealed = true;
        self.past.push(Entry {
            other: now,
            key: None,
            label: entry.label.clone(),
        });
        Some((entry.other, entry.label))
    }

    /// A history of these changes, with the state that each replaced: those that can be undone, and undone ones. The last
    /// of a list comes first.
    pub fn of(past: Vec<(String, Snapshot)>, future: Vec<(String, Snapshot)>) -> History {
        let entries = |changes: Vec<(String, Snapshot)>| {
            let entry = |(label, other)| Entry {
                label,
                key: None,
                other,
            };
            changes.into_iter().map(entry).collect()
        };
        History {
            past: entries(past),
            future: entries(future),
            sealed: true,
        }
    }

    /// Changes that can be undone, as in [`History::of`].
    pub fn past(&self) -> impl DoubleEndedIterator<Item = (&str, &Snapshot)> {
        self.past.iter().map(|entry| (&*entry.label, &entry.other))
    }

    /// Undone changes, as in [`History::of`].
    pub fn future(&self) -> impl DoubleEndedIterator<Item = (&str, &Snapshot)> {
        self.future
            .iter()
            .map(|entry| (&*entry.label, &entry.other))
    }

    /// Label of the change that undo reverts.
    pub fn undo_label(&self) -> Option<&str> {
        self.past.last().map(|entry| entry.label.as_str())
    }

    /// Label of the change that redo repeats.
    pub fn redo_label(&self) -> Option<&str> {
        self.future.last().map(|entry| entry.label.as_str())
    }

    fn forget_the_oldest(&mut self) {
        let before = |at: usize| at.checked_sub(1).map(|at| &self.past[at].other);
        let size = |at: usize| self.past[at].other.bytes(before(at));
        let mut bytes: usize = (0..self.past.len()).map(size).sum();
        let mut gone = 0;
        while bytes > BYTES_MAX && gone + 1 < self.past.len() {
            bytes -= size(gone);
            gone += 1;
        }
        self.past.drain(..gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(text: &str) -> Snapshot {
        Snapshot {
            text: text.into(),
            places: Arc::default(),
            bundle: Arc::default(),
        }
    }

    #[test]
    fn typing_is_one_entry_until_sealed() {
        let mut history = History::default();
        history.record("Type", snapshot(""), Some("field"));
        history.record("Type", snapshot("a"), Some("field"));
        history.seal();
        history.record("Type", snapshot("ab"), Some("field"));
        let (back, label) = history.undo(snapshot("abc")).expect("an entry");
        assert_eq!((&*back.text, label.as_str()), ("ab", "Type"));
        let (back, _) = history.undo(back).expect("an entry");
        assert_eq!(&*back.text, "");
        assert!(history.undo(back).is_none());
    }

    #[test]
    fn a_new_change_clears_redo() {
        let mut history = History::default();
        history.record("A", snapshot("0"), None);
        assert!(history.undo(snapshot("1")).is_some());
        assert_eq!(history.redo_label(), Some("A"));
        history.record("B", snapshot("0"), None);
        assert!(history.redo(snapshot("2")).is_none());
    }
}
