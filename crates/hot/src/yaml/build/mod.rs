//! Builds the tree from the parser's events.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::{
    Entry, Item, Kind, Limits, Node, Severity, Style, Tree, YamlProblem,
    lenient::{self, Padding},
    merge, skip_blank, surrogates,
};

mod close;
mod places;

/// Tree of a text within the size limit.
pub(super) fn build(text: &str, limits: &Limits) -> Tree {
    if let Some(problem) = invalid_character(text) {
        return problem;
    }
    if let Some((joined, bytes)) = surrogates::joined(text) {
        let mut builder = Builder::new(text, *limits, Padding::default());
        builder.bytes = bytes;
        builder.read(&joined);
        return builder.finished();
    }
    let mut padding = Padding::default();
    for _ in 0..lenient::tries(text.len()) {
        let seen = padding.applied(text);
        let mut builder = Builder::new(text, *limits, padding.clone());
        match builder.read(&seen) {
            Some((info, at)) if padding.repair(text, &info, at, builder.flow_start()) => {}
            _ => return builder.finished(),
        }
    }
    let seen = padding.applied(text);
    let mut builder = Builder::new(text, *limits, padding);
    builder.read(&seen);
    builder.finished()
}

/// Error for a character that YAML does not allow.
fn invalid_character(text: &str) -> Option<Tree> {
    let fits = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    let at = text.find(|c| !fits(c))?;
    let code = text[at..].chars().next().map_or(0, u32::from);
    let message = format!("this is not YAML: the character with the code {code:#x} is not allowed");
    let mut tree = Tree::refused("yaml-syntax", message);
    tree.problems[0].at = at;
    Some(tree)
}

