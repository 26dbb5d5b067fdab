//! Actions on the selection: select, delete, duplicate, add.

use std::{collections::HashSet, sync::Arc};

use canvas::{
    commands::{self, Connection, LineEnd},
    drawing::Edge,
    editor::Editor,
    selection::Selection,
};
use hot::document::Section;
use leptos::prelude::*;

use super::{FADES_KEY, Workspace};
use crate::{browser, designer::overlay::NextFocus, ui::Question};

/// Time in which the form of another resource is built and its sections unfold, in milliseconds.
const FORM_BUILT_MS: i32 = 50;

impl Workspace {
    /// Selects one resource and nothing else.
    pub fn select(self, name: &str) {
        self.seal();
        self.asked.set(None);
        if self
            .selection
            .with_untracked(|now| *now != Selection::only(name))
        {
            self.selection.set(Selection::only(name));
        }
    }

    /// Selects the resource on a line of the template, if it is drawn.
    pub fn select_at_line(self, line: u32) {
        let name = self.editor.try_with_untracked(|editor| {
            let document = editor.document();
            document.template().resources.iter().find_map(|resource| {
                let (first, last) = document.lines(&["resources", &resource.name])?;
                (first <= line && line <= last).then(|| resource.name.clone())
            })
        });
        if let Some(Some(name)) = name
            && self
                .drawing
                .with_untracked(|drawing| drawing.owner(&name).is_some())
        {
            self.select(&name);
        }
    }

    /// First and last line of the first selected resource.
    pub fn selected_lines(self) -> Memo<Option<(u32, u32)>> {
        Memo::new(move |_| {
            let name = self
                .selection
                .with(|selection| selection.lead().map(str::to_owned))?;
            self.editor
                .with(|editor| editor.document().lines(&["resources", &name]))
        })
    }

    /// Selects a resource, moves it into view, and gives the focus to the field of a property. A folded network that
    /// contains it unfolds. Returns false if it is not drawn.
    pub fn show(self, name: &str, property: Option<&str>) -> bool {
        let is_drawn = self
            .drawing
            .with_untracked(|drawing| drawing.owner(name).is_some());
        if is_drawn {
            self.unhide(name);
            self.select(name);
            self.reveal_selected();
            if let Some(property) = property {
                self.asked
                    .set(Some(format!("resources.{name}.properties.{property}")));
                self.focus_in_inspector(format!("field-{property}"), FORM_BUILT_MS);
            }
        }
        is_drawn
    }

    /// Opens a parameter, condition or output in the inspector.
    pub fn show_entry(self, section: Section, name: &str) {
        self.show_path(format!("{}.{name}", section.key()));
    }

    /// Opens the parameter, condition or output of a problem. Returns false if the path leads to none.
    pub fn show_entry_at(self, path: &str) -> bool {
        let sections = [Section::Parameters, Section::Conditions, Section::Outputs];
        let rest = |section: &Section| path.strip_prefix(section.key())?.strip_prefix('.');
        let is_entry = sections
            .iter()
            .filter_map(rest)
            .any(|rest| !rest.is_empty());
        if is_entry {
            self.show_path(path.to_owned());
        }
        is_entry
    }

    fn show_path(self, path: String) {
        self.select_none();
        self.asked.set(Some(path.clone()));
        self.focus_in_inspector(path, FORM_BUILT_MS);
    }

    /// Unfolds the inspector, and gives the focus to a control in it.
    fn focus_in_inspector(self, id: String, after_ms: i32) {
        self.panels.set_inspector(true);
        self.next_focus.set(Some(NextFocus { id, after_ms }));
    }

    /// Names of the nodes that are related to the selection: children, ancestors, and the nodes at the other ends of
    /// their lines. `None` if nothing is faded.
    pub(super) fn related(self) -> Memo<Option<Arc<HashSet<String>>>> {
        Memo::new(move |_| {
            if !self.fades.get() {
                return None;
            }
            let names: Vec<String> = self
                .selection
                .with(|selection| selection.names().map(str::to_owned).collect());
            let related = self.drawing.with(|drawing| drawing.related(&names));
            (!related.is_empty()).then(|| Arc::new(related))
        })
    }

    /// Fades the nodes that are unrelated to the selection, or shows all of them again. The choice is kept for later visits.
    pub fn toggle_fades(self) {
        self.fades.update(|fades| *fades = !*fades);
        browser::remember(FADES_KEY, &self.fades.get_untracked().to_string());
    }

    /// Selects nothing.
    pub fn select_none(self) {
        self.seal();
        if !self.selection.with_untracked(Selection::is_empty) {
            self.selection.set(Selection::default());
        }
    }

    /// Selects all resources with the type of a selected one.
    pub fn select_same_type(self) {
        let names = self.drawing.with_untracked(|drawing| {
            let types: Vec<&str> = self.selection.with_untracked(|selection| {
                selection
                    .names()
                    .filter_map(|name| drawing.node(name))
                    .map(|node| node.resource_type.as_str())
                    .collect()
            });
            let nodes = drawing.nodes().iter();
            nodes
                .filter(|node| node.ghost.is_none() && types.contains(&node.resource_type.as_str()))
                .map(|node| node.name.clone())
                .collect::<Vec<_>>()
        });
        self.selection.set(Selection::of(names));
    }

    /// Selects all resources.
    pub fn select_all(self) {
        let names = self.drawing.with_untracked(|drawing| {
            let all = drawing
                .nodes()
                .iter()
                .filter(|node| node.ghost.is_none() && !node.resource_type.is_empty());
            all.map(|node| node.name.clone()).collect::<Vec<_>>()
        });
        self.selection.set(Selection::of(names));
    }

