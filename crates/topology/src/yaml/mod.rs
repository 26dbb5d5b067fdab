//! YAML text to a tree with positions, within limits.
//!
//! The events come from `saphyr-parser`; the tree is ours, because edits need what a value parser
//! throws away: where each key, value and list dash stands, and in which style. Aliases share the
//! node that they name, so an alias bomb costs no memory; its unfolded size is counted and refused.
//! A syntax error keeps all that was read before it.

pub(crate) mod scalar;
pub(crate) mod write;

use std::{collections::HashMap, ops::Range, sync::Arc};

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::Value;

/// Larger texts are refused before they are read. Heat's own limit is half of it.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// Maps and lists within each other.
pub(crate) const MAX_DEPTH: usize = 64;
/// Nodes, aliases unfolded.
pub(crate) const MAX_NODES: u64 = 400_000;

/// How a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Lines and indentation.
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

/// A value at a place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    pub style: Style,
    /// Bytes of the text, anchor and tag included.
    pub span: Range<usize>,
    /// Nodes below and this one, aliases unfolded.
    weight: u64,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Its text without quotes, and whether a tag forces it to be text.
    Scalar(String),
    List(Vec<Item>),
    Map(Vec<Entry>),
    Alias(Arc<Node>),
}

/// A list's item.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Where its dash stands; in flow lists its value.
    pub start: usize,
    pub value: Node,
}

/// A map's entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Range<usize>,
    /// Just after the colon.
    pub after_colon: usize,
    pub value: Node,
}

/// What is wrong with the text.
#[derive(Clone, Debug)]
pub(crate) struct YamlProblem {
    pub code: &'static str,
    pub message: String,
    pub at: usize,
    /// Positions after it cannot be trusted, so nothing may be edited.
    pub fatal: bool,
}

/// The first document of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub root: Option<Node>,
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

    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.target().kind {
            Kind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub fn items(&self) -> Option<&[Item]> {
        match &self.target().kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

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

    /// All of it as JSON.
    pub fn to_json(&self) -> Value {
        let node = self.target();
        match &node.kind {
            Kind::List(items) => {
                Value::Array(items.iter().map(|item| item.value.to_json()).collect())
            }
            Kind::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_json()))
                    .collect(),
            ),
            _ => node.scalar().unwrap_or(Value::Null),
        }
    }
}

/// Read the first document of `text`.
pub(crate) fn parse(text: &str) -> Tree {
    if text.len() > MAX_BYTES {
        let message = format!(
            "the template is {} KiB long; at most {} KiB can be read",
            text.len().div_ceil(1024),
            MAX_BYTES / 1024
        );
        return Tree {
            root: None,
            problems: vec![YamlProblem {
                code: "template-too-large",
                message,
                at: 0,
                fatal: true,
            }],
        };
    }
    Builder::new(text).build()
}

/// An open map or list.
enum Frame {
    Map {
        start: usize,
        style: Style,
        anchor: usize,
        entries: Vec<Entry>,
        key: Option<(String, Range<usize>, usize)>,
    },
    List {
        start: usize,
        style: Style,
        anchor: usize,
        items: Vec<Item>,
        item_start: usize,
    },
}

