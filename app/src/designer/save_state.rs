//! The state of a design between the page and the server.

use api::{Design, DesignVersion, Problem};
use hot::document::Conflict;
use leptos::prelude::*;

use super::drafts::{Drafts, Sent};

/// Location of the newest text.
#[derive(Clone, Debug, PartialEq)]
pub enum SaveState {
    /// All changes are stored on the server.
    Saved,
    /// In the browser. A save starts after the pause.
    Waiting,
    /// In the browser. A save is running.
    Saving,
    /// In the browser. The server does not respond, or cannot save now. The save is repeated.
    Later(Box<Problem>),
    /// In the browser. Another client has saved a newer version on the server, and changed the same entries.
    Conflict(Box<Clash>),
    /// In the browser. The server refused it.
    Refused(Box<Problem>),
}

/// A newer version of another client, with changes that cannot be merged without a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Clash {
    /// The newest version on the server.
    pub theirs: Design,
    /// The version that both sides come from. `None` if it is no longer kept.
    pub base: Option<DesignVersion>,
    /// Entries that both sides had changed when the newer version arrived.
    pub conflicts: Vec<Conflict>,
}

/// The saving state of a design.
#[derive(Clone, Copy)]
pub struct Saving {
    /// Name of the design.
    pub name: RwSignal<String>,
    /// Newest version on the server.
    pub version: RwSignal<u32>,
    /// Location of the newest text.
    pub state: RwSignal<SaveState>,
    /// True if unsaved changes are in the local storage. False if they are too long for it.
    pub draft_kept: RwSignal<bool>,
    pub(super) id: StoredValue<String>,
    /// Name and author of the newest version on the server that this page knows.
    pub(super) stored: StoredValue<(String, String)>,
    /// Number of changes, to find out after a save whether its text is still the newest.
    pub(super) changes: StoredValue<u64>,
    /// True while a save is running. A second one would conflict with it.
    pub(super) busy: StoredValue<bool>,
    /// True if the draft does not contain all changes.
    pub(super) draft_due: StoredValue<bool>,
    pub(super) drafts: Drafts,
    pub(super) sent: StoredValue<Sent>,
}

impl Saving {
    /// State of a design without unsaved changes.
    pub fn new(design: &Design) -> Self {
        Self {
            name: RwSignal::new(design.name.clone()),
            version: RwSignal::new(design.version),
            state: RwSignal::new(SaveState::Saved),
            draft_kept: RwSignal::new(true),
            id: StoredValue::new(design.id.clone()),
            stored: StoredValue::new((design.name.clone(), design.author.clone())),
            changes: StoredValue::new(0),
            busy: StoredValue::new(false),
            draft_due: StoredValue::new(false),
            drafts: Drafts::of(&design.id),
            sent: StoredValue::new(Sent::default()),
        }
    }

    /// Id of the design.
    pub fn id(self) -> String {
        self.id.get_value()
    }

    /// True if there are changes that are not on the server.
    pub fn is_dirty(self) -> bool {
        self.state
            .try_with_untracked(|state| *state != SaveState::Saved)
            .unwrap_or(false)
    }

    /// True if leaving now would lose text: it is neither on the server nor in the browser's storage.
    pub fn has_unprotected_changes(self) -> bool {
        self.is_dirty() && self.draft_kept.try_get_untracked() == Some(false)
    }
}
