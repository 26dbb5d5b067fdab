//! What nodes and lines ask while they paint themselves: selection, states, problems, drop targets.
//!
//! The editor and the board answer differently; the elements do not care.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use canvas::selection::Selection;
use hot::diagnostic::Severity;
use leptos::prelude::*;
use types::Registry;

/// How many problems a resource has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Nothing can be deployed.
    pub errors: u32,
    /// A person should know.
    pub warnings: u32,
}

impl Tally {
    /// One more.
    pub fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Info => {}
        }
    }

    /// Errors and warnings.
    pub fn all(self) -> u32 {
        self.errors + self.warnings
    }
}

/// What a drag is over at this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aim {
    /// The node that would take part.
    pub target: Option<String>,
    /// The drop would be refused.
    pub refused: bool,
}

/// The surroundings of the elements on a canvas.
#[derive(Clone, Copy)]
pub struct Stage {
    /// What is selected.
    pub selection: Signal<Selection>,
    /// Resource name to the API's word for its state; nothing outside of runs.
    pub states: Signal<HashMap<String, String>>,
    /// By resource.
    pub problems: Signal<Arc<HashMap<String, Tally>>>,
    /// What a drag is over.
    pub aim: Signal<Aim>,
    /// While a line is drawn: the nodes that it may end at.
    pub eligible: Signal<Option<Arc<HashSet<String>>>>,
    /// Icons of catalogue items.
    pub types: Signal<Arc<Registry>>,
    /// Nodes can be dragged and connected.
    pub editable: bool,
}

impl Stage {
    /// `"true"` or `"false"`, for `data-selected`.
    pub fn selected(self, name: &str) -> Memo<bool> {
        let name = name.to_owned();
        Memo::new(move |_| self.selection.with(|selection| selection.contains(&name)))
    }

    /// The API's word for the state of a resource; `idle` where there is none.
    pub fn state(self, name: &str) -> Memo<String> {
        let name = name.to_owned();
        Memo::new(move |_| {
            self.states
                .with(|states| states.get(&name).cloned())
                .unwrap_or_else(|| "idle".to_owned())
        })
    }

    /// Problems of a resource.
    pub fn tally(self, name: &str) -> Memo<Tally> {
        let name = name.to_owned();
        Memo::new(move |_| {
            self.problems
                .with(|problems| problems.get(&name).copied())
                .unwrap_or_default()
        })
    }
}

/// How a state looks, and its word for people.
pub fn look_of(word: &str) -> (&'static str, &'static str) {
    match word {
        "waiting" => ("waiting", "Waiting"),
        "ready" => ("succeeded", "Ready"),
        "running" => ("running", "Running"),
        "creating" => ("running", "Creating"),
        "updating" => ("running", "Updating"),
        "deleting" => ("running", "Deleting"),
        "retrying" => ("retrying", "Retrying"),
        "succeeded" => ("succeeded", "Done"),
        "failed" => ("failed", "Failed"),
        "cancelled" => ("cancelled", "Cancelled"),
        "skipped" => ("skipped", "Skipped"),
        "deleted" => ("skipped", "Deleted"),
        _ => ("idle", ""),
    }
}