    /// Names of the selected resources.
    pub fn selected_names(self) -> Vec<String> {
        self.selection
            .with_untracked(|selection| selection.names().map(str::to_owned).collect())
    }

    /// True if a name is the id of a line.
    pub fn is_line(self, name: &str) -> bool {
        self.drawing
            .try_with_untracked(|drawing| drawing.edge(name).is_some())
            .unwrap_or_default()
    }

    /// The selected line of a reference.
    fn selected_line(self) -> Option<Edge> {
        let lead = self
            .selection
            .with_untracked(|selection| selection.lead().map(str::to_owned))?;
        self.drawing
            .with_untracked(|drawing| drawing.edge(&lead).cloned())
    }

    /// Deletes the selected resources, after a dialog that lists dependents deleted with them. Of a selected line, only
    /// the reference is removed.
    pub fn delete_selected(self) {
        match self.selected_line() {
            Some(edge) => self.disconnect(&edge),
            None => self.delete(&self.selected_names()),
        }
    }

    fn disconnect(self, edge: &Edge) {
        if self.is_broken() {
            return;
        }
        match self.with_input(|input| commands::disconnect(input, edge)) {
            Some(Ok(proposal)) => {
                self.apply(&proposal);
            }
            Some(Err(refusal)) => self.refuse_drop(&refusal.0),
            None => {}
        }
    }

    /// Names of the nodes to which an end of a line can be moved.
    pub fn other_ends(self, edge: &Edge, end: LineEnd) -> Vec<String> {
        self.with_input(|input| commands::other_ends(input, edge, end))
            .unwrap_or_default()
    }

    /// Moves an end of a line to another node. The resource at its start is selected then.
    pub fn reconnect(self, edge: &Edge, end: LineEnd, to: &str) {
        if self.is_broken() {
            return;
        }
        match self.with_input(|input| commands::reconnect(input, edge, end, to)) {
            Some(Ok(proposal)) => {
                self.apply(&proposal);
            }
            Some(Err(refusal)) => self.refuse_drop(&refusal.0),
            None => {}
        }
    }

    /// The reference of a line, in the template.
    pub fn connection(self, edge: &Edge) -> Option<Connection> {
        self.editor.with_untracked(|editor| {
            self.drawing
                .with_untracked(|drawing| commands::connection(editor.template(), drawing, edge))
        })
    }

    /// Opens the field with the reference of the selected line.
    pub fn edit_connection(self) {
        let edge = self.selected_line();
        let Some(connection) = edge.and_then(|edge| self.connection(&edge)) else {
            return;
        };
        let name = &connection.resource;
        if self.show(name, connection.field.as_deref()) && connection.field.is_none() {
            let path = format!("resources.{name}.depends_on");
            self.asked.set(Some(path.clone()));
            self.focus_in_inspector(path, FORM_BUILT_MS);
        }
    }

    /// Deletes resources, after a dialog that lists dependents deleted with them.
    pub fn delete(self, names: &[String]) {
        if self.is_broken() {
            return;
        }
        let Some(Some(deletion)) = self.with_input(|input| commands::delete(input, names)) else {
            return;
        };
        if deletion.dependents.is_empty() && deletion.detached.is_empty() {
            self.apply(&deletion.proposal);
            return;
        }
        let dependents = deletion.dependents.iter().map(|one| {
            format!(
                "{} ({}, deleted with {})",
                one.name,
                one.title.to_lowercase(),
                one.with
            )
        });
        let detached = deletion
            .detached
            .iter()
            .map(|(server, network)| format!("{server} stays, and is no longer on {network}"));
        let question = Question {
            title: format!("{}?", deletion.proposal.label),
            body: vec!["This also changes other resources:".to_owned()],
            items: dependents.chain(detached).collect(),
            action: "Delete".to_owned(),
            danger: true,
        };
        let proposal = deletion.proposal;
        self.confirm.ask(question, move || {
            self.apply(&proposal);
        });
    }

    /// Adds a copy of the selection.
    pub fn duplicate_selected(self) {
        let names = self.selected_names();
        if self.is_broken() {
            return;
        }
        let Some(Some(proposal)) = self.with_input(|input| commands::duplicate(input, &names))
        else {
            return;
        };
        let connect = self.with_input(|input| commands::connect_twins(input, &names));
        if self.apply(&proposal)
            && let Some(Some(connect)) = connect
        {
            let question = format!("{}?", connect.label);
            let run = Callback::new(move |()| {
                self.apply(&connect);
            });
            self.toasts.offer(question, "Connect", run);
        }
    }

    /// Unfolds the form of the selected resource and moves the focus there.
    pub fn edit_selected(self) {
        self.focus_in_inspector("inspector-name".to_owned(), 0);
    }

    /// Adds a palette item to the selection, for the keyboard.
    pub fn add(self, item: &commands::Item) {
        if self.is_broken() {
            return;
        }
        let onto = self
            .selection
            .with_untracked(|selection| selection.lead().map(str::to_owned));
        match self.with_input(|input| commands::add(input, item, onto.as_deref())) {
            Some(Ok(proposal)) => {
                let follows = self.is_fitted();
                if self.apply(&proposal) {
                    self.remember_item(item);
                }
                if follows {
                    self.fit();
                } else {
                    self.reveal_selected();
                }
            }
            Some(Err(refusal)) => {
                self.announce(&refusal.0);
                self.toasts.warn(refusal.0);
            }
            None => {}
        }
    }

    /// True if the text has a syntax error, so that the canvas cannot be edited. Displays a message in this case.
    pub fn is_broken(self) -> bool {
        let broken = self
            .editor
            .try_with_untracked(Editor::is_broken)
            .unwrap_or(true);
        if broken {
            self.toasts
                .warn("The text has a syntax error. Correct it in the code view first.");
        }
        broken
    }
}
