//! Values of expressions.
//!
//! Python distinguishes lists from iterators (`select` and similar methods), sets and the keys of maps. The available
//! functions and the truth value depend on that. In the result all of them are lists.

use std::{collections::HashMap, rc::Rc};

use serde_json::Value;

use crate::{ITEMS_MAX, budget, pattern::Regex, python, shown};

#[derive(Clone)]
pub(super) enum YaqlValue {
    Data(Value),
    /// An iterator. Always true, even if it is empty.
    Iter(Vec<Value>),
    /// A sorted iterator: items with their ranks, for `thenBy`.
    Sorted(Vec<(usize, Value)>),
    /// A set, or the keys, values or entries of a map.
    Set(Vec<Value>),
    Regex(Rc<Regex>),
    /// Names from `let`.
    Frame(Rc<Frame>),
}

/// Maximum number of nested frames, which are dropped recursively.
const FRAMES_MAX: usize = 200;

/// Values of `$` and other names.
pub(super) struct Frame {
    parent: Option<Rc<Frame>>,
    names: HashMap<String, YaqlValue>,
    /// Number of nested frames, including this one.
    frames: usize,
}

impl Frame {
    /// Frame with these names.
    ///
    /// # Errors
    /// If too many frames are nested, or the values are too large.
    pub(super) fn new(
        parent: Option<&Rc<Frame>>,
        names: HashMap<String, YaqlValue>,
    ) -> Result<Rc<Frame>, String> {
        let mut behind = parent.map_or(0, |parent| parent.frames);
        for got in names.values() {
            got.charge()?;
            if let YaqlValue::Frame(frame) = got {
                behind = behind.max(frame.frames);
            }
        }
        if behind >= FRAMES_MAX {
            return Err(format!(
                "names of `yaql` are nested at most {FRAMES_MAX} times: a loop cannot pass on the names of `let` or `with`"
            ));
        }
        Ok(Rc::new(Frame {
            parent: parent.cloned(),
            names,
            frames: behind + 1,
        }))
    }

    /// Frame with these arguments as `$1`, `$2` ...
    ///
    /// # Errors
    /// Those of [`Frame::new`].
    pub(super) fn with(parent: &Rc<Frame>, arguments: &[YaqlValue]) -> Result<Rc<Frame>, String> {
        let names = (1..).zip(arguments);
        let names = names.map(|(place, got): (usize, &YaqlValue)| (place.to_string(), got.clone()));
        Frame::new(Some(parent), names.collect())
    }

    pub(super) fn get(&self, name: &str) -> YaqlValue {
        match (self.names.get(name), &self.parent) {
            (Some(here), _) => here.clone(),
            (None, Some(parent)) => parent.get(name),
            (None, None) => YaqlValue::Data(Value::Null),
        }
    }
}

impl<T: Into<Value>> From<T> for YaqlValue {
    fn from(value: T) -> YaqlValue {
        YaqlValue::Data(value.into())
    }
}

impl YaqlValue {
    /// Subtracts its weight from the budget.
    ///
    /// # Errors
    /// If the budget is exceeded, or the value is nested too deeply.
    pub(super) fn charge(&self) -> Result<(), String> {
        budget::spend(match self {
            YaqlValue::Data(value) => budget::weight(value, 0)?,
            YaqlValue::Iter(items) | YaqlValue::Set(items) => budget::all(items.iter(), 1)?,
            YaqlValue::Sorted(items) => budget::all(items.iter().map(|(_, item)| item), 1)?,
            YaqlValue::Regex(_) | YaqlValue::Frame(_) => budget::VALUE,
        })
    }

    pub(super) fn truth(&self) -> bool {
        match self {
            YaqlValue::Data(value) => python::truth(value),
            YaqlValue::Set(items) => !items.is_empty(),
            _ => true,
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, YaqlValue::Data(Value::Null))
    }

    /// The value as data.
    pub(super) fn value(self) -> Result<Value, String> {
        match self {
            YaqlValue::Data(value) => Ok(value),
            YaqlValue::Iter(items) | YaqlValue::Set(items) => Ok(items.into()),
            YaqlValue::Sorted(items) => Ok(items.into_iter().map(|(_, item)| item).collect()),
            YaqlValue::Regex(_) => Err("a pattern of `yaql` is no value".to_owned()),
            YaqlValue::Frame(_) => {
                Err("`let` of `yaql` is followed by `->` and an expression".to_owned())
            }
        }
    }

    /// Text of the value for messages.
    pub(super) fn shown(&self) -> String {
        match self.clone().value() {
            Ok(value) => shown(&python::text(&value)),
            Err(_) => "a pattern".to_owned(),
        }
    }

    /// Items, if the value is iterable.
    pub(super) fn iterable(&self) -> Option<Vec<Value>> {
        match self {
            YaqlValue::Data(Value::Array(items))
            | YaqlValue::Iter(items)
            | YaqlValue::Set(items) => Some(items.clone()),
            YaqlValue::Sorted(items) => Some(items.iter().map(|(_, item)| item.clone()).collect()),
            _ => None,
        }
    }

    /// Items, for the function `name`. An error if the value is not iterable.
    pub(super) fn items(&self, name: &str) -> Result<Vec<Value>, String> {
        let items = self
            .iterable()
            .ok_or_else(|| format!("`{name}` of `yaql` takes a list, not `{}`", self.shown()))?;
        within_limit(items.len())?;
        Ok(items)
    }
}

pub(super) fn within_limit(count: usize) -> Result<(), String> {
    if count > ITEMS_MAX {
        return Err(format!("`yaql` reads lists of at most {ITEMS_MAX} items"));
    }
    Ok(())
}

/// Items without duplicates, in their order.
pub(super) fn unique(items: Vec<Value>) -> Vec<Value> {
    let mut seen = std::collections::HashSet::new();
    let mut items = items;
    items.retain(|item| seen.insert(python::key(item)));
    items
}

/// Text of a map's key, because JSON keys are texts.
pub(super) fn key_text(key: &Value) -> String {
    match key {
        Value::Null | Value::Bool(_) => key.to_string(),
        other => python::text(other),
    }
}

/// `str(value)` as in YAQL.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        other => plain(other),
    }
}

/// `str(value)` as in Python.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => written(other),
    }
}

/// `repr(value)`. A list is written as a tuple.
fn written(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::String(text) => {
            let quote = if text.contains('\'') && !text.contains('"') {
                '"'
            } else {
                '\''
            };
            let mut out = String::from(quote);
            for c in text.chars() {
                match c {
                    '\n' => out.push_str("\\n"),
                    '\r' => out.push_str("\\r"),
                    '\t' => out.push_str("\\t"),
                    '\\' => out.push_str("\\\\"),
                    c if c == quote => {
                        out.push('\\');
                        out.push(c);
                    }
                    c => out.push(c),
                }
            }
            out.push(quote);
            out
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            match items.as_slice() {
                [only] => format!("({only},)"),
                items => format!("({})", items.join(", ")),
            }
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| {
                format!(
                    "{}: {}",
                    written(&Value::from(key.as_str())),
                    written(value)
                )
            });
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        scalar => python::text(scalar),
    }
}
