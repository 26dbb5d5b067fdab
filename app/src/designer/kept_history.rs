//! Undo over a reload: the history of a design in the storage of the browser's tab.
//!
//! It is written when the page is hidden, left or closed, and taken up by the next visit in this tab if the design has the
//! same text and files as then. The storage has room for a few megabytes, so the oldest changes are left out.

use std::sync::Arc;

use api::{Layout, TemplateFiles};
use canvas::history::{History, Snapshot};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    board::{layout_of, places_of},
    drafts::{Fingerprint, fingerprint},
    store::Workspace,
};
use crate::browser;

/// Maximum length of a kept history, in bytes of JSON. Browsers keep 5 MB a site, in two bytes a letter.
const BYTES_MAX: usize = 1 << 20;

#[derive(Serialize, Deserialize)]
struct KeptHistory {
    /// Hash of the design's text and files.
    content: Fingerprint,
    past: Vec<KeptChange>,
    future: Vec<KeptChange>,
}

/// A change, with the state that it replaced.
#[derive(Serialize, Deserialize)]
struct KeptChange {
    label: String,
    template: String,
    layout: Layout,
    beside: TemplateFiles,
}

impl KeptChange {
    fn of((label, state): (&str, &Snapshot)) -> KeptChange {
        KeptChange {
            label: label.to_owned(),
            template: state.text.to_string(),
            layout: layout_of(&state.places),
            beside: TemplateFiles::of(&state.bundle),
        }
    }

    fn change(self) -> (String, Snapshot) {
        let state = Snapshot {
            text: self.template.into(),
            places: Arc::new(places_of(&self.layout)),
            bundle: Arc::new(self.beside.bundle()),
        };
        (self.label, state)
    }
}

/// The newest changes that fit into the storage, in their order.
fn newest<'a>(
    changes: impl DoubleEndedIterator<Item = (&'a str, &'a Snapshot)>,
    left: &mut usize,
) -> Vec<KeptChange> {
    let mut stored = Vec::new();
    for change in changes.rev().map(KeptChange::of) {
        let bytes = serde_json::to_string(&change).map_or(usize::MAX, |text| text.len());
        let Some(rest) = left.checked_sub(bytes) else {
            break;
        };
        *left = rest;
        stored.push(change);
    }
    stored.reverse();
    stored
}

fn key(workspace: Workspace) -> Option<String> {
    let id = workspace.saving.id.try_get_value()?;
    Some(format!("history.{id}"))
}

impl Workspace {
    /// Hash of the text and the files.
    fn content(self) -> Option<Fingerprint> {
        self.editor.try_with_untracked(|editor| {
            let beside = TemplateFiles::of(editor.bundle());
            fingerprint(editor.document().text(), &beside, &Layout::default())
        })
    }

    /// Writes the history for the next visit.
    pub fn keep_history(self) {
        let (Some(key), Some(content)) = (key(self), self.content()) else {
            return;
        };
        let stored = self.editor.with_untracked(|editor| {
            let mut left = BYTES_MAX;
            KeptHistory {
                content,
                past: newest(editor.history().past(), &mut left),
                future: newest(editor.history().future(), &mut left),
            }
        });
        if let Ok(text) = serde_json::to_string(&stored) {
            browser::remember_in_tab(&key, &text);
        }
    }

    /// Restores the history of the last visit, if the design is the same as then.
    pub fn restore_history(self) {
        let stored = key(self).and_then(|key| browser::remembered_in_tab(&key));
        let stored = stored.and_then(|text| serde_json::from_str::<KeptHistory>(&text).ok());
        let Some(stored) = stored.filter(|stored| Some(stored.content) == self.content()) else {
            return;
        };
        let changes =
            |stored: Vec<KeptChange>| stored.into_iter().map(KeptChange::change).collect();
        let history = History::of(changes(stored.past), changes(stored.future));
        self.editor.update(|editor| editor.set_history(history));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_changes_are_kept_as_far_as_there_is_room() {
        let state = |text: &str| Snapshot {
            text: text.into(),
            places: Arc::default(),
            bundle: Arc::default(),
        };
        let past: Vec<_> = (0..9)
            .map(|at| (format!("change {at}"), state("text")))
            .collect();
        let history = History::of(past.clone(), Vec::new());
        let bytes = serde_json::to_string(&KeptChange::of(("change 0", &past[0].1)))
            .unwrap()
            .len();
        let stored = newest(history.past(), &mut (2 * bytes + 1));
        let stored: Vec<_> = stored.into_iter().map(KeptChange::change).collect();
        assert_eq!(stored, past[7..]);
    }
}
