//! The Design page's state: one headless editor, and signals for what is seen of it.
//!
//! The document is changed by commands only ([`Workspace::apply`], [`Workspace::type_text`], undo, redo). Each
//! of them ends in [`Workspace::refresh`], which draws anew and sets what differs. Problems and forms are
//! derived, never written.

mod deeds;
mod problems;
mod sight;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use api::{CloudFacts, Diagnostic};
use canvas::{
    commands::{Desk, Proposal},
    drawing::Drawing,
    editor::Editor,
    selection::Selection,
    typing,
    viewport::Viewport,
};
use hot::{
    bundle::Bundle,
    document::{Document, Edit, EditError},
};
use leptos::{html, prelude::*};
use planner::{
    compose,
    plan::{Deployed, Plan, PlanInput},
};
use types::Registry;

use self::problems::{in_order, of_plan, tallies};
use super::{
    save_state::Saving,
    scene::Scene,
    stage::{Aim, Stage},
};
use crate::client::Types;
use crate::ui::{use_confirm, use_toasts};

/// Ghosts are derived on every edit up to this many resources.
const GHOSTS_MAX: usize = 200;

/// What the drawer at the bottom shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawer {
    /// Nothing; the canvas has the room.
    Closed,
    /// The list of problems.
    Problems,
    /// The template's text.
    Code,
}

/// A word beside the pointer while something is dragged.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// What letting go would do, or why it would do nothing.
    pub text: String,
    /// It would do nothing.
    pub refused: bool,
}

/// The page's state; cheap to copy.
#[derive(Clone, Copy)]
pub struct Workspace {
    /// Document, places, history.
    pub editor: RwSignal<Editor>,
    /// Types, those of the catalogue and of the files beside the template included.
    pub types: RwSignal<Arc<Registry>>,
    /// Files and environments beside the template, as the editor has them.
    pub bundle: RwSignal<Bundle>,
    /// Types without those of the files.
    built_in: StoredValue<Arc<Registry>>,
    /// What the cloud has.
    pub cloud: RwSignal<Arc<CloudFacts>>,
    /// The drawing as it was painted last.
    pub drawing: RwSignal<Arc<Drawing>>,
    /// What the passes would add.
    pub plan: RwSignal<Option<Arc<Plan>>>,
    /// The drawing as signals.
    pub scene: Scene,
    /// What is selected.
    pub selection: RwSignal<Selection>,
    /// Which part of the canvas is seen.
    pub view: RwSignal<Viewport>,
    /// The canvas element.
    pub root: NodeRef<html::Div>,
    /// What a drag is over.
    pub aim: RwSignal<Aim>,
    /// Where a line that is being drawn may end.
    pub eligible: RwSignal<Option<Arc<HashSet<String>>>>,
    /// What a drag would do.
    pub hint: RwSignal<Option<Hint>>,
    /// What the drawer shows.
    pub drawer: RwSignal<Drawer>,
    /// For screen readers: what just happened.
    pub spoken: RwSignal<String>,
    /// All problems, in the order of the text.
    pub problems: Memo<Arc<Vec<Diagnostic>>>,
    /// The store on the server.
    pub saving: Saving,
    /// The view as it was fitted last; while a person has not changed it, it follows the canvas's size.
    fitted: StoredValue<Option<Viewport>>,
    confirm: crate::ui::confirm::Confirm,
    toasts: crate::ui::toast::ToastList,
}

