//! The state of a design between the page and the server.

use api::{Design, Problem};
use leptos::prelude::*;

use super::drafts::{Drafts, Sent};

/// Where the newest text is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum SaveState {
    /// On the server.
    Saved,
    /// In the browser. It will be sent after the pause.
    Waiting,
    /// In the browser. A save is running.
    Saving,
    /// In the browser. The server does not answer.
    Offline,
    /// In the browser. The server has a version that someone else has saved since.
    Conflict(Box<Design>),
    /// In the browser. The server refused it.
    Refused(Box<Problem>),
}

/// The saving state of a design.
#[derive(Clone, Copy)]
pub struct Saving {
    /// The design's name, as shown to users.
    pub name: RwSignal<String>,
    /// The newest version on the server.
    pub version: RwSignal<u32>,
    /// Where the newest text is stored.
    pub state: RwSignal<SaveState>,
    /// True if unsaved changes are in the local store. False if they are too long for it.
    pub draft_kept: RwSignal<bool>,
    pub(super) id: StoredValue<String>,
    /// Counts changes, so that a save's answer can tell whether its text is still the newest.
    pub(super) changes: StoredValue<u64>,
    /// True while a save is running. A second one would conflict with it.
    pub(super) busy: StoredValue<bool>,
    /// True if the draft lacks a change.
    pub(super) draft_due: StoredValue<bool>,
    pub(super) drafts: Drafts,
    pub(super) sent: StoredValue<Sent>,
}

impl Saving {
    /// A design that is equal to the server's.
    pub fn new(design: &Design) -> Self {
        Self {
            name: RwSignal::new(design.name.clone()),
            version: RwSignal::new(design.version),
            state: RwSignal::new(SaveState::Saved),
            draft_kept: RwSignal::new(true),
            id: StoredValue::new(design.id.clone()),
            changes: StoredValue::new(0),
            busy: StoredValue::new(false),
            draft_due: StoredValue::new(false),
            drafts: Drafts::of(&design.id),
            sent: StoredValue::new(Sent::default()),
        }
    }

    /// The design's id.
    pub fn id(self) -> String {
        self.id.get_value()
    }

    /// True if the server lacks some change.
    pub fn is_dirty(self) -> bool {
        self.state
            .try_with_untracked(|state| *state != SaveState::Saved)
            .unwrap_or(false)
    }

    /// True if leaving now would lose text: the server does not have it, and the browser could not store it.
    pub fn would_lose(self) -> bool {
        self.is_dirty() && self.draft_kept.try_get_untracked() == Some(false)
    }
}
