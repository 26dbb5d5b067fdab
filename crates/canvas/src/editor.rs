//! State of the editor: document, files beside it, positions and history.
//!
//! The page has one editor and no other state that could contradict it. A proposal is applied completely or not at all.
//! While the text has a syntax error, the last valid model stays on the canvas, and only the code view can change the
//! text.

use std::sync::Arc;

use hot::{
    bundle::Bundle,
    document::{Document, Edit, EditError},
    template::{Resource, Template},
};
use planner::preview::Preview;
use types::Registry;

use crate::{
    commands::Proposal,
    drawing::{self, Drawing, Unplaced},
    history::{History, Snapshot},
    layout::{self, Place, Places},
    typing,
};

/// A design during editing.
#[derive(Clone, Debug)]
pub struct Editor {
    document: Arc<Document>,
    /// The newest document without a syntax error.
    shown: Arc<Document>,
    places: Arc<Places>,
    bundle: Arc<Bundle>,
    history: History,
    /// The newest preview of a template without errors.
    sound: Option<Arc<Preview>>,
}

impl Editor {
    /// An editor for a stored design.
    pub fn open(text: impl Into<String>, places: Places, bundle: Bundle) -> Self {
        let document = Arc::new(Document::parse(text));
        Self {
            shown: document.clone(),
            document,
            places: Arc::new(places),
            bundle: Arc::new(bundle),
            history: History::default(),
            sound: None,
        }
    }

    /// The current document, with its problems.
    pub fn document(&self) -> &Arc<Document> {
        &self.document
    }

    /// The newest document without a syntax error, which is on the canvas.
    pub fn shown(&self) -> &Arc<Document> {
        &self.shown
    }

    /// The template of the newest document without a syntax error.
    pub fn template(&self) -> &Template {
        self.shown.template()
    }

    /// True if the text has a syntax error, so that an older document is on the canvas.
    pub fn is_broken(&self) -> bool {
        !self.document.is_readable()
    }

    /// Positions of the nodes.
    pub fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// Files and environments beside the template.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Changes that can be undone and redone.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Replaces the changes that can be undone and redone, for a design that was open before.
    pub fn set_history(&mut self, history: History) {
        self.history = history;
    }

    /// Label of the change that undo reverts.
    pub fn undo_label(&self) -> Option<&str> {
        self.history.undo_label()
    }

    /// Label of the change that redo repeats.
    pub fn redo_label(&self) -> Option<&str> {
        self.history.redo_label()
    }

    /// Stores the preview of a template without errors, for later drawings.
    pub fn remember(&mut self, preview: &Arc<Preview>) {
        if preview.ghosts.is_some() {
            self.sound = Some(preview.clone());
        }
    }

    /// The current drawing with every node's position.
    pub fn draw(&self, preview: Option<&Preview>, types: &Registry) -> Drawing {
        self.unplaced(preview, types).arranged()
    }

    /// The current drawing, without positions.
    ///
    /// While the template has errors, ghosts come from the last stored preview, so that a card does not lose its parts with
    /// each letter of an incomplete name.
    pub fn unplaced(&self, preview: Option<&Preview>, types: &Registry) -> Unplaced {
        let sound = preview.map(|preview| match preview.ghosts {
            Some(_) => preview,
            None => self.sound.as_deref().unwrap_or(preview),
        });
        Unplaced::with_ghosts(self.template(), preview, sound, types, &self.places)
    }

    /// Stores the positions of a drawing, without a history entry. After that no node moves by itself.
    pub fn settle(&mut self, drawing: &Drawing) {
        let places = self.places_in(drawing);
        if *self.places != places {
            self.places = Arc::new(places);
        }
    }

    /// Stores the positions of a drawing's nodes that have none, without a history entry.
    pub fn place_missing(&mut self, drawing: &Drawing) {
        let mut places = Places::clone(&self.places);
        for (name, place) in drawing.places() {
            places.entry(name).or_insert(place);
        }
        self.places = Arc::new(places);
    }

    /// Positions in a drawing, with chosen sizes, and with the contents of folded frames.
    fn places_in(&self, drawing: &Drawing) -> Places {
        let mut places = drawing.places();
        for (name, place) in &mut places {
            if let Some(old) = self.places.get(name) {
                (place.width, place.height) = (old.width, old.height);
                place.folded = old.folded;
            }
        }
        for node in drawing.hidden() {
            if let Some(place) = self.places.get(&node.name) {
                places.insert(node.name.clone(), *place);
            }
        }
        places
    }

    /// Folds a frame to a card, or unfolds it. Other nodes move away from an unfolded frame. Returns the label of the
    /// change in the history, or `None` if the drawing has no such frame.
    pub fn fold(&mut self, frame: &str, types: &Registry) -> Option<String> {
        let drawing = self.draw(None, types);
        let node = drawing.node(frame).filter(|node| node.is_network())?;
        let mut places = self.places_in(&drawing);
        let label = if node.is_folded {
            let contents = drawing.hidden_in(frame);
            layout::unfold(&mut places, frame, contents.map(|node| node.name.as_str()));
            format!("Unfold {frame}")
        } else {
            places.get_mut(frame)?.folded = Some(node.rect.corner());
            format!("Fold {frame}")
        };
        self.history.record(label.clone(), self.snapshot(), None);
        self.places = Arc::new(places);
        if node.is_folded {
            self.make_room(frame, types);
        }
        Some(label)
    }

