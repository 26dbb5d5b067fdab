//! Parses the text into values, with the line of each.
//!
//! JSON is a subset of YAML, so one parser reads both. Short tags are YAML's syntax for functions and are converted to
//! the long form: `!Ref web` is `{"Ref": "web"}`, `!GetAtt web.PublicIp` is `{"Fn::GetAtt": ["web", "PublicIp"]}`. The
//! limits are those of other templates, so a malicious text is refused before it uses much memory.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value, json};

use crate::import::Unreadable;

/// Largest text, in bytes. Heat has the same limit.
const BYTES_MAX: usize = 512 << 10;
const DEPTH_MAX: usize = 64;
/// Largest template after expanding aliases, in bytes. The same limit applies to the result.
pub(crate) const BYTES_UNFOLDED_MAX: usize = 4 << 20;
/// Memory of a value without its text, in bytes.
const VALUE_BYTES: usize = 16;
const KEY_BYTES_MAX: usize = 255;
/// Longest path with its own line, in bytes. Deeper values have the line of their nearest parent.
const PATH_BYTES_MAX: usize = 512;

/// Dotted path to line, from 1.
pub(crate) type Lines = HashMap<String, u32>;

enum Frame {
    Map {
        entries: Map<String, Value>,
        key: Option<String>,
        tag: Option<String>,
        anchor: usize,
    },
    List {
        items: Vec<Value>,
        tag: Option<String>,
        anchor: usize,
    },
}

#[derive(Default)]
struct Reader {
    frames: Vec<Frame>,
    path: Vec<String>,
    anchors: HashMap<usize, Value>,
    lines: Lines,
    bytes: usize,
    root: Option<Value>,
}

/// Parses the first document of a text.
pub(crate) fn read(text: &str) -> Result<(Value, Lines), Unreadable> {
    if text.len() > BYTES_MAX {
        let message = format!("The template is longer than {} KiB", BYTES_MAX / 1024);
        return Err(Unreadable {
            message,
            line: None,
        });
    }
    let mut reader = Reader::default();
    for next in Parser::new_from_str(text) {
        let (event, span) = next.map_err(|error| Unreadable {
            message: format!("The text is neither YAML nor JSON: {}", error.info()),
            line: u32::try_from(error.marker().line()).ok(),
        })?;
        let line = u32::try_from(span.start.line()).unwrap_or_default();
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        reader.event(event, line).map_err(|message| Unreadable {
            message,
            line: Some(line),
        })?;
    }
    match reader.root {
        Some(root) => Ok((root, reader.lines)),
        None => Err(Unreadable {
            message: "The text is empty".to_owned(),
            line: None,
        }),
    }
}

