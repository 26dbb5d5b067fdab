//! Parses YAML text to a tree with positions, within limits.
//!
//! The events come from `saphyr-parser`. The tree is ours, because edits need facts that a value parser drops: the position of
//! each key, value and list dash, and its style. Aliases share the node that they name, so an alias bomb costs no memory; its
//! unfolded size is counted and refused. After a syntax error, everything before it is kept.

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
    /// Maximum size in bytes. A larger text is not parsed at all.
    pub bytes_max: usize,
    /// Maximum nesting of maps and lists.
    pub depth_max: usize,
    /// Maximum number of values, with aliases and merge keys unfolded.
    pub nodes_max: u64,
}

impl Default for Limits {
    /// Heat's own 512 KiB. The other limits are far beyond what people write.
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
    /// In lines, by indentation.
    Block,
    /// `{...}` or `[...]`.
    Flow,
    /// A pair in a flow list without braces of its own.
    FlowPair,
    /// A scalar without quotes; an empty one means null.
    Plain,
    /// A quoted scalar.
    Quoted,
    /// `|` or `>`.
    BlockScalar,
}

/// A value with its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Scalar, list, map or alias.
    pub kind: Kind,
    /// The style in the text.
    pub style: Style,
    /// The bytes in the text, including anchor and tag.
    pub span: Range<usize>,
    /// Number of nodes below and this one, with aliases unfolded.
    weight: u64,
    /// For a map with merge keys (`<<`): its own entries and the added ones.
    merged: Option<Arc<[Entry]>>,
}

/// The content of a node.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Its text without quotes, and whether a tag forces it to be text.
    Scalar(String),
    /// A sequence.
    List(Vec<Item>),
    /// A mapping, in the order of the text.
    Map(Vec<Entry>),
    /// `*name`, with the node of its anchor.
    Alias(Arc<Node>),
}

/// A list's item.
#[derive(Clone, Debug)]
pub struct Item {
    /// Position of its dash, or of its value in flow lists.
    pub start: usize,
    /// The value.
    pub value: Node,
}

/// A map's entry.
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

/// A problem of the text.
#[derive(Clone, Debug)]
pub struct YamlProblem {
    /// Code of the diagnostic.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The problem, in one sentence.
    pub message: String,
    /// Byte offset in the text.
    pub at: usize,
    /// True if positions after it are not reliable, so that no edit is possible.
    pub fatal: bool,
}

/// The first document of a text.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The document; `None` for an empty text.
    pub root: Option<Node>,
    /// Problems, in the order of the text.
    pub problems: Vec<YamlProblem>,
}

impl Node {
    /// The node itself, or the one that an alias names.
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

    /// The items of a list.
    pub fn items(&self) -> Option<&[Item]> {
        match &self.target().kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entry of a map by its key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// The value of a scalar, by YAML 1.1's rules as Heat reads them.
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

/// The same, with other limits.
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
    /// A tree of a text that was not parsed.
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

/// The position after spaces, line ends and comments.
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
