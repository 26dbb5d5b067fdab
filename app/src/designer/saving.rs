//! Autosave. Typed text is never lost.
//!
//! Every change is first stored as a draft in the browser. After a short pause it is stored on the server, together
//! with the version that it is based on. A draft is removed only when its content is on the server. While the server is
//! unreachable or cannot save, the save is retried. If another client has saved in the meantime, both changes are merged,
//! and the user decides about entries that both changed (see [`super::merge`]). A page without unsaved changes follows
//! those of others ([`super::others`]).
//!
//! A draft is written when the browser is idle, shortly after the first change that it does not contain, so keystrokes
//! are not delayed. All unsaved changes are written at once when the page is hidden, left or closed
//! ([`Saving::keep_now`]). See [`super::drafts`] for the location and life cycle of drafts.
//!
//! A page may not receive the result of a save: the network fails, or the user leaves. So fingerprints of the sent
//! texts are stored. If the server's text is one of them, no other client has saved, and the newest text is stored over
//! it without a conflict.
//!
//! ```text
//! saved --change--> waiting --pause--> saving --ok--> saved
//!                      ^                  |--temporary--> later --pause--> saving
//!                      ^---- merged ------|--409--> conflict --decision--> waiting
//!                                         +--other--> refused --change--> waiting
//! ```

use api::{Design, DesignRequest, Layout, TemplateFiles};
use leptos::prelude::*;

use super::{
    board::layout_of,
    drafts::{Draft, Place, fingerprint},
    later::code_piece,
    merge::{Choices, merge},
    save_state::{Clash, SaveState, Saving},
    store::Workspace,
};
use crate::{
    browser,
    client::{self, Page, page_missing},
    opening::Missing,
};

/// Pause between the last change and the save, in milliseconds.
const PAUSE_MS: i32 = 600;
/// Pause between two attempts while the server is unreachable, in milliseconds.
const RETRY_MS: i32 = 3_000;
/// Interval of checks whether the save before has ended, in milliseconds.
const CHECK_MS: i32 = 40;
/// Maximum delay between a change and its draft, in milliseconds, even if the browser is busy.
const DRAFT_MS: u32 = 300;

/// One running save, with all values for handling its response. The page can be disposed by then.
struct PendingSave {
    id: String,
    /// Number of the last change in the request.
    number: u64,
    request: DesignRequest,
    /// Time of sending, in milliseconds since 1970.
    sent_ms: f64,
    draft: Place,
}

impl Saving {
    /// Renames the design.
    pub fn rename(self, workspace: Workspace, name: &str) {
        let name = name.trim();
        if !name.is_empty() && self.name.with_untracked(|now| now != name) {
            self.name.set(name.to_owned());
            self.changed(workspace);
        }
    }

    /// Handles a change: writes a draft and starts a save after the pause.
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

    /// Saves all unsaved changes now. Returns true if all changes are on the server.
    pub async fn flush(self, workspace: Workspace) -> bool {
        match self.state.try_get_untracked() {
            None | Some(SaveState::Saved) => true,
            Some(SaveState::Conflict(_)) => false,
            Some(_) => self.save(workspace).await,
        }
    }

    /// Writes unsaved changes to the draft and sends them. The draft stays until they are on the server.
    pub fn leave(self, workspace: Workspace) {
        self.keep_now(workspace);
        let undecided = self
            .state
            .try_with_untracked(|state| matches!(state, SaveState::Saved | SaveState::Conflict(_)));
        if undecided != Some(false) || self.busy.try_get_value() != Some(false) {
            return;
        }
        if let Some(pending) = self.pending(workspace) {
            self.busy.try_set_value(true);
            leptos::task::spawn_local(async move {
                self.send(workspace, pending, Page::Closes).await;
                self.busy.try_set_value(false);
            });
        }
    }

    async fn save(self, workspace: Workspace) -> bool {
        while self.busy.try_get_value() == Some(true) {
            browser::pause(CHECK_MS).await;
        }
        if self
            .state
            .try_with_untracked(|state| *state == SaveState::Saved)
            != Some(false)
        {
            return true;
        }
        let Some(pending) = self.pending(workspace) else {
            return false;
        };
        self.busy.try_set_value(true);
        self.state.try_set(SaveState::Saving);
        let done = self.send(workspace, pending, Page::Stays).await;
        self.busy.try_set_value(false);
        done
    }

