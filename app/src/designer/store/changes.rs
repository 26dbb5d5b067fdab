//! Changes of the document: proposals of commands, typed text, undo, and content from elsewhere.

use canvas::{commands::Proposal, editor::Editor, selection::Selection, typing};
use hot::{
    bundle::Bundle,
    document::{Edit, EditError},
};
use leptos::prelude::*;

use super::Workspace;

impl Workspace {
    /// Applies a command's proposal. Problems of the edit are displayed in a toast.
    pub fn apply(self, proposal: &Proposal) -> bool {
        self.apply_typing(proposal, None)
    }

    /// Like [`apply`](Self::apply). With a key, the change is merged with the last change of the same key in the
    /// history.
    pub fn apply_typing(self, proposal: &Proposal, key: Option<&str>) -> bool {
        if proposal.edits.is_empty() && proposal.places.is_empty() {
            self.refresh();
            return false;
        }
        let types = self.types.get_untracked();
        let before = self.drawing.get_untracked();
        let done = self.editor.try_update(|editor| {
            let done = editor.apply(proposal, key);
            let grown = proposal
                .target
                .as_ref()
                .or(proposal.places.first().map(|(name, _)| name));
            if let (Ok(()), Some(grown)) = (&done, grown.filter(|_| !proposal.edits.is_empty())) {
                editor.make_room(grown, &types);
            }
            done
        });
        match done {
            Some(Ok(())) => {
                self.changed();
                if !proposal.select.is_empty() {
                    self.selection
                        .try_set(Selection::of(proposal.select.iter().cloned()));
                }
                if proposal.edits.iter().any(|edit| {
                    matches!(edit, Edit::AddResource { .. } | Edit::AddResources { .. })
                }) {
                    self.reveal_new(&before);
                }
                if key.is_none() {
                    self.announce(&proposal.label);
                }
                true
            }
            Some(Err(error)) => {
                self.refuse(&error);
                self.refresh();
                false
            }
            None => false,
        }
    }

    /// Applies one edit of a form.
    pub fn edit(self, label: impl Into<String>, edit: Edit, key: Option<&str>) -> bool {
        self.apply_typing(
            &Proposal {
                label: label.into(),
                edits: vec![edit],
                ..Proposal::default()
            },
            key,
        )
    }

    /// The reason why the document refuses an edit. `None` if the edit is possible.
    pub fn refusal_of(self, edit: &Edit) -> Option<String> {
        let document = self
            .editor
            .try_with_untracked(|editor| editor.document().clone())?;
        document.edit(edit).err().map(|error| error.to_string())
    }

    /// Sets the text as typed in the code view.
    pub fn type_text(self, text: &str) {
        let broken = self.editor.try_update(|editor| {
            editor.type_text(text);
            editor.is_broken()
        });
        // The canvas displays the last readable text, so there is nothing to draw.
        if broken == Some(true) {
            self.ask_for_plan();
        } else {
            self.refresh();
        }
        self.saving.changed(self);
    }

    /// Starts a new history entry for the next typed text.
    pub fn seal(self) {
        self.editor.try_update_untracked(Editor::seal);
    }

    /// Undoes the last change.
    pub fn undo(self) {
        if let Some(Some(label)) = self.editor.try_update(Editor::undo) {
            self.changed();
            self.announce(&format!("Undone: {label}"));
        }
    }

    /// Redoes the last undone change.
    pub fn redo(self) {
        if let Some(Some(label)) = self.editor.try_update(Editor::redo) {
            self.changed();
            self.announce(&format!("Redone: {label}"));
        }
    }

    /// Replaces text, files and positions as one change.
    pub fn replace(self, text: &str, layout: &api::Layout, bundle: Bundle, label: &str) {
        self.show_stored(text, layout, bundle, label);
        self.saving.changed(self);
    }

    /// Like [`replace`](Self::replace), with content that is on the server.
    pub fn show_stored(self, text: &str, layout: &api::Layout, bundle: Bundle, label: &str) {
        let places = crate::designer::board::places_of(layout);
        self.editor
            .try_update(|editor| editor.replace(text, places, bundle, label));
        self.show_bundle();
        self.refresh();
    }

    /// Replaces the files beside the template.
    pub fn set_bundle(self, bundle: Bundle, label: &str) {
        self.editor
            .try_update(|editor| editor.set_bundle(bundle, label, None));
        self.changed();
        self.announce(label);
    }

    /// Sets a file beside the template as typed, with the line ends of a code editor.
    pub fn type_file(self, path: &str, text: &str) {
        self.editor.try_update(|editor| {
            let was = editor.bundle().text(path).unwrap_or_default();
            let text = typing::retyped(was, text).into_owned();
            let bundle = crate::designer::bundle::with_file(editor.bundle(), path, text);
            let key = format!("file {path}");
            editor.set_bundle(bundle, &Self::file_label(path), Some(&key));
        });
        self.changed();
    }

    /// Label of changes of a file's text.
    pub fn file_label(path: &str) -> String {
        format!("Change {path}")
    }

    /// Text of a file beside the template. Tracks.
    pub fn file_tracked(self, path: &str) -> Option<String> {
        self.bundle.with(|bundle| text_of(bundle, path))
    }

    pub(super) fn changed(self) {
        self.show_bundle();
        self.refresh();
        self.saving.changed(self);
    }

    fn show_bundle(self) {
        let bundle = self
            .editor
            .try_with_untracked(|editor| editor.bundle().clone());
        if let Some(bundle) = bundle
            && self.bundle.try_with_untracked(|now| *now == bundle) == Some(false)
        {
            self.bundle.try_set(bundle);
        }
    }

    fn refuse(self, error: &EditError) {
        self.announce(&error.to_string());
        self.toasts.warn(error.to_string());
    }
}

fn text_of(bundle: &Bundle, path: &str) -> Option<String> {
    let mut files = bundle.files();
    let (_, text) = files.find(|(one, _)| *one == path)?;
    Some(text.to_owned())
}
