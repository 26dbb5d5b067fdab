//! Documents: a template's text with its model, and edits that change only the necessary lines.
//!
//! The text is authoritative. An edit splices the text at positions from the positioned tree, then the text is parsed
//! again. Comments, order and formatting of the rest stay byte for byte.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::{
    diagnostic::{self, Diagnostic},
    template::{Template, read},
    text::{Lines, Position},
    yaml::{self, Kind, Node, Tree},
};

pub use crate::yaml::Limits;
pub use expected::{remove_at, set_at};
pub use pieces::Piece;
pub use three_way::{Conflict, Merged, Side, either, merge};
pub use uses::Section;

mod edit;
mod expected;
mod pieces;
mod references;
mod remove;
mod set;
mod splice;
mod swap;
mod three_way;
mod toward;
mod uses;
pub mod write;

/// Template as text and model. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Document {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    text: String,
    lines: Lines,
    tree: Tree,
    template: Template,
    diagnostics: OnceLock<Vec<Diagnostic>>,
    limits: Limits,
}

/// Documents with equal texts are equal.
impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner) || self.inner.text == other.inner.text
    }
}

/// Edit by the canvas or a form. Values are HOT in JSON form.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Append a resource.
    AddResource {
        /// The name, unique in the template.
        name: String,
        /// The resource's type.
        resource_type: String,
        /// The properties, as a JSON object.
        properties: Value,
    },
    /// Append several resources in one splice of the text.
    AddResources {
        /// The resources as in a template, by names that are unique in it.
        resources: Map<String, Value>,
    },
    /// Remove a resource and the references to it (list items, properties, `depends_on`), except those in `keep`.
    RemoveResource {
        /// The resource's name.
        name: String,
        /// Resources and properties whose reference stays, because the type requires it and a user must correct it.
        keep: Vec<(String, String)>,
    },
    /// Remove several resources at once, each like [`Edit::RemoveResource`].
    RemoveResources {
        /// Their names.
        names: Vec<String>,
        /// Resources and properties whose reference stays.
        keep: Vec<(String, String)>,
    },
    /// Rename a resource and update the references to it.
    RenameResource {
        /// The present name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Rename a parameter, condition or output and update its uses.
    RenameEntry {
        /// The section.
        section: Section,
        /// The present name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Exchange two items of a list.
    SwapItems {
        /// The path of the list.
        path: Vec<String>,
        /// The items' indices.
        items: (usize, usize),
    },
    /// Set the value at a path and create missing maps: `["resources", "web", "properties", "image"]`. A number in the
    /// path is a list index; an index one past the end appends.
    Set {
        /// The path from the top of the template.
        path: Vec<String>,
        /// The value.
        value: Value,
    },
    /// Remove the value at a path, and maps and lists that become empty (except `resources`).
    Remove {
        /// The path from the top of the template.
        path: Vec<String>,
    },
}

/// Reason why an edit was refused. The document is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text has a syntax error, so positions cannot be trusted.
    #[error("the template has a syntax error on line {line}; correct it in the code view first")]
    Syntax {
        /// 1-based line of the error.
        line: u32,
    },
    /// The path or name does not exist.
    #[error("there is no `{0}` in the template")]
    NotFound(String),
    /// The name is taken.
    #[error("`{0}` exists already; choose another name")]
    NameTaken(String),
    /// The form of the text does not allow the edit.
    #[error("this cannot be changed here: {0}; change it in the code view")]
    NotPossible(String),
    /// The text is not a valid name.
    #[error("`{0}` cannot be a name: use letters, digits, `_`, `-` and `.`")]
    BadName(String),
}

impl Document {
    /// Parses a text. Never fails: see [`Document::diagnostics`].
    pub fn parse(text: impl Into<String>) -> Document {
        Document::parse_within(text, &Limits::default())
    }

    /// Parses a text with other limits, which also apply to edits.
    pub fn parse_within(text: impl Into<String>, limits: &Limits) -> Document {
        let text = text.into();
        let tree = yaml::parse_within(&text, limits);
        let lines = Lines::of(&text);
        let template = read::template(&text, &lines, &tree);
        Document {
            inner: Arc::new(Inner {
                text,
                lines,
                tree,
                template,
                diagnostics: OnceLock::new(),
                limits: *limits,
            }),
        }
    }

    /// The text, byte for byte.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The model, without parts that could not be parsed.
    pub fn template(&self) -> &Template {
        &self.inner.template
    }