    /// Applies a command's proposal as one history entry. With a `key`, changes of the same key are merged (see
    /// [`History`]).
    ///
    /// # Errors
    /// The first edit that the document refuses. The editor is unchanged.
    pub fn apply(&mut self, proposal: &Proposal, key: Option<&str>) -> Result<(), EditError> {
        if proposal.edits.is_empty() && proposal.places.is_empty() {
            return Ok(());
        }
        let mut document = self.document.clone();
        let mut places = (*self.places).clone();
        for edit in &proposal.edits {
            document = Arc::new(document.edit(edit)?);
            match edit {
                Edit::RenameResource { from, to } => {
                    if let Some(place) = places.remove(from) {
                        places.insert(to.clone(), place);
                    }
                }
                Edit::RemoveResource { name, .. } => {
                    places.remove(name);
                }
                Edit::RemoveResources { names, .. } => {
                    for name in names {
                        places.remove(name);
                    }
                }
                _ => {}
            }
        }
        // Places in a folded frame have another origin.
        let is_folded = |place: &Place| place.folded.is_some();
        if !proposal.edits.is_empty() && self.places.values().any(is_folded) {
            let before = (self.document.template(), &*self.places);
            for name in left_folded_frames(before, (document.template(), &places)) {
                // It gets a free place.
                places.remove(&name);
            }
        }
        for (name, place) in &proposal.places {
            let resource = document.template().resource(name);
            let is_hidden = resource.is_some_and(|resource| {
                folded_frame(document.template(), &places, resource).is_some()
            });
            if is_hidden {
                // It gets a free place when the frame is unfolded.
                places.remove(name);
                continue;
            }
            let old = places.get(name).copied().unwrap_or_default();
            places.insert(
                name.clone(),
                Place {
                    width: place.width.or(old.width),
                    height: place.height.or(old.height),
                    folded: old.folded,
                    ..*place
                },
            );
        }
        self.history
            .record(proposal.label.clone(), self.snapshot(), key);
        self.set(document, Arc::new(places));
        Ok(())
    }

    /// Moves other nodes away from a node that has grown. It is part of the previous change and makes no history entry.
    pub fn make_room(&mut self, for_node: &str, types: &Registry) {
        let drawing = self.draw(None, types);
        let Some(mut fixed) = drawing.node(for_node) else {
            return;
        };
        while let Some(parent) = fixed.parent.as_deref().and_then(|name| drawing.node(name)) {
            fixed = parent;
        }
        let tops: Vec<_> = drawing
            .nodes()
            .iter()
            .filter(|node| node.parent.is_none())
            .map(|node| (node.name.clone(), node.rect))
            .collect();
        let offsets = layout::make_room(&tops, &fixed.name);
        let mut places = self.places_in(&drawing);
        for (name, offset) in offsets {
            for node in drawing.subtree(&name) {
                if let Some(place) = places.get_mut(&node.name) {
                    let corner = node.rect.moved(offset).corner();
                    (place.x, place.y) = (corner.x, corner.y);
                }
            }
        }
        self.places = Arc::new(places);
    }

    /// Sets the text as typed in the code view, with the line ends of the code editor (see [`typing`]).
    pub fn type_text(&mut self, text: &str) {
        let text = typing::retyped(self.document.text(), text);
        if text != self.document.text() {
            self.history
                .record("Edit the text", self.snapshot(), Some("text"));
            self.set(Arc::new(Document::parse(text)), self.places.clone());
        }
    }

    /// Replaces the files beside the template. With a `key`, changes of the same key are merged (see [`History`]).
    pub fn set_bundle(&mut self, bundle: Bundle, label: &str, key: Option<&str>) {
        if bundle != *self.bundle {
            self.history.record(label, self.snapshot(), key);
            self.bundle = Arc::new(bundle);
        }
    }

    /// Starts a new history entry for the next typed text.
    pub fn seal(&mut self) {
        self.history.seal();
    }

    /// Undoes the last change. Returns its label.
    pub fn undo(&mut self) -> Option<String> {
        let (back, label) = self.history.undo(self.snapshot())?;
        self.restore(&back);
        Some(label)
    }

    /// Redoes the last undone change. Returns its label.
    pub fn redo(&mut self) -> Option<String> {
        let (forth, label) = self.history.redo(self.snapshot())?;
        self.restore(&forth);
        Some(label)
    }

    /// Replaces text, files and positions as one change, for a restored version or another user's copy.
    pub fn replace(&mut self, text: &str, places: Places, bundle: Bundle, label: &str) {
        self.history.record(label, self.snapshot(), None);
        self.bundle = Arc::new(bundle);
        self.set(Arc::new(Document::parse(text)), Arc::new(places));
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            text: self.document.text().into(),
            places: self.places.clone(),
            bundle: self.bundle.clone(),
        }
    }

    fn restore(&mut self, snapshot: &Snapshot) {
        self.bundle = snapshot.bundle.clone();
        self.set(
            Arc::new(Document::parse(&*snapshot.text)),
            snapshot.places.clone(),
        );
    }

    fn set(&mut self, document: Arc<Document>, places: Arc<Places>) {
        if document.is_readable() {
            self.shown = document.clone();
        }
        self.document = document;
        self.places = places;
    }
}

/// Place of the folded frame that contains a server. `None` for other resources.
fn folded_frame(template: &Template, places: &Places, server: &Resource) -> Option<Place> {
    if server.resource_type != types::SERVER {
        return None;
    }
    let first = drawing::interfaces(template, server).into_iter().next()?;
    let place = places.get(&first.network?)?;
    place.folded.is_some().then_some(*place)
}

/// Names of the servers that are no longer in the folded frame that contained them.
fn left_folded_frames(before: (&Template, &Places), after: (&Template, &Places)) -> Vec<String> {
    let servers = before.0.resources.iter();
    let left = servers.filter_map(|server| {
        let frame = folded_frame(before.0, before.1, server)?;
        let now = after.0.resource(&server.name)?;
        (folded_frame(after.0, after.1, now) != Some(frame)).then(|| server.name.clone())
    });
    left.collect()
}
