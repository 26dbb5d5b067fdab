//! State that nodes and lines read while they are rendered: selection, run states, problems, drop targets.
//!
//! The editor and the read-only board set different values.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use api::DesignViewer;
use canvas::selection::Selection;
use hot::diagnostic::Severity;
use leptos::prelude::*;
use types::Registry;

use super::icon_images::IconImages;

/// Number of problems of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Errors, which prevent a deployment.
    pub errors: u32,
    /// Warnings.
    pub warnings: u32,
}

impl Tally {
    /// Counts one more problem.
    pub fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Info => {}
        }
    }

    /// Errors and warnings together.
    pub fn all(self) -> u32 {
        self.errors + self.warnings
    }
}

/// Node under the current drag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aim {
    /// Node that a drop would change.
    pub target: Option<String>,
    /// True if the drop would be refused.
    pub refused: bool,
}

/// State for the elements on a canvas.
#[derive(Clone, Copy)]
pub struct Stage {
    /// The selection.
    pub selection: Signal<Selection>,
    /// API name of the state, by resource name. Empty outside of runs.
    pub states: Signal<HashMap<String, String>>,
    /// Number of problems by resource name.
    pub problems: Signal<Arc<HashMap<String, Tally>>>,
    /// Names of nodes that are not faded. `None` if none is faded.
    pub related: Signal<Option<Arc<HashSet<String>>>>,
    /// The node under the current drag.
    pub aim: Signal<Aim>,
    /// Possible end nodes of a line during its drag.
    pub eligible: Signal<Option<Arc<HashSet<String>>>>,
    /// Other users who have selected a resource, by its name.
    pub others: Signal<HashMap<String, Arc<str>>>,
    /// The resource types, for the icons of catalogue items.
    pub types: Signal<Arc<Registry>>,
    /// Images of the icons of resource types.
    pub icons: IconImages,
    /// Folds a frame to a card, or unfolds it, by name. `None` on read-only boards.
    pub fold: Option<Callback<String>>,
    /// True if nodes can be dragged and connected.
    pub editable: bool,
}

impl Stage {
    /// True if a resource is selected, for `data-selected`.
    pub fn selected(self, name: &str) -> Memo<bool> {
        let name = name.to_owned();
        Memo::new(move |_| self.selection.with(|selection| selection.contains(&name)))
    }

    /// True if a node is unrelated to the selection, for `data-faded`.
    pub fn faded(self, name: &str) -> Memo<bool> {
        let name = name.to_owned();
        Memo::new(move |_| {
            self.related
                .with(|related| related.as_ref().is_some_and(|all| !all.contains(&name)))
        })
    }

    /// Other users who have selected a resource.
    pub fn others(self, name: &str) -> Memo<Option<Arc<str>>> {
        let name = name.to_owned();
        Memo::new(move |_| self.others.with(|others| others.get(&name).cloned()))
    }

    /// API name of a resource's state, or `idle` without a state.
    pub fn state(self, name: &str) -> Memo<String> {
        let name = name.to_owned();
        Memo::new(move |_| {
            self.states
                .with(|states| states.get(&name).cloned())
                .unwrap_or_else(|| "idle".to_owned())
        })
    }

    /// Number of problems of a resource.
    pub fn tally(self, name: &str) -> Memo<Tally> {
        let name = name.to_owned();
        Memo::new(move |_| {
            self.problems
                .with(|problems| problems.get(&name).copied())
                .unwrap_or_default()
        })
    }
}

/// Users who have selected a resource on their pages, by its name.
pub fn selections(others: &[DesignViewer]) -> HashMap<String, Arc<str>> {
    let mut users: HashMap<String, Vec<&str>> = HashMap::new();
    for other in others {
        for name in &other.selected {
            let users = users.entry(name.clone()).or_default();
            if !users.contains(&other.user.as_str()) {
                users.push(&other.user);
            }
        }
    }
    let joined = users.into_iter();
    joined
        .map(|(name, users)| (name, users.join(", ").into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_names_everybody_who_has_selected_it() {
        let viewer = |user: &str, selected: &[&str]| DesignViewer {
            user: user.to_owned(),
            is_caller: false,
            selected: selected.iter().map(|&name| name.to_owned()).collect(),
        };
        let found = selections(&[
            viewer("ada", &["web", "db"]),
            viewer("ada", &["web"]),
            viewer("bob", &["web"]),
        ]);
        assert_eq!(&*found["web"], "ada, bob");
        assert_eq!(&*found["db"], "ada");
        assert_eq!(found.len(), 2);
    }
}
