//! Which resources are selected.
//!
//! By name, so that a selection outlives any redrawing. A change of the selection is no entry of the
//! history: undo never throws redo away for it.

use std::collections::BTreeSet;

/// The selected resources, and the one that the inspector shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    names: BTreeSet<String>,
    lead: Option<String>,
}

impl Selection {
    /// Nothing but this one.
    pub fn only(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            names: BTreeSet::from([name.clone()]),
            lead: Some(name),
        }
    }

    /// Several; the last one leads.
    pub fn of(names: impl IntoIterator<Item = String>) -> Self {
        let mut selection = Self::default();
        for name in names {
            selection.lead = Some(name.clone());
            selection.names.insert(name);
        }
        selection
    }

    /// In or out, the others stay.
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

    /// It is in.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All, by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The one that the inspector shows.
    pub fn lead(&self) -> Option<&str> {
        self.lead.as_deref()
    }

    /// Without those that are gone.
    pub fn retain(&mut self, exists: impl Fn(&str) -> bool) {
        self.names.retain(|name| exists(name));
        if self.lead.as_deref().is_some_and(|lead| !exists(lead)) {
            self.lead = self.names.iter().next_back().cloned();
        }
    }

    /// After a rename.
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
    fn the_lead_is_always_selected() {
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