    /// The save that would be sent now. `None` if there is nothing to save.
    fn pending(self, workspace: Workspace) -> Option<PendingSave> {
        Some(PendingSave {
            id: self.id.try_get_value()?,
            number: self.changes.try_get_value()?,
            request: self.request(workspace)?,
            sent_ms: browser::now_ms(),
            draft: self.drafts.place()?,
        })
    }

    async fn send(self, workspace: Workspace, pending: PendingSave, page: Page) -> bool {
        let request = &pending.request;
        let this = fingerprint(&request.template, &request.beside, &request.layout);
        self.sent.try_update_value(|sent| sent.add(this));
        let answer = client::design_save(&pending.id, request, page).await;
        if self.changes.try_get_value().is_none() {
            return match answer {
                Ok(design) => finish_after_unmount(pending, design.version).await,
                Err(_) => false,
            };
        }
        match answer {
            Ok(design) => {
                self.remember(&design);
                self.delivered(workspace, &pending, design.version)
            }
            Err(problem) if client::is_temporary(&problem) => {
                self.state.try_set(SaveState::Later(Box::new(problem)));
                browser::after_ms(RETRY_MS, move || {
                    let state = self.state.try_get_untracked();
                    if matches!(state, Some(SaveState::Later(_))) {
                        leptos::task::spawn_local(async move {
                            self.save(workspace).await;
                        });
                    }
                });
                false
            }
            Err(problem) if problem.status == 409 => {
                match client::design(&pending.id).await {
                    Ok(theirs) => {
                        let there = fingerprint(&theirs.template, &theirs.beside, &theirs.layout);
                        let is_mine = self.sent.try_with_value(|sent| sent.has(there));
                        if there == this {
                            // The server has this text already: its response was lost.
                            return self.delivered(workspace, &pending, theirs.version);
                        }
                        if is_mine == Some(true) {
                            self.version.try_set(theirs.version);
                            self.state.try_set(SaveState::Waiting);
                            self.changed(workspace);
                        } else {
                            self.meet(workspace, &pending, theirs).await;
                        }
                    }
                    Err(problem) => {
                        self.state.try_set(SaveState::Refused(Box::new(problem)));
                    }
                }
                false
            }
            Err(problem) => {
                self.state.try_set(SaveState::Refused(Box::new(problem)));
                false
            }
        }
    }

    /// Handles a save that the server has stored as this version. Returns true if there are no newer changes.
    fn delivered(self, workspace: Workspace, pending: &PendingSave, version: u32) -> bool {
        self.version.try_set(version);
        let is_all = self.changes.try_get_value() == Some(pending.number);
        if is_all {
            self.draft_due.try_set_value(false);
            pending.draft.forget();
            self.state.try_set(SaveState::Saved);
        } else {
            // This page contains the newer changes and saves them soon.
            pending
                .draft
                .delivered(&pending.request, pending.sent_ms, version);
            self.changed(workspace);
        }
        is_all
    }

    fn request(self, workspace: Workspace) -> Option<DesignRequest> {
        let (template, beside, layout) = workspace.editor.try_with_untracked(|editor| {
            (
                editor.document().text().to_owned(),
                TemplateFiles::of(editor.bundle()),
                layout_of(editor.places()),
            )
        })?;
        Some(DesignRequest {
            name: self.name.try_get_untracked()?,
            template,
            beside,
            layout,
            base_version: Some(self.version.try_get_untracked()?),
        })
    }

    /// Writes the draft soon, with all changes until then.
    fn keep_soon(self, workspace: Workspace) {
        if self.draft_due.try_get_value() == Some(false) {
            self.draft_due.try_set_value(true);
            browser::when_idle(DRAFT_MS, move || {
                if self.draft_due.try_get_value() == Some(true) {
                    self.keep_now(workspace);
                }
            });
        }
    }

    /// Writes all changes that are not on the server, even if they were written before, because another visit may have
    /// restored that draft.
    pub fn keep_now(self, workspace: Workspace) {
        self.draft_due.try_set_value(false);
        if !self.is_dirty() {
            return;
        }
        let (Some(request), Some(place)) = (self.request(workspace), self.drafts.place()) else {
            return;
        };
        let sent = self.sent.try_get_value().unwrap_or_default();
        let is_stored = place.keep(&Draft::of(request, sent));
        if self.draft_kept.try_get_untracked() != Some(is_stored) {
            self.draft_kept.try_set(is_stored);
        }
    }