/// Map or list whose end was not read yet.
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
    /// Byte offset of each character in the parser's input. Empty if the text is ASCII.
    bytes: Vec<u32>,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Arc<Node>>,
    /// End of the last node that was read.
    cursor: usize,
    root: Option<Node>,
    problems: Vec<YamlProblem>,
    limits: Limits,
    merger: merge::Merger,
    padding: Padding,
    /// Names of all previous anchors.
    named: HashSet<&'t str>,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str, limits: Limits, padding: Padding) -> Self {
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
            limits,
            merger: merge::Merger::default(),
            padding,
            named: HashSet::new(),
        }
    }

    /// Position of the outermost open bracket.
    fn flow_start(&self) -> Option<usize> {
        self.frames.iter().find_map(|frame| match frame {
            Frame::Map { start, style, .. } | Frame::List { start, style, .. } => {
                (*style == Style::Flow).then(|| self.after_properties(*start))
            }
        })
    }

    /// Byte offset of a marker, which counts characters.
    fn byte(&self, index: usize) -> usize {
        let index = self.padding.letter(index);
        let at = if self.bytes.is_empty() {
            index
        } else {
            self.bytes
                .get(index)
                .map_or(self.text.len(), |at| *at as usize)
        };
        at.min(self.text.len())
    }

    /// Processes all events. If it stops early, returns the reason and the position.
    fn read(&mut self, seen: &str) -> Option<(String, usize)> {
        let mut stopped = None;
        for next in Parser::new_from_str(seen) {
            let (event, span) = match next {
                Ok(event) => event,
                Err(error) => {
                    let at = self.byte(error.marker().index());
                    let (code, message) = if error.info().contains("recursion limit") {
                        ("template-too-deep", self.too_deep())
                    } else {
                        ("yaml-syntax", format!("this is not YAML: {}", error.info()))
                    };
                    self.fatal(code, message, at);
                    stopped = Some((error.info().to_owned(), at));
                    break;
                }
            };
            let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
            if !self.event(event, start, end) {
                break;
            }
        }
        stopped
    }

    fn too_deep(&self) -> String {
        format!(
            "maps and lists lie within each other more than {} deep",
            self.limits.depth_max
        )
    }

    fn fatal(&mut self, code: &'static str, message: String, at: usize) {
        self.problems.push(YamlProblem {
            code,
            severity: Severity::Error,
            message,
            at,
            fatal: true,
        });
    }

    /// Processes one event. False stops the parser.
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
                            "this alias is inside the node that it names".to_owned(),
                            start,
                        );
                        return false;
                    }
                };
                self.cursor = end;
                let is_key = matches!(self.frames.last(), Some(Frame::Map { key: None, .. }));
                let node = Node::new(kind, Style::Plain, start..end, weight);
                if let (true, Kind::Scalar(word)) = (is_key, &node.target().kind) {
                    let word = word.clone();
                    self.key(&word, start..end);
                    return true;
                }
                self.attach(node, 0);
            }
            Event::MappingStart(anchor, tag) | Event::SequenceStart(anchor, tag)
                if self.frames.len() >= self.limits.depth_max =>
            {
                let _ = (anchor, tag);
                let message = self.too_deep();
                self.fatal("template-too-deep", message, start);
                return false;
            }
            Event::MappingStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), start);
                if anchor != 0 {
                    self.anchor(start);
                }
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
                // The parser reports a list without indentation after its first dash.
                let start = if self.text.as_bytes().get(start) == Some(&b'[') {
                    start
                } else {
                    self.value_start()
                };
                if anchor != 0 {
                    self.anchor(start);
                }
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
                // Only the start of `}` and `]` is reliable: the parser's end can be after a comment.
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
        // The parser includes blanks before a colon in a quoted key.
        let end = match (node_style, self.text.get(start..end)) {
            (Style::BlockScalar, _) | (_, None) => end,
            (_, Some(written)) => start + written.trim_ascii_end().len(),
        };
        let is_key = matches!(self.frames.last(), Some(Frame::Map { key: None, .. }));
        let empty = value.is_empty() && style == ScalarStyle::Plain && tag.is_none() && anchor == 0;
        let span = if is_key {
            start..if empty { start } else { end }
        } else if empty {
            // The parser reports an empty node at the next token.
            let at = self.empty_start();
            at..at
        } else if node_style == Style::BlockScalar {
            let start = self.value_start();
            start..self.block_scalar_end(start, end)
        } else {
            start..end
        };
        self.cursor = span.end;
        if anchor != 0 {
            self.anchor(start);
        }
        // These have a special meaning in YAML 1.1, which libyaml does not support here.
        let strange = value == "=" || (value == merge::KEY && !is_key);
        if strange && style == ScalarStyle::Plain && tag.is_none() {
            self.problems.push(YamlProblem {
                code: "yaml-tag",
                severity: Severity::Error,
                message: format!(
                    "`{value}` without quotes has no meaning here; write it in quotes"
                ),
                at: start,
                fatal: false,
            });
        }
        let kind = Kind::Scalar(value.to_owned());
        if is_key {
            if anchor != 0 {
                let node = Node::new(kind, node_style, span.clone(), 1);
                self.anchors.insert(anchor, Arc::new(node));
            }
            self.key(value, span);
            return true;
        }
        self.attach(Node::new(kind, node_style, span, 1), anchor);
        true
    }

    fn key(&mut self, value: &str, span: Range<usize>) {
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
                yaql::shown(&tag.to_string())
            );
            self.problems.push(YamlProblem {
                code: "yaml-tag",
                severity: Severity::Error,
                message,
                at,
                fatal: false,
            });
        }
    }

    /// Checks the anchor of the node at `start`: libyaml accepts each name once.
    fn anchor(&mut self, start: usize) {
        let text = self.text;
        let properties = &text[start..self.after_properties(start)];
        let Some((_, name)) = properties.split_once('&') else {
            return;
        };
        let name = name.split(char::is_whitespace).next().unwrap_or_default();
        if !self.named.insert(name) {
            self.problems.push(YamlProblem {
                code: "yaml-syntax",
                severity: Severity::Error,
                message: format!("the anchor `{}` is defined already", yaql::shown(name)),
                at: start,
                fatal: false,
            });
        }
    }

    /// Adds a finished node to its parent.
    fn attach(&mut self, node: Node, anchor: usize) {
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
                // `item_start` contains the end of the previous item.
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
                    // The key is a map or a list. Its value comes next and is dropped with it.
                    let at = node.span.start;
                    let span = node.span.clone();
                    *key = Some((String::new(), span.clone(), span.end));
                    let message = "a key must be a word, not a map or a list".to_owned();
                    self.problems.push(YamlProblem {
                        code: "yaml-key",
                        severity: Severity::Error,
                        message,
                        at,
                        fatal: true,
                    });
                }
            },
        }
    }
}
