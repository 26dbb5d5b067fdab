//! Parses YAML text to a tree with positions, within limits.
//!
//! The events come from `saphyr-parser`. The tree is our own, because edits need details that a value parser drops: the
//! position of each key, value and list dash, and its style. Aliases share the target node, so an alias bomb costs no
//! memory; its expanded size is counted and limited. After a syntax error, all previous entries are kept.

pub mod scalar;
pub mod surrogates;

use std::{ops::Range, sync::Arc};

use serde_json::Value;

use crate::diagnostic::Severity;

mod build;
mod lenient;
mod merge;

/// Limits on a text. A larger text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size in bytes. A larger text is not parsed.
    pub bytes_max: usize,
    /// Maximum nesting of maps and lists.
    pub depth_max: usize,
    /// Maximum number of values, with aliases and merge keys expanded.
    pub nodes_max: u64,
}

impl Default for Limits {
    /// Heat's 512 KiB. The other limits are far above the sizes of real templates.
    fn default() -> Limits {
        Limits {
            bytes_max: 512 << 10,
            depth_max: 64,
            nodes_max: 400_000,
        }
    }
}

/// The style of a node in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Block style, by indentation.
    Block,
    /// `{...}` or `[...]`.
    Flow,
    /// Pair in a flow list without braces.
    FlowPair,
    /// Scalar without quotes; an empty one means null.
    Plain,
    /// Quoted scalar.
    Quoted,
    /// `|` or `>`.
    BlockScalar,
}

/// Value with its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Scalar, list, map or alias.
    pub kind: Kind,
    /// The style in the text.
    pub style: Style,
    /// Bytes in the text, including anchor and tag.
    pub span: Range<usize>,
    /// Number of nodes below and this one, with aliases expanded.
    weight: u64,
    /// For a map with merge keys (`<<`): its own and the added entries.
    merged: Option<Arc<[Entry]>>,
}

/// The content of a node.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Text of a scalar, without quotes.
    Scalar(String),
    /// Sequence.
    List(Vec<Item>),
    /// Mapping, in the order of the text.
    Map(Vec<Entry>),
    /// `*name`, with the node of its anchor.
    Alias(Arc<Node>),
}

/// Item of a list.
#[derive(Clone, Debug)]
pub struct Item {
    /// Position of the dash, or of the value in flow lists.
    pub start: usize,
    /// The value.
    pub value: Node,
}

/// Entry of a map.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key as text.
    pub key: String,
    /// Bytes of the key in the text.
    pub key_span: Range<usize>,
    /// Position after the colon.
    pub after_colon: usize,
    /// The value.
    pub value: Node,
}

/// Problem of the text.
#[derive(Clone, Debug)]
pub struct YamlProblem {
    /// Code of the diagnostic.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// Message, one sentence.
    pub message: String,
    /// Byte offset in the text.
    pub at: usize,
    /// True if later positions are not reliable, so that no edit is possible.
    pub fatal: bool,
}

/// First document of a text.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Root node. `None` for an empty text.
    pub root: Option<Node>,
    /// Problems, in the order of the text.
    pub problems: Vec<YamlProblem>,
}

impl Node {
    /// The node itself, or the target of an alias.
    pub fn target(&self) -> &Node {
        match &self.kind {
            Kind::Alias(node) => node.target(),
            _ => self,
        }
    }

    /// Entries of a map, including those from merge keys.
    pub fn entries(&self) -> Option<&[Entry]> {
        let node = self.target();
        match (&node.kind, &node.merged) {
            (Kind::Map(_), Some(merged)) => Some(merged),
            (Kind::Map(entries), None) => Some(entries),
            _ => None,
        }
    }

    fn new(kind: Kind, style: Style, span: Range<usize>, weight: u64) -> Node {
        Node {
            kind,
            style,
            span,
            weight,
            merged: None,
        }
    }

    /// Items of a list.
    pub fn items(&self) -> Option<&[Item]> {
        match &self.target().kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// Entry of a map by its key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// Value of a scalar, by the rules of YAML 1.1 as in Heat.
    pub fn scalar(&self) -> Option<Value> {
        let node = self.target();
        match (&node.kind, node.style) {
            (Kind::Scalar(text), Style::Plain) => Some(scalar::resolve(text)),
            (Kind::Scalar(text), _) => Some(Value::String(text.clone())),
            _ => None,
        }
    }

    /// True if the node is null or empty.
    pub fn is_null(&self) -> bool {
        matches!(self.scalar(), Some(Value::Null))
    }

    /// `a map`, `a list`, `text` ... for messages.
    pub fn describe(&self) -> &'static str {
        match &self.target().kind {
            Kind::Map(_) => "a map",
            Kind::List(_) => "a list",
            _ => match self.scalar() {
                Some(Value::Null) | None => "nothing",
                Some(Value::Bool(_)) => "a boolean",
                Some(Value::Number(_)) => "a number",
                _ => "text",
            },
        }
    }

    /// The node as JSON.
    pub fn to_json(&self) -> Value {
        let node = self.target();
        match &node.kind {
            Kind::List(items) => {
                Value::Array(items.iter().map(|item| item.value.to_json()).collect())
            }
            Kind::Map(_) => Value::Object(
                node.entries()
                    .unwrap_or_default()
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_json()))
                    .collect(),
            ),
            _ => node.scalar().unwrap_or(Value::Null),
        }
    }
}

/// Parses the first document of `text`.
pub fn parse(text: &str) -> Tree {
    parse_within(text, &Limits::default())
}

/// Parses the first document of `text` with other limits.
pub fn parse_within(text: &str, limits: &Limits) -> Tree {
    if text.len() > limits.bytes_max {
        let message = format!(
            "the template is {} KiB long; at most {} KiB can be read",
            text.len().div_ceil(1024),
            limits.bytes_max / 1024
        );
        return Tree::refused("template-too-large", message);
    }
    build::build(text, limits)
}

impl Tree {
    /// Tree of a text that was not parsed.
    fn refused(code: &'static str, message: String) -> Tree {
        Tree {
            root: None,
            problems: vec![YamlProblem {
                code,
                severity: Severity::Error,
                message,
                at: 0,
                fatal: true,
            }],
        }
    }
}

/// Position after spaces, line ends and comments.
pub fn skip_blank(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\n' | b'\r') => at += 1,
            Some(b'#') if at == 0 || bytes[at - 1].is_ascii_whitespace() => {
                while bytes.get(at).is_some_and(|byte| *byte != b'\n') {
                    at += 1;
                }
            }
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests;
