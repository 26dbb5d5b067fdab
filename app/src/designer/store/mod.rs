//! State of the Design page: one headless editor, and signals for its views.
//!
//! Only commands change the document ([`Workspace::apply`], [`Workspace::type_text`], undo, redo). Each of them calls
//! [`Workspace::refresh`], which computes the drawing and sets the signals with a different value. Plan and problems
//! follow a moment later, from a worker (`plan`); until then the drawing has the last plan's resources. Forms are
//! derived and never written.

mod arrange;
mod changes;
mod plan;
mod problems;
mod selection;
mod viewport;

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use api::{CloudFacts, DesignViewer, Diagnostic};
use canvas::{
    commands::{CommandInput, Item, Recent},
    compare::{self, Difference},
    drawing::{self, Drawing},
    editor::Editor,
    geometry::ScreenPoint,
    layout::Places,
    selection::Selection,
    viewport::Viewport,
};
use hot::{bundle::Bundle, document::Document};
use leptos::{html, prelude::*};
use planner::{compose, preview::Preview};
use types::Registry;

pub use self::arrange::{ALIGNMENTS, DISTRIBUTIONS};
use self::{
    plan::Planning,
    problems::{add_hidden, of_preview, tallies},
};
use super::{
    arranging::ARRANGED_AT_ONCE,
    icon_images::IconImages,
    overlay::{ContextMenu, NextFocus, Panels, Picker},
    save_state::Saving,
    scene::Scene,
    stage::{Aim, Stage, selections},
};
use crate::browser;
use crate::client::Types;
use crate::operations::resource::Operations;
use crate::ui::{plain_text, use_confirm, use_toasts};

/// Key of the browser's storage for [`Workspace::fades`].
const FADES_KEY: &str = "designer-fades";

/// Content of the drawer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawer {
    /// Closed, to leave the space to the canvas.
    Closed,
    /// The list of problems.
    Problems,
    /// The template's text.
    Code,
    /// The design's versions.
    History,
}

/// Text beside the pointer during a drag.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// Effect of a drop, or the reason for its refusal.
    pub text: String,
    /// True if the drop would be refused.
    pub refused: bool,
}

