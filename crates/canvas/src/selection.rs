//! The selected resources.
//!
//! Resources are stored by name, and lines without a resource by their id, so that a selection survives redrawing. A change of the selection makes no history
//! entry, so it does not discard redo.

use std::collections::BTreeSet;

/// Selected resources, and the one in the inspector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    names: BTreeSet<String>,
    lead: Option<String>,
}

impl Selection {
    /// The selection of one resource.
    pub fn only(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            names: BTreeSet::from([name.clone()]),
            lead: Some(name),
        }
    }

    /// Selection of several resources. The last one is in the inspector.
    pub fn of(names: impl IntoIterator<Item = String>) -> Self {
        let mut selection = Self::default();
        for name in names {
            selection.lead = Some(name.clone());
            selection.names.insert(name);
        }
        selection
    }

    /// Adds or removes a resource.
    pub fn toggle(&mut self, name: &str) {
        if self.names.remove(name) {
            if self.lead.as_deref() == Some(name) {
                self.lead = self.names.iter().next_back().cloned();
            }
        } else {
            self.names.insert(name.to_owned());
            self.lead = Some(name.to_owned());
        }
    }

    /// True if the resource is selected.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// True if nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names of the selected resources.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Resource in the inspector.
    pub fn lead(&self) -> Option<&str> {
        self.lead.as_deref()
    }

    /// Removes resources that no longer exist.
    pub fn retain(&mut self, exists: impl Fn(&str) -> bool) {
        self.names.retain(|name| exists(name));
        if self.lead.as_deref().is_some_and(|lead| !exists(lead)) {
            self.lead = self.names.iter().next_back().cloned();
        }
    }

    /// Replaces the name of a renamed resource.
    pub fn rename(&mut self, from: &str, to: &str) {
        if self.names.remove(from) {
            self.names.insert(to.to_owned());
        }
        if self.lead.as_deref() == Some(from) {
            self.lead = Some(to.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_primary_node_is_always_selected() {
        let mut selection = Selection::of(["a".to_owned(), "b".to_owned()]);
        assert_eq!(selection.lead(), Some("b"));
        selection.toggle("b");
        assert_eq!(selection.lead(), Some("a"));
        selection.rename("a", "c");
        assert_eq!(selection.lead(), Some("c"));
        selection.retain(|_| false);
        assert_eq!(selection, Selection::default());
    }
}