impl Workspace {
    /// A design that was fetched, and what its resources can be.
    pub fn open(design: &api::Design, types: Types) -> Self {
        let editor = Editor::open(
            design.template.clone(),
            super::board::places_of(&design.layout),
            design.beside.bundle(),
        );
        let bundle = RwSignal::new(editor.bundle().clone());
        let editor = RwSignal::new(editor);
        let built_in = StoredValue::new(types.0.clone());
        let types = RwSignal::new(types.0);
        let cloud = RwSignal::new(Arc::new(CloudFacts::default()));
        let plan = RwSignal::new(None::<Arc<Plan>>);
        let document = Memo::new_with_compare(
            move |_| editor.with(|editor| editor.document().clone()),
            |old: Option<&Arc<Document>>, new| match (old, new) {
                (Some(old), Some(new)) => !Arc::ptr_eq(old, new),
                _ => true,
            },
        );
        let problems = Memo::new(move |_| {
            let document = document.get();
            // A plan looks at the document just so; only what has none is looked at here.
            let planned = plan.with(|plan| {
                let plan = plan.as_ref().filter(|_| document.is_readable());
                plan.map(|plan| of_plan(plan))
            });
            Arc::new(planned.unwrap_or_else(|| {
                let (types, none) = (built_in.get_value(), BTreeMap::new());
                let found = bundle.with(|bundle| {
                    cloud.with(|cloud| compose::validate(&document, bundle, &types, cloud, &none))
                });
                in_order(found)
            }))
        });
        let workspace = Self {
            editor,
            types,
            bundle,
            built_in,
            cloud,
            drawing: RwSignal::new(Arc::default()),
            plan,
            scene: Scene::new(),
            selection: RwSignal::default(),
            view: RwSignal::default(),
            root: NodeRef::new(),
            aim: RwSignal::default(),
            eligible: RwSignal::new(None),
            hint: RwSignal::new(None),
            drawer: RwSignal::new(Drawer::Closed),
            spoken: RwSignal::default(),
            problems,
            saving: Saving::new(design),
            fitted: StoredValue::new(None),
            confirm: use_confirm(),
            toasts: use_toasts(),
        };
        workspace.refresh();
        workspace
    }

    /// The surroundings of the elements on the canvas.
    pub fn stage(self) -> Stage {
        let problems =
            Memo::new(move |_| Arc::new(self.problems.with(|problems| tallies(problems))));
        Stage {
            selection: self.selection.into(),
            states: Signal::stored(HashMap::new()),
            problems: problems.into(),
            aim: self.aim.into(),
            eligible: self.eligible.into(),
            types: self.types.into(),
            editable: true,
        }
    }

