//! A template's text with its model, and edits that touch only the lines they must.
//!
//! The text is the truth. An edit is a splice of the text at positions that the positioned tree
//! gives; then the text is parsed again. Comments, order and formatting of the rest stay byte for byte.

use serde_json::Value;

use crate::{diagnostic::Diagnostic, template::Template};

/// A template as text and model.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    template: Template,
    diagnostics: Vec<Diagnostic>,
}

/// A change that the canvas or a form makes. Values are HOT in JSON form.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Append a resource.
    AddResource {
        /// Unique in the template.
        name: String,
        /// Its type.
        resource_type: String,
        /// A JSON object of properties.
        properties: Value,
    },
    /// Remove a resource; references to it are removed too where they can be (list items, optional
    /// properties, `depends_on`).
    RemoveResource {
        /// Its name.
        name: String,
    },
    /// Rename it; references follow.
    RenameResource {
        /// Its name now.
        from: String,
        /// Its new name.
        to: String,
    },
    /// Set what stands at a path, making the maps on the way; `["resources", "web", "properties", "image"]`.
    /// A number in the path is a list index; an index one past the end appends.
    Set {
        /// From the top of the template.
        path: Vec<String>,
        /// The value.
        value: Value,
    },
    /// Remove what stands at a path, and maps and lists that become empty by it (not `resources` itself).
    Remove {
        /// From the top of the template.
        path: Vec<String>,
    },
}

/// Why an edit was refused; the document is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text has a syntax error, so positions cannot be trusted.
    #[error("the template has a syntax error on line {line}; mend it in the code view first")]
    Syntax {
        /// 1-based.
        line: u32,
    },
    /// There is no such thing.
    #[error("there is no `{0}` in the template")]
    NotFound(String),
    /// The name is taken.
    #[error("`{0}` exists already; choose another name")]
    NameTaken(String),
    /// Not a name.
    #[error("`{0}` cannot be a name: use letters, digits, `_`, `-` and `.`")]
    BadName(String),
}

impl Document {
    /// Never fails: see [`Document::diagnostics`].
    pub fn parse(text: impl Into<String>) -> Document {
        let _ = text.into();
        todo!("topology")
    }

    /// The text, byte for byte.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The model; what could not be understood is missing from it.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Problems of syntax and structure; `validate::validate` adds those of meaning.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The document after an edit.
    ///
    /// # Errors
    /// See [`EditError`]; the edit is then not applied at all.
    pub fn edit(&self, edit: &Edit) -> Result<Document, EditError> {
        let _ = edit;
        todo!("topology")
    }

    /// 1-based lines `(first, last)` of what stands at a path.
    pub fn lines(&self, path: &[&str]) -> Option<(u32, u32)> {
        let _ = path;
        todo!("topology")
    }
}
