//! Functions on texts: the three variants of `str_replace`, `list_join`, `str_split`.

use serde_json::{Map, Value};

use super::{Function, TEXT_BYTES_MAX, items, too_long};
use crate::text::listed;
use yaql::{python, shown};

/// Maximum product of the number of words and the template's bytes. Takes some tenths of a second.
const WORK_MAX: usize = 1 << 30;

/// Part of a template.
enum Part<'t> {
    Text(&'t str),
    /// Index of a word.
    Word(usize),
}

/// The strictness of `str_replace`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strict {
    No,
    /// Every word must occur in the text.
    Words,
    /// Every word must occur in the text, and no value may be null or empty.
    WordsAndValues,
}

pub(super) fn replace(
    function: Function,
    mut arguments: Value,
    strict: Strict,
    json: bool,
) -> Result<Value, String> {
    let name = function.name();
    let (template, params) = (arguments["template"].take(), arguments["params"].take());
    let Value::String(template) = template else {
        return Err(format!("`template` of `{name}` is a text"));
    };
    let Value::Object(params) = params else {
        return Err(format!(
            "`params` of `{name}` is a map from words to values"
        ));
    };
    replace_words(function, &template, &params, strict, json)
}

/// Replaces words, longer ones first, then in order. Each part of the text is replaced once. Maps and lists become JSON
/// if the version supports it.
pub(super) fn replace_words(
    function: Function,
    template: &str,
    params: &Map<String, Value>,
    strict: Strict,
    json: bool,
) -> Result<Value, String> {
    let name = function.name();
    let mut words: Vec<(&str, String, bool)> = Vec::with_capacity(params.len());
    for (word, value) in params {
        if !json && (value.is_array() || value.is_object()) {
            return Err(format!(
                "`{name}` puts texts and numbers for `{}`; maps and lists come with version 2015-10-15",
                shown(word)
            ));
        }
        let text = python::text(value);
        let empty = match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => text.is_empty(),
        };
        if empty && strict == Strict::WordsAndValues {
            return Err(format!(
                "`{name}` has no value for `{}`, or an empty one",
                shown(word)
            ));
        }
        if word.is_empty() {
            return Err(format!("a word of `{name}` is empty"));
        }
        words.push((word, text, false));
    }
    words.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.0.cmp(b.0)));
    if words.len().saturating_mul(template.len()) > WORK_MAX {
        return Err(format!(
            "`{name}` has too many words for so long a template"
        ));
    }
    // A longer word has precedence over a shorter one that overlaps it. The text is split at the longest word first,
    // and the parts in between at the next one.
    let mut parts = vec![Part::Text(template)];
    for (index, (word, _, used)) in words.iter_mut().enumerate() {
        let mut split = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Part::Text(text) => {
                    for (number, piece) in text.split(*word).enumerate() {
                        if number > 0 {
                            *used = true;
                            split.push(Part::Word(index));
                        }
                        if !piece.is_empty() {
                            split.push(Part::Text(piece));
                        }
                    }
                }
                word => split.push(word),
            }
        }
        parts = split;
    }
    let mut out = String::with_capacity(template.len());
    for part in parts {
        out.push_str(match part {
            Part::Text(text) => text,
            Part::Word(index) => &words[index].1,
        });
        if out.len() > TEXT_BYTES_MAX {
            return Err(too_long(function));
        }
    }
    if strict != Strict::No {
        let unused: Vec<&str> = words
            .iter()
            .filter(|(_, _, used)| !used)
            .map(|(word, _, _)| *word)
            .collect();
        if !unused.is_empty() {
            return Err(format!(
                "`{name}` does not find {} in its template",
                listed(&unused)
            ));
        }
    }
    Ok(Value::String(out))
}

/// `list_join` of one or more lists. Maps and lists become JSON if the version supports it.
pub(super) fn join(function: Function, arguments: Value, json: bool) -> Result<Value, String> {
    let name = function.name();
    let mut arguments = items(arguments).into_iter();
    let Some(Value::String(delimiter)) = arguments.next() else {
        return Err(format!("the delimiter of `{name}` is a text"));
    };
    let mut out = String::new();
    let mut first = true;
    for item in arguments.flat_map(items) {
        let text = match item {
            Value::String(text) => text,
            Value::Null => String::new(),
            Value::Array(_) | Value::Object(_) if json => python::json(&item),
            other => {
                return Err(format!(
                    "`{name}` joins texts, and `{}` is none; write it in quotes, or put it into a text with `str_replace`",
                    shown(&python::text(&other))
                ));
            }
        };
        if !first {
            out.push_str(&delimiter);
        }
        first = false;
        out.push_str(&text);
        if out.len() > TEXT_BYTES_MAX {
            return Err(too_long(function));
        }
    }
    Ok(Value::String(out))
}

/// Parts of a text, or the part at an index.
pub(super) fn split(arguments: Value) -> Result<Value, String> {
    let mut arguments = items(arguments).into_iter();
    let (delimiter, text, index) = (arguments.next(), arguments.next(), arguments.next());
    let delimiter = match delimiter {
        Some(Value::String(delimiter)) if delimiter.is_empty() => {
            return Err("the delimiter of `str_split` is empty".to_owned());
        }
        Some(Value::String(delimiter)) => Some(delimiter),
        // Splits at any white space.
        Some(Value::Null) => None,
        _ => return Err("the delimiter of `str_split` is a text".to_owned()),
    };
    let text = text.unwrap_or_default();
    let text = match text {
        Value::Null => return Ok(Value::Null),
        Value::String(text) => text,
        other => {
            return Err(format!(
                "`str_split` splits a text, and `{}` is none",
                shown(&python::text(&other))
            ));
        }
    };
    let parts: Vec<&str> = match &delimiter {
        Some(delimiter) => text.split(delimiter.as_str()).collect(),
        None => text.split_whitespace().collect(),
    };
    let Some(index) = index else {
        return Ok(parts.into());
    };
    let number = match &index {
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().map(|number| number as i64)),
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let Some(number) = number else {
        return Err(format!(
            "`{}` is no index for `str_split`",
            shown(&python::text(&index))
        ));
    };
    let at = if number < 0 {
        parts.len().checked_sub(number.unsigned_abs() as usize)
    } else {
        Some(number as usize)
    };
    at.and_then(|at| parts.get(at))
        .map(|part| Value::from(*part))
        .ok_or_else(|| {
            format!(
                "`str_split` has no part {number}: the text has {} {}, counted from 0",
                parts.len(),
                if parts.len() == 1 { "part" } else { "parts" }
            )
        })
}
