//! Autosave: nothing typed is lost.
//!
//! Every change is first kept as a draft on this machine, then, after a short pause, stored on the
//! server with the version that it was made from. A draft is forgotten only when the server has it. While
//! the server is away, saving is tried again; when someone else has saved in between, the person chooses.
//!
//! A draft is written when the browser has nothing else to do, shortly after the first change that it lacks: no key waits
//! for it. What is not written yet is written at once when the page is hidden, left or closed ([`Saving::keep_now`]).
//!
//! ```text
//! saved --change--> waiting --pause--> saving --ok--> saved
//!                      ^                  |--no answer--> offline --pause--> saving
//!                      +---- change ------|--409--> conflict --keep mine / take theirs--> saving / saved
//!                                         +--other--> refused --change--> waiting
//! ```

use api::{Beside, Design, DesignRequest, Layout, Problem};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::{board::layout_of, store::Workspace};
use crate::{browser, client};

/// Between the last change and the save.
const PAUSE_MS: i32 = 600;
/// Between two tries while the server is away.
const RETRY_MS: i32 = 3_000;
/// Between a change and its draft, however busy the browser is.
const DRAFT_MS: u32 = 300;

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

/// What is kept on this machine until the server has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Draft {
    base_version: u32,
    name: String,
    template: String,
    /// Drafts of older visits have none: the server's files are kept then.
    #[serde(default)]
    beside: Option<Beside>,
    layout: Layout,
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
    id: StoredValue<String>,
    /// Counts changes, so that an answer knows whether it is the newest.
    changes: StoredValue<u64>,
    /// A save is on its way; a second one would conflict with it.
    busy: StoredValue<bool>,
    /// The draft lacks something.
    draft_due: StoredValue<bool>,
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

    /// Another name.
    pub fn rename(self, workspace: Workspace, name: &str) {
        let name = name.trim();
        if !name.is_empty() && self.name.with_untracked(|now| now != name) {
            self.name.set(name.to_owned());
            self.changed(workspace);
        }
    }

    /// The design has changed: keep a draft, and save it soon.
    pub fn changed(self, workspace: Workspace) {
        let Some(number) = self.changes.try_update_value(|changes| {
            *changes += 1;
            *changes
        }) else {
            return;
        };
        self.keep_soon(workspace);
        let undecided = self
            .state
            .with_untracked(|state| matches!(state, SaveState::Conflict(_)));
        if undecided {
            return;
        }
        if self
            .state
            .with_untracked(|state| *state != SaveState::Waiting)
        {
            self.state.set(SaveState::Waiting);
        }
        browser::after_ms(PAUSE_MS, move || {
            if self.changes.try_get_value() == Some(number)
                && self.state.try_get_untracked() == Some(SaveState::Waiting)
            {
                leptos::task::spawn_local(async move {
                    self.save(workspace).await;
                });
            }
        });
    }

    /// Saves now whatever is not saved yet; true when the server has everything.
    pub async fn flush(self, workspace: Workspace) -> bool {
        match self.state.try_get_untracked() {
            None | Some(SaveState::Saved) => true,
            Some(SaveState::Conflict(_)) => false,
            Some(_) => self.save(workspace).await,
        }
    }

    /// What is not saved when the page goes is sent on its way; the draft stays until the server has it.
    pub fn leave(self, workspace: Workspace) {
        self.keep_now(workspace);
        let undecided = self
            .state
            .try_with_untracked(|state| matches!(state, SaveState::Saved | SaveState::Conflict(_)));
        if undecided != Some(false) || self.busy.try_get_value() != Some(false) {
            return;
        }
        let (Some(request), Some(id)) = (self.request(workspace), self.id.try_get_value()) else {
            return;
        };
        leptos::task::spawn_local(async move {
            if client::design_save(&id, &request).await.is_ok() {
                browser::forget(&draft_key(&id));
            }
        });
    }

    async fn save(self, workspace: Workspace) -> bool {
        while self.busy.try_get_value() == Some(true) {
            pause().await;
        }
        if self
            .state
            .try_with_untracked(|state| *state == SaveState::Saved)
            != Some(false)
        {
            return true;
        }
        self.busy.try_set_value(true);
        let done = self.send(workspace).await;
        self.busy.try_set_value(false);
        done
    }

    async fn send(self, workspace: Workspace) -> bool {
        let Some(request) = self.request(workspace) else {
            return false;
        };
        let (Some(number), Some(id)) = (self.changes.try_get_value(), self.id.try_get_value())
        else {
            return false;
        };
        self.state.try_set(SaveState::Saving);
        let answer = client::design_save(&id, &request).await;
        let Some(newest) = self.changes.try_get_value() else {
            // The page is gone; what was saved need not be kept.
            if answer.is_ok() {
                browser::forget(&draft_key(&id));
            }
            return answer.is_ok();
        };
        match answer {
            Ok(design) => {
                self.version.try_set(design.version);
                if newest == number {
                    self.forget_draft(&id);
                    self.state.try_set(SaveState::Saved);
                } else {
                    self.changed(workspace);
                }
                newest == number
            }
            Err(problem) if problem.code == client::OFFLINE || problem.status >= 500 => {
                self.state.try_set(SaveState::Offline);
                browser::after_ms(RETRY_MS, move || {
                    if self.state.try_get_untracked() == Some(SaveState::Offline) {
                        leptos::task::spawn_local(async move {
                            self.save(workspace).await;
                        });
                    }
                });
                false
            }
            Err(problem) if problem.status == 409 => {
                match client::design(&id).await {
                    // An answer that was lost on its way: the server has it.
                    Ok(theirs)
                        if theirs.template == request.template
                            && theirs.beside.bundle() == request.beside.bundle()
                            && theirs.layout == request.layout =>
                    {
                        self.version.try_set(theirs.version);
                        self.forget_draft(&id);
                        self.state.try_set(SaveState::Saved)
                    }
                    Ok(theirs) => self.state.try_set(SaveState::Conflict(Box::new(theirs))),
                    Err(problem) => self.state.try_set(SaveState::Refused(Box::new(problem))),
                };
                false
            }
            Err(problem) => {
                self.state.try_set(SaveState::Refused(Box::new(problem)));
                false
            }
        }
    }

    fn request(self, workspace: Workspace) -> Option<DesignRequest> {
        let (template, layout) = workspace.editor.try_with_untracked(|editor| {
            (
                editor.document().text().to_owned(),
                layout_of(editor.places()),
            )
        })?;
        Some(DesignRequest {
            name: self.name.try_get_untracked()?,
            template,
            beside: Beside::of(&workspace.bundle.try_get_untracked()?),
            layout,
            base_version: Some(self.version.try_get_untracked()?),
        })
    }

    /// Writes the draft soon, with all that has changed by then.
    fn keep_soon(self, workspace: Workspace) {
        if self.draft_due.try_get_value() == Some(false) {
            self.draft_due.try_set_value(true);
            browser::when_idle(DRAFT_MS, move || self.keep_now(workspace));
        }
    }

    /// Writes what the draft lacks.
    pub fn keep_now(self, workspace: Workspace) {
        if self.draft_due.try_get_value() == Some(true) {
            self.draft_due.try_set_value(false);
            self.keep_draft(workspace);
        }
    }

    /// The server has all of it.
    fn forget_draft(self, id: &str) {
        self.draft_due.try_set_value(false);
        browser::forget(&draft_key(id));
    }

    fn keep_draft(self, workspace: Workspace) {
        let Some(request) = self.request(workspace) else {
            return;
        };
        let draft = Draft {
            base_version: request.base_version.unwrap_or_default(),
            name: request.name,
            template: request.template,
            beside: Some(request.beside),
            layout: request.layout,
        };
        let Some(id) = self.id.try_get_value() else {
            return;
        };
        let kept = serde_json::to_string(&draft)
            .is_ok_and(|text| browser::remember(&draft_key(&id), &text));
        if self.draft_kept.try_get_untracked() != Some(kept) {
            self.draft_kept.try_set(kept);
        }
    }

    /// What an earlier visit left on this machine, if the server never got it.
    pub fn restore_draft(self, workspace: Workspace) {
        let Some(text) = browser::remembered(&draft_key(&self.id())) else {
            return;
        };
        let Ok(draft) = serde_json::from_str::<Draft>(&text) else {
            return;
        };
        let bundle = draft.beside.as_ref().map(Beside::bundle);
        let same_files = bundle
            .as_ref()
            .is_none_or(|bundle| workspace.bundle.with_untracked(|now| now == bundle));
        let same = same_files
            && workspace
                .editor
                .with_untracked(|editor| editor.document().text() == draft.template);
        if same && self.name.with_untracked(|name| *name == draft.name) {
            browser::forget(&draft_key(&self.id()));
            return;
        }
        // Saved by someone else since: the server answers 409 to this version, and the person chooses.
        self.version.set(draft.base_version);
        self.name.set(draft.name.clone());
        if let Some(bundle) = bundle {
            workspace.bundle.set(bundle);
        }
        workspace.replace(&draft.template, &draft.layout, "Restore unsaved work");
    }

    /// Ends a conflict with what is on this page.
    pub fn keep_mine(self, workspace: Workspace) {
        if let Some(SaveState::Conflict(theirs)) = self.state.try_get_untracked() {
            self.version.set(theirs.version);
            self.state.set(SaveState::Waiting);
            self.changed(workspace);
        }
    }

    /// Ends a conflict with what the server has; undo brings mine back.
    pub fn take_theirs(self, workspace: Workspace) {
        if let Some(SaveState::Conflict(theirs)) = self.state.try_get_untracked() {
            self.version.set(theirs.version);
            self.name.set(theirs.name.clone());
            self.state.set(SaveState::Waiting);
            workspace.bundle.set(theirs.beside.bundle());
            workspace.replace(&theirs.template, &theirs.layout, "Take the other version");
        }
    }
}

/// A moment, for looking again.
async fn pause() {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        browser::after_ms(40, move || {
            // A promise that is settled already is as good.
            let _ = resolve.call0(&wasm_bindgen::JsValue::NULL);
        });
    });
    // A timer does not fail.
    let _ = wasm_bindgen_futures::JsFuture::from(promise).await;
}

fn draft_key(id: &str) -> String {
    format!("draft.{id}")
}
