//! What a person does with the selection: choose, delete, duplicate, add to it.

use canvas::{commands, editor::Editor, selection::Selection};
use leptos::prelude::*;

use super::Workspace;
use crate::ui::Question;

impl Workspace {
    /// Selects one resource and nothing else.
    pub fn select(self, name: &str) {
        self.seal();
        if self
            .selection
            .with_untracked(|now| *now != Selection::only(name))
        {
            self.selection.set(Selection::only(name));
        }
    }

    /// Selects nothing.
    pub fn select_none(self) {
        self.seal();
        if !self.selection.with_untracked(Selection::is_empty) {
            self.selection.set(Selection::default());
        }
    }

    /// Removes what is selected. What goes along is shown first.
    pub fn delete_selected(self) {
        let names: Vec<String> = self
            .selection
            .with_untracked(|selection| selection.names().map(str::to_owned).collect());
        self.delete(&names);
    }

    /// Removes resources. What goes along is shown first.
    pub fn delete(self, names: &[String]) {
        if self.is_broken() {
            return;
        }
        let Some(Some(deletion)) = self.with_desk(|desk| commands::delete(desk, names)) else {
            return;
        };
        if deletion.along.is_empty() && deletion.detached.is_empty() {
            self.apply(&deletion.proposal);
            return;
        }
        let along = deletion.along.iter().map(|one| {
            format!(
                "{} ({}, goes with {})",
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
            body: vec!["This changes more than what you selected:".to_owned()],
            items: along.chain(detached).collect(),
            action: "Delete".to_owned(),
            danger: true,
        };
        let proposal = deletion.proposal;
        self.confirm.ask(question, move || {
            self.apply(&proposal);
        });
    }

    /// Adds another one of what is selected.
    pub fn duplicate_selected(self) {
        let names: Vec<String> = self
            .selection
            .with_untracked(|selection| selection.names().map(str::to_owned).collect());
        if self.is_broken() {
            return;
        }
        if let Some(Some(proposal)) = self.with_desk(|desk| commands::duplicate(desk, &names)) {
            self.apply(&proposal);
        }
    }

    /// Adds an item from the keyboard, to what is selected.
    pub fn add(self, item: &commands::Item) {
        if self.is_broken() {
            return;
        }
        let onto = self
            .selection
            .with_untracked(|selection| selection.lead().map(str::to_owned));
        match self.with_desk(|desk| commands::add(desk, item, onto.as_deref())) {
            Some(Ok(proposal)) => {
                let follows = self.is_fitted();
                self.apply(&proposal);
                match follows {
                    true => self.fit(),
                    false => self.reveal_selected(),
                }
            }
            Some(Err(refusal)) => {
                self.say(&refusal.0);
                self.toasts.warn(refusal.0);
            }
            None => {}
        }
    }

    /// The text has a syntax error, so the canvas cannot be edited; says so.
    pub fn is_broken(self) -> bool {
        let broken = self
            .editor
            .try_with_untracked(Editor::is_broken)
            .unwrap_or(true);
        if broken {
            self.toasts
                .warn("The text has a syntax error: correct it in the code view first.");
        }
        broken
    }
}
