//! The values of expressions.
//!
//! Python tells a list from what is gone through once (`select` and its like), from a set and from a map's keys: which functions there
//! are for it hangs on that, and so does whether it counts as true. At the end all of them are lists.

use std::{collections::HashMap, rc::Rc};

use serde_json::Value;

use crate::{ITEMS_MAX, budget, pattern::Regex, python, shown};

#[derive(Clone)]
pub(super) enum Got {
    Data(Value),
    /// Gone through once: true, whatever is in it.
    Iter(Vec<Value>),
    /// Sorted: items with the number of their rank, for `thenBy`.
    Sorted(Vec<(usize, Value)>),
    /// A set, or the keys, values or entries of a map.
    Set(Vec<Value>),
    Regex(Rc<Regex>),
    /// Names that `let` gave.
    Frame(Rc<Frame>),
}

/// Frames behind each other, or as values in each other: they are dropped one by the other, on the stack.
const FRAMES_MAX: usize = 200;

/// What `$` and other names stand for.
pub(super) struct Frame {
    parent: Option<Rc<Frame>>,
    names: HashMap<String, Got>,
    /// How many hang on it, with itself.
    frames: usize,
}

impl Frame {
    /// # Errors
    /// Too many frames hang on each other, or the names hold too much.
    pub(super) fn new(
        parent: Option<&Rc<Frame>>,
        names: HashMap<String, Got>,
    ) -> Result<Rc<Frame>, String> {
        let mut behind = parent.map_or(0, |parent| parent.frames);
        for got in names.values() {
            got.pay()?;
            if let Got::Frame(frame) = got {
                behind = behind.max(frame.frames);
            }
        }
        if behind >= FRAMES_MAX {
            return Err(format!(
                "names of `yaql` stand on names at most {FRAMES_MAX} times: a loop cannot hand on what `let` or `with` gives"
            ));
        }
        Ok(Rc::new(Frame {
            parent: parent.cloned(),
            names,
            frames: behind + 1,
        }))
    }

    /// With these as `$1`, `$2` ...
    ///
    /// # Errors
    /// As [`Frame::new`].
    pub(super) fn with(parent: &Rc<Frame>, arguments: &[Got]) -> Result<Rc<Frame>, String> {
        let names = (1..).zip(arguments);
        let names = names.map(|(place, got): (usize, &Got)| (place.to_string(), got.clone()));
        Frame::new(Some(parent), names.collect())
    }

    pub(super) fn get(&self, name: &str) -> Got {
        match (self.names.get(name), &self.parent) {
            (Some(here), _) => here.clone(),
            (None, Some(parent)) => parent.get(name),
            (None, None) => Got::Data(Value::Null),
        }
    }
}

impl<T: Into<Value>> From<T> for Got {
    fn from(value: T) -> Got {
        Got::Data(value.into())
    }
}

impl Got {
    /// Takes its weight off the budget.
    ///
    /// # Errors
    /// The budget is spent, or the value is too deep.
    pub(super) fn pay(&self) -> Result<(), String> {
        budget::spend(match self {
            Got::Data(value) => budget::weight(value, 0)?,
            Got::Iter(items) | Got::Set(items) => budget::all(items.iter(), 1)?,
            Got::Sorted(items) => budget::all(items.iter().map(|(_, item)| item), 1)?,
            Got::Regex(_) | Got::Frame(_) => budget::VALUE,
        })
    }

    pub(super) fn truth(&self) -> bool {
        match self {
            Got::Data(value) => python::truth(value),
            Got::Set(items) => !items.is_empty(),
            _ => true,
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Got::Data(Value::Null))
    }

    /// As data.
    pub(super) fn value(self) -> Result<Value, String> {
        match self {
            Got::Data(value) => Ok(value),
            Got::Iter(items) | Got::Set(items) => Ok(items.into()),
            Got::Sorted(items) => Ok(items.into_iter().map(|(_, item)| item).collect()),
            Got::Regex(_) => Err("a pattern of `yaql` is no value".to_owned()),
            Got::Frame(_) => {
                Err("`let` of `yaql` is followed by `->` and an expression".to_owned())
            }
        }
    }

    /// For messages.
    pub(super) fn shown(&self) -> String {
        match self.clone().value() {
            Ok(value) => shown(&python::text(&value)),
            Err(_) => "a pattern".to_owned(),
        }
    }

    /// Its items, where it can be gone through.
    pub(super) fn iterable(&self) -> Option<Vec<Value>> {
        match self {
            Got::Data(Value::Array(items)) | Got::Iter(items) | Got::Set(items) => {
                Some(items.clone())
            }
            Got::Sorted(items) => Some(items.iter().map(|(_, item)| item.clone()).collect()),
            _ => None,
        }
    }

    /// Its items, of `name`, which goes through it.
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
        return Err(format!(
            "`yaql` goes through lists of at most {ITEMS_MAX} items"
        ));
    }
    Ok(())
}

/// Each once, in their order.
pub(super) fn unique(items: Vec<Value>) -> Vec<Value> {
    let mut seen = std::collections::HashSet::new();
    let mut items = items;
    items.retain(|item| seen.insert(python::key(item)));
    items
}

/// A map's key; JSON has texts only.
pub(super) fn key_text(key: &Value) -> String {
    match key {
        Value::Null | Value::Bool(_) => key.to_string(),
        other => python::text(other),
    }
}

/// `str(value)`, as YAQL has it.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        other => plain(other),
    }
}

/// `str(value)`, as Python has it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => written(other),
    }
}

/// `repr(value)`; a list is a tuple.
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
