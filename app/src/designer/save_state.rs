//! The state of a design between the page and the server.

use api::{Design, Problem};
use leptos::prelude::*;

use super::drafts::{Drafts, Sent};

/// Where the newest text is.
#[derive(Clone, Debug, PartialEq)]
pub enum SaveState {
    /// On the server.
    Saved,
    /// On this machine, soon on its way.
    Waiting,
    /// On its way.
    Saving,
    /// On this machine; the server does not answer.
    Offline,
    /// On this machine; the server has another one, made since.
    Conflict(Box<Design>),
    /// On this machine; the server did not take it.
    Refused(Box<Problem>),
}

/// The design's store.
#[derive(Clone, Copy)]
pub struct Saving {
    /// For people.
    pub name: RwSignal<String>,
    /// The newest version on the server.
    pub version: RwSignal<u32>,
    /// Where the newest text is.
    pub state: RwSignal<SaveState>,
    /// What the server does not have is kept on this machine; false where it is too long for that.
    pub draft_kept: RwSignal<bool>,
    pub(super) id: StoredValue<String>,
    /// Counts changes, so that an answer knows whether it is the newest.
    pub(super) changes: StoredValue<u64>,
    /// A save is on its way; a second one would conflict with it.
    pub(super) busy: StoredValue<bool>,
    /// The draft lacks something.
    pub(super) draft_due: StoredValue<bool>,
    pub(super) drafts: Drafts,
    pub(super) sent: StoredValue<Sent>,
}

impl Saving {
    /// A design as the server has it.
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

    /// Something of the design is not on the server yet.
    pub fn is_dirty(self) -> bool {
        self.state
            .try_with_untracked(|state| *state != SaveState::Saved)
            .unwrap_or(false)
    }

    /// Leaving now would lose what was typed: the server does not have it, and this machine could not keep it.
    pub fn would_lose(self) -> bool {
        self.is_dirty() && self.draft_kept.try_get_untracked() == Some(false)
    }
}