    /// Problems of syntax and structure, without the semantic ones of `validate::validate`. Computed by the first call.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        let inner = &*self.inner;
        inner.diagnostics.get_or_init(|| {
            let mut found = read::problems(&inner.text, &inner.lines, &inner.tree);
            diagnostic::sort(&mut found);
            found
        })
    }

    /// True if the text was parsed to its end, so that it can be edited.
    pub fn is_readable(&self) -> bool {
        !self.inner.tree.problems.iter().any(|problem| problem.fatal)
    }

    /// Document after an edit.
    ///
    /// # Errors
    /// See [`EditError`]. The document is unchanged.
    pub fn edit(&self, edit: &Edit) -> Result<Document, EditError> {
        self.may_be_edited()?;
        edit::apply(self, edit)
    }

    fn may_be_edited(&self) -> Result<(), EditError> {
        let text = self.text().as_bytes();
        let ends_lines = |at: usize| text[at] == b'\r' && text.get(at + 1) != Some(&b'\n');
        if text.contains(&b'\r') && (0..text.len()).any(ends_lines) {
            return Err(EditError::NotPossible(
                "lines end with a carriage return alone".to_owned(),
            ));
        }
        if let Some(problem) = self
            .inner
            .tree
            .problems
            .iter()
            .find(|problem| problem.fatal)
        {
            return Err(EditError::Syntax {
                line: self.inner.lines.line(problem.at),
            });
        }
        if let Some(double) = self
            .inner
            .tree
            .problems
            .iter()
            .find(|problem| problem.code == "duplicate-key")
        {
            let line = self.inner.lines.line(double.at);
            return Err(EditError::NotPossible(format!(
                "a key occurs twice in a map, the second time on line {line}"
            )));
        }
        Ok(())
    }

    /// Document with another value. Unchanged parts keep their form. The text is parsed only twice, for any number of
    /// changes.
    ///
    /// # Errors
    /// See [`EditError`]. The document is unchanged.
    pub fn with_value(&self, value: &Value) -> Result<Document, EditError> {
        self.may_be_edited()?;
        edit::replace_value(self, value)
    }

    /// True if the text contains an alias (`*name`).
    pub fn has_aliases(&self) -> bool {
        fn has(node: &Node) -> bool {
            match &node.kind {
                Kind::Alias(_) => true,
                Kind::Map(entries) => entries.iter().any(|entry| has(&entry.value)),
                Kind::List(items) => items.iter().any(|item| has(&item.value)),
                _ => false,
            }
        }
        self.root().is_some_and(has)
    }

    /// Paths at which a parameter or condition is used, in the order of the text.
    pub fn uses(&self, section: Section, name: &str) -> Vec<Vec<String>> {
        let uses = self.root().map(|root| uses::uses(root, section, name));
        let uses = uses.unwrap_or_default().into_iter();
        uses.map(|one| one.path).collect()
    }

    /// 1-based lines `(first, last)` of the node at a path.
    pub fn lines(&self, path: &[&str]) -> Option<(u32, u32)> {
        let mut node = self.inner.tree.root.as_ref()?;
        let mut span = node.span.clone();
        for segment in path {
            if let Some(entry) = node.entry(segment) {
                span = entry.key_span.start..entry.value.span.end.max(entry.after_colon);
                node = &entry.value;
            } else {
                let item = node.items()?.get(segment.parse::<usize>().ok()?)?;
                span = item.start..item.value.span.end;
                node = &item.value;
            }
        }
        Some((
            self.inner.lines.line(span.start),
            self.inner.lines.line(span.end),
        ))
    }

    /// Value at a path, in HOT form. `None` if the path does not exist.
    pub fn value(&self, path: &[&str]) -> Option<Value> {
        let mut node = self.inner.tree.root.as_ref()?;
        for segment in path {
            node = match node.entry(segment) {
                Some(entry) => &entry.value,
                None => &node.items()?.get(segment.parse::<usize>().ok()?)?.value,
            };
        }
        Some(node.to_json())
    }

    /// Position of a dotted path, or of its deepest existing part. `None` for an entry of a section that does not
    /// exist, such as a resource that a pass added.
    pub fn position(&self, path: &str) -> Option<Position> {
        let mut node = self.inner.tree.root.as_ref()?;
        let mut rest = path;
        let mut at = None;
        let mut depth = 0;
        while !rest.is_empty() {
            // Names can contain dots: the longest matching key is used.
            let entry = node
                .entries()
                .unwrap_or_default()
                .iter()
                .filter(|entry| strip_segment(rest, &entry.key).is_some())
                .max_by_key(|entry| entry.key.len());
            if let Some(entry) = entry {
                rest = strip_segment(rest, &entry.key)?;
                (at, node) = (Some(entry.key_span.start), &entry.value);
                depth += 1;
                continue;
            }
            let (index, after) = rest.split_once('.').unwrap_or((rest, ""));
            let Some(item) = index
                .parse::<usize>()
                .ok()
                .and_then(|index| node.items()?.get(index))
            else {
                if depth == 1 {
                    return None;
                }
                break;
            };
            (at, node, rest) = (Some(item.value.span.start), &item.value, after);
            depth += 1;
        }
        at.map(|at| self.inner.lines.position(&self.inner.text, at))
    }

    /// Sets a diagnostic's line and column.
    pub fn locate(&self, diagnostic: &mut Diagnostic) {
        if diagnostic.line.is_none()
            && let Some(position) = self.position(&diagnostic.path)
        {
            (diagnostic.line, diagnostic.column) = (Some(position.line), Some(position.column));
        }
    }

    /// Document with another text and the same limits.
    fn with_text(&self, text: String) -> Document {
        Document::parse_within(text, &self.inner.limits)
    }

    fn root(&self) -> Option<&Node> {
        self.inner.tree.root.as_ref()
    }
}

/// Value as YAML in the usual style: block style, quotes only if needed.
pub fn yaml_text(value: &Value) -> String {
    let text = match write::block(value, 0, 2) {
        write::Block::Inline(text) => text,
        write::Block::Lines { header, body } if header.is_empty() => body,
        write::Block::Lines { header, body } => format!("{header}\n{body}"),
    };
    text + "\n"
}

fn strip_segment<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(key)?;
    if rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix('.')
    }
}

#[cfg(test)]
mod tests;
