//! The text of an editor: its source, and how it is read and changed.

use api::Diagnostic;
use hot::document::Edit;
use leptos::prelude::*;
use serde_json::{Value, json};

use crate::designer::store::Workspace;

/// The text in an editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The template.
    Template,
    /// The file of this path beside the template.
    File(String),
    /// A text in the template, such as a script.
    Value {
        /// Path of the text.
        path: Vec<String>,
        /// Label of its changes in the history.
        change: String,
    },
}

impl Source {
    /// Name for screen readers.
    pub fn label(&self) -> &'static str {
        match self {
            Source::Template => "Template",
            Source::File(_) => "Content",
            Source::Value { .. } => "Text",
        }
    }

    /// Id of the element with the editor's keys, which describes it.
    pub fn keys_id(&self) -> &'static str {
        match self {
            Source::Template => "template-keys",
            Source::File(_) => "file-keys",
            Source::Value { .. } => "text-keys",
        }
    }

    /// The name that decides the language. Empty if the first line of the text does.
    pub fn file(&self) -> &str {
        match self {
            Source::Template => "template.yaml",
            Source::File(path) => path,
            Source::Value { .. } => "",
        }
    }

    /// The text. Tracks.
    pub fn text(&self, workspace: Workspace) -> String {
        match self {
            Source::Template => workspace
                .editor
                .with(|editor| editor.document().text().to_owned()),
            Source::File(path) => workspace.file_tracked(path).unwrap_or_default(),
            Source::Value { path, .. } => {
                let keys: Vec<&str> = path.iter().map(String::as_str).collect();
                let value = workspace.editor.with(|editor| editor.shown().value(&keys));
                match value {
                    Some(Value::String(text)) => text,
                    Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                    _ => String::new(),
                }
            }
        }
    }

    /// True if the text is a template, which has completion and help.
    pub fn is_template(&self, text: &str) -> bool {
        match self {
            Source::Template => true,
            Source::File(path) => {
                let is_yaml = [".yaml", ".yml", ".template"]
                    .iter()
                    .any(|end| path.ends_with(end));
                is_yaml && text.contains("heat_template_version")
            }
            Source::Value { .. } => false,
        }
    }

    /// Sets the text as typed.
    pub fn type_text(&self, workspace: Workspace, text: &str) {
        match self {
            Source::Template => workspace.type_text(text),
            Source::File(path) => workspace.type_file(path, text),
            Source::Value { path, change } => {
                let edit = Edit::Set {
                    path: path.clone(),
                    value: json!(text),
                };
                workspace.edit(change, edit, Some(&path.join(".")));
            }
        }
    }

    /// Problems of this text. Tracks.
    pub fn problems(&self, workspace: Workspace) -> Vec<Diagnostic> {
        let is_here = |problem: &&Diagnostic| match self {
            Source::Template => problem.file.is_none(),
            Source::File(path) => problem.file.as_ref() == Some(path),
            // The form shows them, because their lines are those of the template.
            Source::Value { .. } => false,
        };
        workspace
            .problems
            .with(|problems| problems.iter().filter(is_here).cloned().collect())
    }

    /// Undoes the last change. While a file or a value is edited, only changes of this one.
    pub fn undo(&self, workspace: Workspace) {
        let label = |editor: &canvas::editor::Editor| editor.undo_label().map(str::to_owned);
        if self.is_own(workspace.editor.try_with_untracked(label).flatten()) {
            workspace.undo();
        }
    }

    /// Redoes the last undone change. While a file or a value is edited, only changes of this one.
    pub fn redo(&self, workspace: Workspace) {
        let label = |editor: &canvas::editor::Editor| editor.redo_label().map(str::to_owned);
        if self.is_own(workspace.editor.try_with_untracked(label).flatten()) {
            workspace.redo();
        }
    }

    fn is_own(&self, label: Option<String>) -> bool {
        match self {
            Source::Template => true,
            Source::File(path) => label.is_some_and(|label| label == Workspace::file_label(path)),
            Source::Value { change, .. } => label.as_ref() == Some(change),
        }
    }
}