impl Reader {
    fn event(&mut self, event: Event<'_>, line: u32) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_key = matches!(self.frames.last(), Some(Frame::Map { key: None, .. }));
                if is_key {
                    if text.len() > KEY_BYTES_MAX {
                        return Err(format!("A key is longer than {KEY_BYTES_MAX} bytes"));
                    }
                    let key = text.into_owned();
                    self.spend(key.len())?;
                    self.path.push(key.clone());
                    let length: usize = self.path.iter().map(|part| part.len() + 1).sum();
                    if length <= PATH_BYTES_MAX {
                        self.lines.insert(self.path.join("."), line);
                    }
                    if let Some(Frame::Map { key: place, .. }) = self.frames.last_mut() {
                        *place = Some(key);
                    }
                    return Ok(());
                }
                let tag = short(tag.as_deref());
                let is_text = tag.as_deref() == Some("str") || style != ScalarStyle::Plain;
                let value = if is_text {
                    Value::String(text.into_owned())
                } else {
                    scalar(&text)
                };
                self.place(tagged(tag, value), anchor)
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor);
                let value = value.ok_or("An alias refers to a value that contains the alias")?;
                // Counted before the copy, because nested aliases grow exponentially.
                let weight = weight(value);
                self.spend(weight)?;
                let value = self.anchors.get(&anchor).cloned().unwrap_or_default();
                self.place(value, 0)
            }
            Event::MappingStart(anchor, tag) => {
                let entries = Map::new();
                let (key, tag) = (None, short(tag.as_deref()));
                self.open(Frame::Map {
                    entries,
                    key,
                    tag,
                    anchor,
                })
            }
            Event::SequenceStart(anchor, tag) => {
                let (items, tag) = (Vec::new(), short(tag.as_deref()));
                self.open(Frame::List { items, tag, anchor })?;
                self.path.push("0".to_owned());
                Ok(())
            }
            Event::MappingEnd | Event::SequenceEnd => match self.frames.pop() {
                Some(Frame::Map {
                    entries,
                    tag,
                    anchor,
                    ..
                }) => self.place(tagged(tag, Value::Object(entries)), anchor),
                Some(Frame::List { items, tag, anchor }) => {
                    self.path.pop();
                    self.place(tagged(tag, Value::Array(items)), anchor)
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > BYTES_UNFOLDED_MAX {
            return Err(format!(
                "With its aliases expanded, the template is larger than {} MiB",
                BYTES_UNFOLDED_MAX >> 20
            ));
        }
        Ok(())
    }

    fn open(&mut self, frame: Frame) -> Result<(), String> {
        let is_key = matches!(self.frames.last(), Some(Frame::Map { key: None, .. }));
        if is_key {
            return Err("A key must be text".to_owned());
        }
        if self.frames.len() >= DEPTH_MAX {
            return Err(format!(
                "Maps and lists are nested more than {DEPTH_MAX} levels deep"
            ));
        }
        self.frames.push(frame);
        Ok(())
    }

    fn place(&mut self, value: Value, anchor: usize) -> Result<(), String> {
        self.spend(VALUE_BYTES + value.as_str().map_or(0, str::len))?;
        if anchor != 0 {
            self.spend(weight(&value))?;
            self.anchors.insert(anchor, value.clone());
        }
        match self.frames.last_mut() {
            Some(Frame::Map { entries, key, .. }) => {
                let key = key.take().unwrap_or_default();
                self.path.pop();
                match (key.as_str(), value) {
                    ("<<", Value::Object(merged)) => {
                        for (key, value) in merged {
                            entries.entry(key).or_insert(value);
                        }
                    }
                    (_, value) => {
                        entries.insert(key, value);
                    }
                }
            }
            Some(Frame::List { items, .. }) => {
                items.push(value);
                self.path.pop();
                self.path.push(items.len().to_string());
            }
            None => self.root = Some(value),
        }
        Ok(())
    }
}

/// Size of a value and everything in it, in bytes.
pub(crate) fn weight(value: &Value) -> usize {
    let below = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| key.len() + weight(value))
            .sum(),
        _ => 0,
    };
    VALUE_BYTES + below
}

/// `Ref: AWS::NoValue`: the value is left out.
pub(crate) fn is_no_value(value: &Value) -> bool {
    value.get("Ref").is_some_and(|name| name == "AWS::NoValue")
}

/// Size of a value itself and its text, in bytes, without nested values.
pub(crate) fn own_weight(value: &Value) -> usize {
    let below = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::len).sum(),
        Value::Object(map) => {
            let of_one =
                |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
            map.iter().map(of_one).sum()
        }
        _ => 0,
    };
    VALUE_BYTES + below
}

/// A tag's name without the exclamation mark.
fn short(tag: Option<&Tag>) -> Option<String> {
    let tag = tag?;
    let is_plain = tag.handle.is_empty() && tag.suffix == "!";
    (!is_plain).then(|| tag.suffix.trim_start_matches('!').to_owned())
}

/// The long form of a short tag.
fn tagged(tag: Option<String>, value: Value) -> Value {
    let Some(tag) = tag else {
        return value;
    };
    match (tag.as_str(), value) {
        ("Ref" | "Condition", value) => json!({tag: value}),
        ("GetAtt", Value::String(path)) => {
            let (name, attribute) = path.split_once('.').unwrap_or((&path, ""));
            json!({"Fn::GetAtt": [name, attribute]})
        }
        (
            "str" | "int" | "float" | "bool" | "null" | "map" | "seq" | "timestamp" | "binary",
            value,
        ) => value,
        (_, value) => json!({format!("Fn::{tag}"): value}),
    }
}

/// A plain scalar by the rules of YAML 1.1, which both services use. Dates stay text, because the template version is a
/// date.
fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "on" | "On" => Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "off" | "Off" => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // An account number keeps its leading zeros.
    if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") {
        return None;
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let whole = text.strip_prefix('+').unwrap_or(text).parse::<i64>();
    whole.ok().map(Value::from).or_else(|| {
        let float = text.parse::<f64>().ok()?;
        Number::from_f64(float).map(Value::Number)
    })
}