/// State of the page. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Workspace {
    /// Document, positions and history.
    pub editor: RwSignal<Editor>,
    /// All resource types, including those of the catalogue and of the files beside the template.
    pub types: RwSignal<Arc<Registry>>,
    /// Files and environments beside the template, as in the editor.
    pub bundle: RwSignal<Bundle>,
    /// Resource types without those of the files.
    built_in: StoredValue<Arc<Registry>>,
    /// Facts about the cloud: flavors, images, networks.
    pub cloud: RwSignal<Arc<CloudFacts>>,
    /// The last drawing. Empty while the worker arranges a new text.
    pub drawing: RwSignal<Arc<Drawing>>,
    /// Preview of the last readable document, with the resources that the passes add.
    pub preview: RwSignal<Arc<Preview>>,
    planning: StoredValue<Planning>,
    /// True while the worker arranges the nodes of a new text.
    pub is_arranging: RwSignal<bool>,
    /// True while the worker tidies up.
    is_tidying: StoredValue<bool>,
    /// The drawing as signals.
    pub scene: Scene,
    /// The selection.
    pub selection: RwSignal<Selection>,
    /// The visible part of the canvas.
    pub view: RwSignal<Viewport>,
    /// The canvas element.
    pub root: NodeRef<html::Div>,
    /// Node under the current drag.
    pub aim: RwSignal<Aim>,
    /// Possible end nodes of the current line.
    pub eligible: RwSignal<Option<Arc<HashSet<String>>>>,
    /// Effect of the current drag.
    pub hint: RwSignal<Option<Hint>>,
    /// The older version that the design is compared with.
    pub against: RwSignal<Option<Arc<compare::Version>>>,
    /// Operations on the deployment to update. `None` if the design was not opened for one.
    pub deployed: RwSignal<Option<Operations>>,
    /// The drawing of that version. Its resources that are no longer there are ghosts on the canvas.
    older: Memo<Option<Arc<Drawing>>>,
    /// Differences to that version, in the template and in files.
    pub differences: Memo<Arc<Vec<Difference>>>,
    /// Number of nodes with another position than in that version.
    pub moved: Memo<usize>,
    /// Position of the pointer on the canvas. `None` while it is elsewhere.
    pub pointer: StoredValue<Option<ScreenPoint>>,
    /// Whether the panels beside the canvas are unfolded.
    pub panels: Panels,
    /// Whether nodes glide to new positions, after a command that arranges them.
    pub glides: RwSignal<bool>,
    /// Whether resources that are unrelated to the selection are faded.
    pub fades: RwSignal<bool>,
    /// The context menu that is open on the canvas.
    pub menu: RwSignal<Option<ContextMenu>>,
    /// The list that is open on the canvas.
    pub picker: RwSignal<Option<Picker>>,
    /// Content of the drawer.
    pub drawer: RwSignal<Drawer>,
    /// Path of the property, parameter or output that was opened last. Its section of the inspector unfolds.
    pub asked: RwSignal<Option<String>>,
    /// The control of the inspector that gets the focus next.
    pub next_focus: RwSignal<Option<NextFocus>>,
    /// The latest announcement for screen readers.
    pub spoken: RwSignal<String>,
    /// All problems, in the order of the text.
    pub problems: RwSignal<Arc<Vec<Diagnostic>>>,
    /// Save state, and the design on the server.
    pub saving: Saving,
    /// Other pages on which the design is open.
    pub others: RwSignal<Vec<DesignViewer>>,
    /// Images of the icons of resource types.
    icons: IconImages,
    /// The last image and flavor that were chosen in a form, and the last added items.
    recent: StoredValue<Recent>,
    /// The last fitted viewport. Until the user changes the viewport, it follows the canvas's size.
    fitted: StoredValue<Option<Viewport>>,
    confirm: crate::ui::confirm::Confirm,
    toasts: crate::ui::toast::ToastList,
}

impl Workspace {
    /// State for a fetched design, the places of its nodes, its resource types and its preview.
    pub fn open(design: &api::Design, places: Places, types: Types, preview: Arc<Preview>) -> Self {
        let editor = Editor::open(design.template.clone(), places, design.beside.bundle());
        let bundle = RwSignal::new(editor.bundle().clone());
        let editor = RwSignal::new(editor);
        let built_in = StoredValue::new(types.0.clone());
        let types = RwSignal::new(types.0);
        let cloud = RwSignal::new(Arc::new(CloudFacts::default()));
        let document = Memo::new_with_compare(
            move |_| editor.with(|editor| editor.document().clone()),
            |old: Option<&Arc<Document>>, new| match (old, new) {
                (Some(old), Some(new)) => !Arc::ptr_eq(old, new),
                _ => true,
            },
        );
        let against = RwSignal::new(None::<Arc<compare::Version>>);
        let older = Memo::new(move |_| {
            let old = against.get()?;
            let template = old.document.template();
            let drawing =
                types.with(|types| drawing::draw_unfolded(template, None, types, &old.places));
            Some(Arc::new(drawing))
        });
        let differences = Memo::new(move |_| {
            let Some(old) = against.get() else {
                return Arc::default();
            };
            let mut found = compare::compare(&old.document, &document.get());
            found.extend(bundle.with(|bundle| compare::compare_files(&old.bundle, bundle)));
            Arc::new(found)
        });
        let moved = Memo::new(move |_| {
            let old = against.get();
            let moved = |old: Arc<compare::Version>| {
                editor.with(|editor| compare::moved(&old.places, editor.places()))
            };
            old.map(moved).unwrap_or_default()
        });
        let workspace = Self {
            editor,
            types,
            bundle,
            built_in,
            cloud,
            drawing: RwSignal::new(Arc::default()),
            problems: RwSignal::new(Arc::new(of_preview(&preview))),
            preview: RwSignal::new(preview),
            planning: StoredValue::default(),
            is_arranging: RwSignal::new(false),
            is_tidying: StoredValue::new(false),
            scene: Scene::new(),
            selection: RwSignal::default(),
            view: RwSignal::default(),
            root: NodeRef::new(),
            aim: RwSignal::default(),
            eligible: RwSignal::new(None),
            hint: RwSignal::new(None),
            against,
            older,
            deployed: RwSignal::new(None),
            differences,
            moved,
            pointer: StoredValue::new(None),
            panels: Panels::remembered(),
            glides: RwSignal::new(false),
            fades: RwSignal::new(crate::browser::remembered(FADES_KEY).as_deref() == Some("true")),
            menu: RwSignal::new(None),
            picker: RwSignal::new(None),
            drawer: RwSignal::new(Drawer::Closed),
            asked: RwSignal::new(None),
            next_focus: RwSignal::new(None),
            spoken: RwSignal::default(),
            saving: Saving::new(design),
            others: RwSignal::default(),
            icons: IconImages::new(),
            recent: StoredValue::new(recent()),
            fitted: StoredValue::new(None),
            confirm: use_confirm(),
            toasts: use_toasts(),
        };
        workspace.draw();
        Effect::new(move |was_compared: Option<bool>| {
            let is_compared = workspace.older.with(Option::is_some);
            if is_compared || was_compared == Some(true) {
                workspace.draw();
            }
            is_compared
        });
        workspace
    }