struct Builder<'t> {
    text: &'t str,
    /// Byte offset of each character; empty when the text is ASCII.
    bytes: Vec<u32>,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Arc<Node>>,
    /// End of the last thing that was read.
    cursor: usize,
    root: Option<Node>,
    problems: Vec<YamlProblem>,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        let bytes = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices()
                .map(|(at, _)| at as u32)
                .chain([text.len() as u32])
                .collect()
        };
        Builder {
            text,
            bytes,
            frames: Vec::new(),
            anchors: HashMap::new(),
            cursor: 0,
            root: None,
            problems: Vec::new(),
        }
    }

    /// Markers count characters.
    fn byte(&self, index: usize) -> usize {
        let at = if self.bytes.is_empty() {
            index
        } else {
            self.bytes
                .get(index)
                .map_or(self.text.len(), |at| *at as usize)
        };
        at.min(self.text.len())
    }

    fn build(mut self) -> Tree {
        let text = self.text;
        for next in Parser::new_from_str(text) {
            let (event, span) = match next {
                Ok(event) => event,
                Err(error) => {
                    let at = self.byte(error.marker().index());
                    let (code, message) = if error.info().contains("recursion limit") {
                        (
                            "template-too-deep",
                            format!(
                                "maps and lists lie within each other more than {MAX_DEPTH} deep"
                            ),
                        )
                    } else {
                        ("yaml-syntax", format!("this is not YAML: {}", error.info()))
                    };
                    self.fatal(code, message, at);
                    break;
                }
            };
            let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
            if !self.event(event, start, end) {
                break;
            }
        }
        // A syntax error leaves frames open: what they hold so far is kept.
        while let Some(frame) = self.frames.pop() {
            let end = self.cursor;
            self.close(frame, end);
        }
        let mut tree = Tree {
            root: self.root,
            problems: self.problems,
        };
        if tree
            .root
            .as_ref()
            .is_some_and(|root| root.weight > MAX_NODES)
        {
            let message = format!("unfolding its aliases would give more than {MAX_NODES} values");
            tree = Tree {
                root: None,
                problems: vec![YamlProblem {
                    code: "alias-bomb",
                    message,
                    at: 0,
                    fatal: true,
                }],
            };
        }
        tree
    }

    fn fatal(&mut self, code: &'static str, message: String, at: usize) {
        self.problems.push(YamlProblem {
            code,
            message,
            at,
            fatal: true,
        });
    }

    /// False: stop reading.
    fn event(&mut self, event: Event<'_>, start: usize, end: usize) -> bool {
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                return self.scalar(&value, style, anchor, tag.as_deref(), start, end);
            }
            Event::Alias(anchor) => {
                let (kind, weight) = match self.anchors.get(&anchor) {
                    Some(node) => (Kind::Alias(node.clone()), node.weight),
                    None => {
                        self.fatal(
                            "yaml-syntax",
                            "this alias stands inside of what it names".to_owned(),
                            start,
                        );
                        return false;
                    }
                };
                self.cursor = end;
                self.place(
                    Node {
                        kind,
                        style: Style::Plain,
                        span: start..end,
                        weight,
                    },
                    0,
                );
            }
            Event::MappingStart(anchor, tag) | Event::SequenceStart(anchor, tag)
                if self.frames.len() >= MAX_DEPTH =>
            {
                let _ = (anchor, tag);
                let message =
                    format!("maps and lists lie within each other more than {MAX_DEPTH} deep");
                self.fatal("template-too-deep", message, start);
                return false;
            }
            Event::MappingStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), start);
                let content = self.after_properties(start);
                let style = self.collection_style(content, b'{');
                self.cursor = if style == Style::Flow {
                    content + 1
                } else {
                    content
                };
                self.frames.push(Frame::Map {
                    start,
                    style,
                    anchor,
                    entries: Vec::new(),
                    key: None,
                });
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), start);
                // The parser's place of a list without indentation is after its first dash.
                let start = if self.text.as_bytes().get(start) == Some(&b'[') {
                    start
                } else {
                    self.value_start()
                };
                let content = self.after_properties(start);
                let style = self.collection_style(content, b'[');
                self.cursor = if style == Style::Flow {
                    content + 1
                } else {
                    content
                };
                self.frames.push(Frame::List {
                    start,
                    style,
                    anchor,
                    items: Vec::new(),
                    item_start: content,
                });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                // Of `}` and `]` only the start is sure: the parser's end may lie behind a comment.
                if let Some(frame) = self.frames.pop() {
                    self.close(frame, (start + 1).min(self.text.len()));
                }
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                self.fatal(
                    "several-documents",
                    "a template is one document; this begins a second one".to_owned(),
                    start,
                );
                return false;
            }
            Event::DocumentStart(_) => self.cursor = end,
            _ => {}
        }
        true
    }

    fn scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        start: usize,
        end: usize,
    ) -> bool {
        let mut node_style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::BlockScalar,
        };
        match tag {
            Some(tag)
                if tag.is_yaml_core_schema()
                    && tag.suffix == "str"
                    && node_style == Style::Plain =>
            {
                node_style = Style::Quoted
            }
            other => self.check_tag(other, start),
        }
        let is_key = matches!(self.frames.last(), Some(Frame::Map { key: None, .. }));
        let empty = value.is_empty() && style == ScalarStyle::Plain && tag.is_none() && anchor == 0;
        let span = if is_key {
            start..if empty { start } else { end }
        } else if empty {
            // The parser places it at the next token.
            let at = self.empty_start();
            at..at
        } else if node_style == Style::BlockScalar {
            let start = self.value_start();
            start..self.block_scalar_end(start, end)
        } else {
            start..end
        };
        self.cursor = span.end;
        if is_key {
            self.key(value, node_style, span);
            return true;
        }
        self.place(
            Node {
                kind: Kind::Scalar(value.to_owned()),
                style: node_style,
                span,
                weight: 1,
            },
            anchor,
        );
        true
    }

    fn key(&mut self, value: &str, style: Style, span: Range<usize>) {
        if value == "<<" && style == Style::Plain {
            let message =
                "merge keys (`<<`) are not supported yet; write the entries out".to_owned();
            self.problems.push(YamlProblem {
                code: "merge-key-unsupported",
                message,
                at: span.start,
                fatal: false,
            });
        }
        let colon = skip_blank(self.text, span.end);
        let after_colon = if self.text.as_bytes().get(colon) == Some(&b':') {
            colon + 1
        } else {
            span.end
        };
        self.cursor = after_colon;
        if let Some(Frame::Map { key, .. }) = self.frames.last_mut() {
            *key = Some((value.to_owned(), span, after_colon));
        }
    }

    fn check_tag(&mut self, tag: Option<&Tag>, at: usize) {
        const KNOWN: [&str; 8] = [
            "str",
            "int",
            "float",
            "bool",
            "null",
            "map",
            "seq",
            "timestamp",
        ];
        if let Some(tag) = tag
            && !(tag.is_yaml_core_schema() && KNOWN.contains(&tag.suffix.as_str()))
            && !(tag.handle.is_empty() && tag.suffix == "!")
        {
            let message = format!(
                "the tag `{}` has no meaning in a template",
                crate::text::shown(&tag.to_string())
            );
            self.problems.push(YamlProblem {
                code: "yaml-tag",
                message,
                at,
                fatal: false,
            });
        }
    }

    fn in_flow(&self) -> bool {
        matches!(
            self.frames.last(),
            Some(
                Frame::Map {
                    style: Style::Flow | Style::FlowPair,
                    ..
                } | Frame::List {
                    style: Style::Flow,
                    ..
                }
            )
        )
    }

    fn collection_style(&self, content: usize, open: u8) -> Style {
        if self.text.as_bytes().get(content) == Some(&open) {
            Style::Flow
        } else if self.in_flow() {
            Style::FlowPair
        } else {
            Style::Block
        }
    }

    /// Where the value after the last key or dash begins.
    fn value_start(&self) -> usize {
        let from = match self.frames.last() {
            Some(Frame::List {
                style: Style::Block,
                ..
            }) => self.dash() + 1,
            _ => self.cursor,
        };
        skip_blank(self.text, from)
    }

    fn empty_start(&self) -> usize {
        match self.frames.last() {
            Some(Frame::List {
                style: Style::Block,
                ..
            }) => (self.dash() + 1).min(self.text.len()),
            _ => self.cursor,
        }
    }

    /// The dash of the item that comes next.
    fn dash(&self) -> usize {
        skip_blank(self.text, self.cursor).min(self.text.len())
    }

    /// Past anchors and tags.
    fn after_properties(&self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(at), Some(b'&' | b'!')) {
            while bytes
                .get(at)
                .is_some_and(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'{' | b'['))
            {
                at += 1;
            }
            at = skip_blank(self.text, at);
        }
        at
    }

    /// The parser's end of a block scalar is the next token; ours is the end of its last line.
    fn block_scalar_end(&self, start: usize, end: usize) -> usize {
        let header_end = self.text[start..]
            .find('\n')
            .map_or(self.text.len(), |at| start + at);
        let keep = self.text[start..header_end.max(start)]
            .split('#')
            .next()
            .is_some_and(|header| header.contains('+'));
        let body = self.text.get(start..end.max(start)).unwrap_or("");
        let trimmed = if keep {
            let body = body.trim_end_matches([' ', '\t']);
            body.strip_suffix('\n').unwrap_or(body)
        } else {
            body.trim_end()
        };
        let header = self.text[start..header_end].trim_end().len();
        start + trimmed.len().max(header)
    }

    /// Put a finished node where it belongs.
    fn place(&mut self, node: Node, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, Arc::new(node.clone()));
        }
        let dash = match self.frames.last() {
            Some(Frame::List {
                style: Style::Block,
                item_start,
                items,
                ..
            }) if !items.is_empty() => {
                // `item_start` holds the end of the item before.
                skip_blank(self.text, *item_start)
            }
            Some(Frame::List {
                style: Style::Block,
                item_start,
                ..
            }) => *item_start,
            _ => node.span.start,
        };
        match self.frames.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List {
                items, item_start, ..
            }) => {
                *item_start = node.span.end;
                items.push(Item {
                    start: dash,
                    value: node,
                });
            }
            Some(Frame::Map { entries, key, .. }) => match key.take() {
                Some((key, key_span, after_colon)) => entries.push(Entry {
                    key,
                    key_span,
                    after_colon,
                    value: node,
                }),
                None => {
                    // A map or list as a key; its value comes next and is dropped with it.
                    let at = node.span.start;
                    let span = node.span.clone();
                    *key = Some((String::new(), span.clone(), span.end));
                    let message = "a key must be a word, not a map or a list".to_owned();
                    self.problems.push(YamlProblem {
                        code: "yaml-key",
                        message,
                        at,
                        fatal: true,
                    });
                }
            },
        }
    }

    fn close(&mut self, frame: Frame, event_end: usize) {
        let (node, anchor) = match frame {
            Frame::Map {
                start,
                style,
                anchor,
                entries,
                key,
            } => {
                let mut entries = entries;
                if let Some((key, key_span, after_colon)) = key {
                    // Only after a syntax error: a key whose value was never read.
                    let value = Node {
                        kind: Kind::Scalar(String::new()),
                        style: Style::Plain,
                        span: after_colon..after_colon,
                        weight: 1,
                    };
                    entries.push(Entry {
                        key,
                        key_span,
                        after_colon,
                        value,
                    });
                }
                let last = entries.last().map_or(self.cursor, |entry| {
                    entry.value.span.end.max(entry.after_colon)
                });
                let end = if style == Style::Flow {
                    event_end
                } else {
                    last
                };
                self.refuse_duplicates(&mut entries);
                let weight = entries
                    .iter()
                    .fold(1u64, |sum, entry| sum.saturating_add(entry.value.weight));
                (
                    Node {
                        kind: Kind::Map(entries),
                        style,
                        span: start..end.max(start),
                        weight,
                    },
                    anchor,
                )
            }
            Frame::List {
                start,
                style,
                anchor,
                items,
                ..
            } => {
                let last = items.last().map_or(self.cursor, |item| item.value.span.end);
                let end = if style == Style::Flow {
                    event_end
                } else {
                    last
                };
                let weight = items
                    .iter()
                    .fold(1u64, |sum, item| sum.saturating_add(item.value.weight));
                (
                    Node {
                        kind: Kind::List(items),
                        style,
                        span: start..end.max(start),
                        weight,
                    },
                    anchor,
                )
            }
        };
        self.cursor = node.span.end;
        self.place(node, anchor);
    }

    fn refuse_duplicates(&mut self, entries: &mut Vec<Entry>) {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|a, b| entries[*a].key.cmp(&entries[*b].key).then(a.cmp(b)));
        let mut doubled: Vec<usize> = order
            .windows(2)
            .filter(|pair| entries[pair[0]].key == entries[pair[1]].key)
            .map(|pair| pair[1])
            .collect();
        doubled.sort_unstable();
        for index in doubled.into_iter().rev() {
            let entry = entries.remove(index);
            let message = format!(
                "the key `{}` stands twice in this map; only the first is read",
                crate::text::shown(&entry.key)
            );
            self.problems.push(YamlProblem {
                code: "duplicate-key",
                message,
                at: entry.key_span.start,
                fatal: true,
            });
        }
    }
}

/// Past spaces, line ends and comments.
pub(crate) fn skip_blank(text: &str, mut at: usize) -> usize {
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