    /// Restores the draft of an earlier visit if it is not on the server. The draft must differ from the server's
    /// design in text, name, files or layout. The layout is compared with `stored` both unchanged and as drawn.
    pub fn restore_draft(self, workspace: Workspace, stored: &Layout) {
        let (text, bundle, layout) = workspace.editor.with_untracked(|editor| {
            let layout = layout_of(editor.places());
            (editor.document().clone(), editor.bundle().clone(), layout)
        });
        let name = self.name.get_untracked();
        let bundle_of = |draft: &Draft| match &draft.beside {
            Some(beside) => beside.bundle(),
            None => bundle.clone(),
        };
        let draft = self.drafts.take(|draft| {
            draft.template == text.text()
                && draft.name == name
                && (draft.layout == *stored || draft.layout == layout)
                && bundle_of(draft) == bundle
        });
        let Some(draft) = draft else { return };
        // If another client has saved since, the server responds to this version with 409 and the user chooses.
        self.version.set(draft.base_version);
        self.name.set(draft.name.clone());
        let bundle = bundle_of(&draft);
        self.sent.set_value(draft.sent);
        workspace.replace(
            &draft.template,
            &draft.layout,
            bundle,
            "Restore unsaved work",
        );
    }

    /// Merges this page's changes with a newer version of another client, or asks if both changed the same.
    async fn meet(self, workspace: Workspace, pending: &PendingSave, theirs: Design) {
        let base = match pending.request.base_version {
            // Without the common version the merge removes nothing.
            Some(base) => client::design_version(&pending.id, base).await.ok(),
            None => None,
        };
        let parts = match code_piece().await {
            Ok(parts) => parts,
            Err(Missing) => {
                self.state
                    .try_set(SaveState::Refused(Box::new(page_missing())));
                return;
            }
        };
        let Some(mine) = self.request(workspace) else {
            return;
        };
        let (merged, conflicts) = (parts.merge)(base.as_ref(), &mine, &theirs, &Choices::new());
        if conflicts.is_empty() {
            self.take(workspace, &merged, &theirs);
            let (author, version) = (&theirs.author, theirs.version);
            workspace.show_toast(&format!(
                "Merged with version {version}, saved by {author}."
            ));
        } else {
            self.state.try_set(SaveState::Conflict(Box::new(Clash {
                theirs,
                base,
                conflicts,
            })));
        }
    }

    /// Ends a conflict. Entries without a choice stay as on this page.
    pub fn decide(self, workspace: Workspace, choices: &Choices) {
        if let Some(SaveState::Conflict(clash)) = self.state.try_get_untracked()
            && let Some(mine) = self.request(workspace)
        {
            let (merged, _) = merge(clash.base.as_ref(), &mine, &clash.theirs, choices);
            self.take(workspace, &merged, &clash.theirs);
        }
    }

    /// Replaces this page's content with a merge, which is saved next. Undo restores the content from before.
    fn take(self, workspace: Workspace, merged: &DesignRequest, theirs: &Design) {
        self.version.try_set(theirs.version);
        let is_renamed_here = self.stored.try_with_value(|(stored, _)| {
            self.name.try_with_untracked(|name| name != stored) == Some(true)
        });
        if is_renamed_here == Some(false) {
            self.name.try_set(theirs.name.clone());
        }
        self.remember(theirs);
        self.state.try_set(SaveState::Waiting);
        workspace.replace(
            &merged.template,
            &merged.layout,
            merged.beside.bundle(),
            &format!("Merge with version {}", theirs.version),
        );
    }

    pub(super) fn remember(self, stored: &Design) {
        let (name, author) = (stored.name.clone(), stored.author.clone());
        self.stored.try_set_value((name, author));
    }
}

/// Handles the response to a save after its page was disposed: changes typed in the meantime are sent next.
async fn finish_after_unmount(pending: PendingSave, version: u32) -> bool {
    let PendingSave { id, draft, .. } = &pending;
    let Some(newer) = draft.delivered(&pending.request, pending.sent_ms, version) else {
        return true;
    };
    let sent_ms = browser::now_ms();
    match client::design_save(id, &newer, Page::Stays).await {
        Ok(design) => draft.delivered(&newer, sent_ms, design.version).is_none(),
        Err(_) => false,
    }
}