    /// State for the elements on the canvas.
    pub fn stage(self) -> Stage {
        let problems = Memo::new(move |_| {
            let mut found = self.problems.with(|problems| tallies(problems));
            self.drawing
                .with(|drawing| add_hidden(&mut found, |name| drawing.folded_frame(name)));
            Arc::new(found)
        });
        // Differences to an older version come before the states of the deployment.
        let states = Memo::new(move |_| {
            let deployed = self.deployed.get();
            let mut states = deployed.map(Operations::states).unwrap_or_default();
            self.differences.with(|all| {
                states.extend(all.iter().filter_map(|one| {
                    let state = match one.kind {
                        compare::Kind::Added => "plan-create",
                        compare::Kind::Changed => "plan-update",
                        compare::Kind::Removed => "plan-delete",
                    };
                    Some((one.resource()?.to_owned(), state.to_owned()))
                }));
                // A folded frame shows that something in it differs.
                self.drawing.with(|drawing| {
                    let resources = all.iter().filter_map(Difference::resource);
                    for frame in resources.filter_map(|name| drawing.folded_frame(name)) {
                        let state = states.entry(frame.to_owned());
                        state.or_insert_with(|| "plan-update".to_owned());
                    }
                });
            });
            states
        });
        Stage {
            selection: self.selection.into(),
            states: states.into(),
            problems: problems.into(),
            related: self.related().into(),
            aim: self.aim.into(),
            eligible: self.eligible.into(),
            others: Memo::new(move |_| self.others.with(|others| selections(others))).into(),
            types: self.types.into(),
            icons: self.icons,
            fold: Some(Callback::new(move |frame: String| {
                self.fold(&frame);
            })),
            editable: true,
        }
    }