    /// Calls with all that a command reads; untracked. `None` once the page is gone.
    pub fn with_desk<R>(self, look: impl FnOnce(&Desk<'_>) -> R) -> Option<R> {
        let drawing = self.drawing.try_get_untracked()?;
        let types = self.types.try_get_untracked()?;
        let cloud = self.cloud.try_get_untracked()?;
        let shown = self
            .editor
            .try_with_untracked(|editor| editor.shown().clone())?;
        Some(look(&Desk {
            text: shown.text(),
            template: shown.template(),
            drawing: &drawing,
            types: &types,
            cloud: &cloud,
        }))
    }

    /// Draws anew and shows what differs.
    pub fn refresh(self) {
        let (Some(built_in), Some(cloud), Some(bundle)) = (
            self.built_in.try_get_value(),
            self.cloud.try_get_untracked(),
            self.bundle.try_get_untracked(),
        ) else {
            return;
        };
        let Some(shown) = self
            .editor
            .try_with_untracked(|editor| editor.shown().clone())
        else {
            return;
        };
        let plan = (shown.template().resources.len() <= GHOSTS_MAX).then(|| {
            Arc::new(planner::plan::plan(&PlanInput {
                document: &shown,
                bundle: &bundle,
                parameters: &BTreeMap::new(),
                deployed: &Deployed::default(),
                types: &built_in,
                cloud: &cloud,
            }))
        });
        let types = match compose::described(&built_in, &bundle, &shown) {
            Cow::Borrowed(_) => built_in.clone(),
            Cow::Owned(types) => Arc::new(types),
        };
        let plain = Arc::ptr_eq(&types, &built_in);
        let was_plain = self
            .types
            .try_with_untracked(|now| Arc::ptr_eq(now, &built_in))
            .unwrap_or(true);
        if !(plain && was_plain) {
            self.types.try_set(types.clone());
        }
        let drawing = self.editor.try_update_untracked(|editor| {
            if let Some(plan) = &plan {
                editor.remember(plan);
            }
            let drawing = editor.draw(plan.as_deref(), &types);
            editor.settle(&drawing);
            drawing
        });
        let Some(drawing) = drawing else { return };
        self.plan.try_set(plan);
        self.scene.show(&drawing);
        self.selection
            .try_update_untracked(|selection| selection.clone())
            .inspect(|before| {
                let mut after = before.clone();
                after.retain(|name| drawing.owner(name).is_some());
                if after != *before {
                    self.selection.set(after);
                }
            });
        self.drawing.try_set(Arc::new(drawing));
    }

    /// Does what a command proposes. Problems of the edit itself are told in a toast.
    pub fn apply(self, proposal: &Proposal) -> bool {
        self.apply_typing(proposal, None)
    }

    /// As [`apply`](Self::apply); with a key, joins the last change of the same key in the history.
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
                    self.say(&proposal.label);
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

    /// One edit of a form.
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

    /// The code view's text, as typed.
    pub fn type_text(self, text: &str) {
        let broken = self.editor.try_update(|editor| {
            editor.type_text(text);
            editor.is_broken()
        });
        // The canvas shows what could be read last, so there is nothing to draw.
        if broken != Some(true) {
            self.refresh();
        }
        self.saving.changed(self);
    }

    /// What is typed next is a change of its own.
    pub fn seal(self) {
        self.editor.try_update_untracked(Editor::seal);
    }

    /// Takes the last change back.
    pub fn undo(self) {
        if let Some(Some(label)) = self.editor.try_update(Editor::undo) {
            self.changed();
            self.say(&format!("Undone: {label}"));
        }
    }

    /// Does it again.
    pub fn redo(self) {
        if let Some(Some(label)) = self.editor.try_update(Editor::redo) {
            self.changed();
            self.say(&format!("Done again: {label}"));
        }
    }

    /// Another text, files and places as one change.
    pub fn replace(self, text: &str, layout: &api::Layout, bundle: Bundle, label: &str) {
        let places = super::board::places_of(layout);
        self.editor
            .try_update(|editor| editor.replace(text, places, bundle, label));
        self.changed();
    }

    /// Other files beside the template.
    pub fn set_bundle(self, bundle: Bundle, label: &str) {
        self.editor
            .try_update(|editor| editor.set_bundle(bundle, label, None));
        self.changed();
        self.say(label);
    }

    /// A file beside the template, as typed: with the line ends of a text area.
    pub fn type_file(self, path: &str, text: &str) {
        self.editor.try_update(|editor| {
            let was = editor.bundle().text(path).unwrap_or_default();
            let text = typing::retyped(was, text).into_owned();
            let bundle = super::bundle::with_file(editor.bundle(), path, text);
            let key = format!("file {path}");
            editor.set_bundle(bundle, &format!("Change {path}"), Some(&key));
        });
        self.changed();
    }

    /// The text of a file beside the template; tracks.
    pub fn file_tracked(self, path: &str) -> Option<String> {
        self.bundle.with(|bundle| text_of(bundle, path))
    }

    fn changed(self) {
        let bundle = self
            .editor
            .try_with_untracked(|editor| editor.bundle().clone());
        if let Some(bundle) = bundle
            && self.bundle.try_with_untracked(|now| *now == bundle) == Some(false)
        {
            self.bundle.try_set(bundle);
        }
        self.refresh();
        self.saving.changed(self);
    }

    /// A short message.
    pub fn tell(self, text: &str) {
        self.toasts.done(text);
    }

    /// Tells a screen reader.
    pub fn say(self, text: &str) {
        self.spoken.try_set(text.to_owned());
    }

    /// Why a drop did nothing.
    pub fn refuse_drop(self, reason: &str) {
        self.say(reason);
        self.toasts.warn(reason);
    }

    fn refuse(self, error: &EditError) {
        self.say(&error.to_string());
        self.toasts.warn(error.to_string());
    }
}

fn text_of(bundle: &Bundle, path: &str) -> Option<String> {
    let mut files = bundle.files();
    let (_, text) = files.find(|(one, _)| *one == path)?;
    Some(text.to_owned())
}
