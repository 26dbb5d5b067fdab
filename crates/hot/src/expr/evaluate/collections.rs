//! Functions on lists and maps.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{ITEMS_MAX, items};
use yaql::{python, shown};

/// Treatment of equal values in `list_concat`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    Keep,
    Drop,
}

/// `map_merge`: later maps have precedence.
pub(super) fn merge(arguments: Value) -> Result<Value, String> {
    let mut merged = Map::new();
    for item in items(arguments) {
        match item {
            Value::Object(map) => merged.extend(map),
            Value::Null => {}
            _ => return Err("`map_merge` merges maps only".to_owned()),
        }
    }
    Ok(Value::Object(merged))
}

/// `map_replace`: replaces keys and values.
pub(super) fn replace(arguments: Value) -> Result<Value, String> {
    let mut arguments = items(arguments).into_iter().map(map_or_nothing);
    let (Some(input), Some(mut rules)) = (arguments.next(), arguments.next()) else {
        return Err("`map_replace` takes two maps".to_owned());
    };
    if let Some(other) = rules.keys().find(|key| *key != "keys" && *key != "values") {
        return Err(format!(
            "the second map of `map_replace` has `keys` and `values`, not `{}`",
            shown(other)
        ));
    }
    let mut of = |key: &str| match rules.remove(key) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(format!("`{key}` of `map_replace` is a map")),
    };
    let (keys, values) = (of("keys")?, of("values")?);
    let mut output = Map::new();
    for (key, value) in &input {
        let new = match keys.get(key) {
            None | Some(Value::Null) => key.clone(),
            Some(new) => {
                let new = python::text(new);
                if (new != *key && input.contains_key(&new)) || output.contains_key(&new) {
                    return Err(format!(
                        "`map_replace` would give the key `{}` twice",
                        shown(&new)
                    ));
                }
                new
            }
        };
        let replaced = match value {
            Value::String(text) => values.get(text),
            Value::Array(_) | Value::Object(_) => None,
            // In YAML the key `80` can be a number.
            scalar => values
                .iter()
                .find(|(key, _)| python::equal(&crate::yaml::scalar::resolve(key), scalar))
                .map(|(_, value)| value),
        };
        output.insert(new, replaced.unwrap_or(value).clone());
    }
    Ok(Value::Object(output))
}

fn map_or_nothing(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// `list_concat` and `list_concat_unique`. The first of equal values is kept.
pub(super) fn concat(arguments: Value, doubles: Duplicates) -> Result<Value, String> {
    let mut list = Vec::new();
    for item in items(arguments) {
        match item {
            Value::Array(items) => list.extend(items),
            Value::Null => {}
            _ => return Err("`list_concat` joins lists only".to_owned()),
        }
        if list.len() > ITEMS_MAX {
            return Err(format!(
                "`list_concat` would give more than {ITEMS_MAX} items"
            ));
        }
    }
    if doubles == Duplicates::Drop {
        let mut seen: HashSet<String> = HashSet::with_capacity(list.len());
        list.retain(|item| seen.insert(python::key(item)));
    }
    Ok(Value::Array(list))
}

/// `filter`: list without some values.
pub(super) fn filter(arguments: Value) -> Result<Value, String> {
    let mut arguments = items(arguments).into_iter();
    let (values, list) = (
        arguments.next().unwrap_or_default(),
        arguments.next().unwrap_or_default(),
    );
    match (values, list) {
        (Value::Array(values), Value::Array(list)) => Ok(list
            .into_iter()
            .filter(|item| !values.iter().any(|value| python::equal(value, item)))
            .collect()),
        (Value::Null, list @ (Value::Array(_) | Value::Null)) | (_, list @ Value::Null) => Ok(list),
        _ => Err("`filter` takes two lists".to_owned()),
    }
}

/// `contains`: item of a list, or part of a text.
pub(super) fn contains(arguments: Value) -> Result<Value, String> {
    let mut arguments = items(arguments).into_iter();
    let (value, list) = (
        arguments.next().unwrap_or_default(),
        arguments.next().unwrap_or_default(),
    );
    match (&value, list) {
        (_, Value::Array(items)) => Ok(items.iter().any(|item| python::equal(item, &value)).into()),
        (Value::String(part), Value::String(text)) => Ok(text.contains(part.as_str()).into()),
        _ => Err("the second argument of `contains` is a list".to_owned()),
    }
}