    /// Calls `look` with the input of commands, without tracking. `None` if the page is disposed.
    pub fn with_input<R>(self, look: impl FnOnce(&CommandInput<'_>) -> R) -> Option<R> {
        let drawing = self.drawing.try_get_untracked()?;
        let types = self.types.try_get_untracked()?;
        let cloud = self.cloud.try_get_untracked()?;
        let shown = self
            .editor
            .try_with_untracked(|editor| editor.shown().clone())?;
        Some(look(&CommandInput {
            text: shown.text(),
            template: shown.template(),
            drawing: &drawing,
            types: &types,
            cloud: &cloud,
            recent: &self.recent.try_get_value()?,
        }))
    }

    /// Computes the drawing, sets the signals with a different value, and asks for the plan.
    pub fn refresh(self) {
        self.draw();
        self.ask_for_plan();
    }

    fn draw(self) {
        let (Some(built_in), Some(bundle), Some(preview)) = (
            self.built_in.try_get_value(),
            self.bundle.try_get_untracked(),
            self.preview.try_get_untracked(),
        ) else {
            return;
        };
        let Some(shown) = self
            .editor
            .try_with_untracked(|editor| editor.shown().clone())
        else {
            return;
        };
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
        let unplaced = self.editor.try_update_untracked(|editor| {
            editor.remember(&preview);
            let unplaced = editor.unplaced(Some(&preview), &types);
            let missing = unplaced.missing(editor.places());
            (unplaced, missing)
        });
        let Some((unplaced, missing)) = unplaced else {
            return;
        };
        if missing > ARRANGED_AT_ONCE {
            self.place_by_worker(unplaced);
            // A command on nodes of an earlier text would change the new one.
            return self.show_drawing(Drawing::default());
        }
        let mut drawing = unplaced.arranged();
        self.editor
            .try_update_untracked(|editor| editor.settle(&drawing));
        if let Some(older) = self.older.try_get_untracked().flatten() {
            drawing.add_removed(&older);
        }
        self.show_drawing(drawing);
    }

    fn show_drawing(self, drawing: Drawing) {
        self.selection
            .try_update_untracked(|selection| selection.clone())
            .inspect(|before| {
                let mut after = before.clone();
                after.retain(|name| drawing.shows(name));
                if after != *before {
                    self.selection.set(after);
                }
            });
        let drawing = Arc::new(drawing);
        self.scene.show(&drawing);
        self.drawing.try_set(drawing);
    }

    /// Displays a short message.
    pub fn show_toast(self, text: &str) {
        self.toasts.done(text);
    }

    /// Announces a text to screen readers.
    pub fn announce(self, text: &str) {
        self.spoken.try_set(plain_text(text));
    }

    /// Keeps an image or flavor that was chosen in a form, for the next new server and for later visits.
    pub fn remember_choice(self, property: &str, name: &str) {
        self.recent.update_value(|recent| {
            let (key, choice) = match property {
                "image" => (IMAGE_KEY, &mut recent.image),
                "flavor" => (FLAVOR_KEY, &mut recent.flavor),
                _ => return,
            };
            browser::remember(key, name);
            *choice = Some(name.to_owned());
        });
    }

    /// Keeps an item that was added, for the order of searches now and at later visits.
    pub fn remember_item(self, item: &Item) {
        self.recent.update_value(|recent| {
            recent.add_item(item);
            browser::remember(ITEMS_KEY, &recent.items.join("\n"));
        });
    }

    /// Keys of the items that were added last.
    pub fn recent_items(self) -> Vec<String> {
        self.recent.with_value(|recent| recent.items.clone())
    }

    /// Displays the reason why a drop was refused.
    pub fn refuse_drop(self, reason: &str) {
        self.announce(reason);
        self.toasts.warn(reason);
    }
}

/// Keys of the browser's storage for [`Recent`].
const IMAGE_KEY: &str = "designer.image";
const FLAVOR_KEY: &str = "designer.flavor";
const ITEMS_KEY: &str = "designer.items";

/// The last choices of earlier visits.
fn recent() -> Recent {
    Recent {
        image: browser::remembered(IMAGE_KEY),
        flavor: browser::remembered(FLAVOR_KEY),
        items: browser::remembered(ITEMS_KEY)
            .map(|keys| keys.lines().map(str::to_owned).collect())
            .unwrap_or_default(),
    }
}
