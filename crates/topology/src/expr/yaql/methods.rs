//! Methods and functions.

use serde_json::Value;

use super::{
    evaluate::{binary, compare, evaluate, items, map},
    parse::Tree,
};
use crate::{
    expr::{evaluate::TEXT_BYTES_MAX, python, select},
    text::shown,
};

/// `value.name(arguments)`.
pub(super) fn method(
    value: Value,
    name: &str,
    arguments: &[Tree],
    current: &Value,
) -> Result<Value, String> {
    let argument = |index: usize| match arguments.get(index) {
        Some(tree) => evaluate(tree, current).map(Some),
        None => Ok(None),
    };
    let given = |index: usize| {
        argument(index)?.ok_or_else(|| format!("`{name}` of `yaql` lacks an argument"))
    };
    match (name, value) {
        ("len" | "count", value) => length(&value),
        ("get", value) => match select(value, &[given(0)?]) {
            Some(found) => Ok(found),
            None => Ok(argument(1)?.unwrap_or_default()),
        },
        ("toList" | "list", value) => items(value, name).map(Value::from),
        ("keys", Value::Object(map)) => Ok(map.into_iter().map(|(key, _)| key).collect()),
        ("values", Value::Object(map)) => Ok(map.into_iter().map(|(_, value)| value).collect()),
        ("items", Value::Object(map)) => Ok(map
            .into_iter()
            .map(|(key, value)| Value::from(vec![key.into(), value]))
            .collect()),
        ("containsKey", Value::Object(map)) => {
            Ok(map.contains_key(&python::text(&given(0)?)).into())
        }
        ("split", Value::String(text)) => match given(0)? {
            Value::String(by) if !by.is_empty() => Ok(text.split(by.as_str()).collect()),
            _ => Err("`split` of `yaql` takes a text".to_owned()),
        },
        ("replace", Value::String(text)) => {
            let (from, to) = (python::text(&given(0)?), python::text(&given(1)?));
            let longer = text.matches(from.as_str()).count().saturating_mul(to.len()) + text.len();
            if from.is_empty() || longer > TEXT_BYTES_MAX {
                return Err("`replace` of `yaql` would give too much text".to_owned());
            }
            Ok(text.replace(&from, &to).into())
        }
        ("toUpper", Value::String(text)) => Ok(text.to_uppercase().into()),
        ("toLower", Value::String(text)) => Ok(text.to_lowercase().into()),
        ("trim", Value::String(text)) => Ok(text.trim().into()),
        ("startsWith", Value::String(text)) => {
            Ok(text.starts_with(&python::text(&given(0)?)).into())
        }
        ("endsWith", Value::String(text)) => Ok(text.ends_with(&python::text(&given(0)?)).into()),
        ("join", value) => {
            let texts: Vec<String> = items(value, name)?.iter().map(python::text).collect();
            Ok(texts.join(&python::text(&given(0)?)).into())
        }
        (_, value) if LISTS.contains(&name) => list(items(value, name)?, name, arguments, current),
        (_, value) if OTHERS.contains(&name) => Err(format!(
            "`{name}` of `yaql` cannot work with `{}`",
            shown(&python::text(&value))
        )),
        _ => Err(format!("`{}` of `yaql` is not supported", shown(name))),
    }
}

const OTHERS: [&str; 10] = [
    "keys",
    "values",
    "items",
    "containsKey",
    "split",
    "replace",
    "toUpper",
    "toLower",
    "trim",
    "startsWith",
];
const LISTS: [&str; 19] = [
    "sum",
    "min",
    "max",
    "first",
    "last",
    "select",
    "where",
    "selectMany",
    "flatten",
    "distinct",
    "reverse",
    "orderBy",
    "skip",
    "take",
    "limit",
    "any",
    "all",
    "toDict",
    "contains",
];

/// A method of a list.
fn list(
    mut list: Vec<Value>,
    name: &str,
    arguments: &[Tree],
    current: &Value,
) -> Result<Value, String> {
    let missing = || format!("`{name}` of `yaql` lacks an argument");
    let first = arguments.first();
    // With the item as `$`.
    let of_each = |tree: Option<&Tree>, item: &Value| match tree {
        Some(tree) => evaluate(tree, item),
        None => Ok(item.clone()),
    };
    let number = || -> Result<usize, String> {
        let value = evaluate(first.ok_or_else(missing)?, current)?;
        Ok(value.as_u64().unwrap_or_default() as usize)
    };
    match name {
        "sum" => {
            let start = match first {
                Some(tree) => evaluate(tree, current)?,
                None => 0.into(),
            };
            list.into_iter()
                .try_fold(start, |sum, item| binary("+", sum, item))
        }
        "min" | "max" => extreme(list, name),
        "first" | "last" => {
            let found = if name == "first" {
                list.into_iter().next()
            } else {
                list.pop()
            };
            match (found, first) {
                (Some(found), _) => Ok(found),
                (None, Some(default)) => evaluate(default, current),
                (None, None) => Err(format!("`{name}` of `yaql`: the list is empty")),
            }
        }
        "select" => {
            let tree = first.ok_or_else(missing)?;
            list.iter().map(|item| evaluate(tree, item)).collect()
        }
        "where" => {
            let tree = first.ok_or_else(missing)?;
            let mut kept = Vec::new();
            for item in list {
                if python::truth(&evaluate(tree, &item)?) {
                    kept.push(item);
                }
            }
            Ok(kept.into())
        }
        "selectMany" => {
            let tree = first.ok_or_else(missing)?;
            let mut all = Vec::new();
            for item in &list {
                match evaluate(tree, item)? {
                    Value::Array(items) => all.extend(items),
                    other => all.push(other),
                }
            }
            Ok(all.into())
        }
        "flatten" => {
            let mut all = Vec::new();
            flatten(list, &mut all);
            Ok(all.into())
        }
        "distinct" => {
            let mut seen: Vec<(Value, Value)> = Vec::new();
            for item in list {
                let key = of_each(first, &item)?;
                if !seen.iter().any(|(known, _)| python::equal(known, &key)) {
                    seen.push((key, item));
                }
            }
            Ok(seen.into_iter().map(|(_, item)| item).collect())
        }
        "reverse" => {
            list.reverse();
            Ok(list.into())
        }
        "orderBy" => {
            let mut keyed = list
                .into_iter()
                .map(|item| Ok((of_each(first, &item)?, item)))
                .collect::<Result<Vec<_>, String>>()?;
            keyed.sort_by(|(a, _), (b, _)| compare(a, b).unwrap_or(std::cmp::Ordering::Equal));
            Ok(keyed.into_iter().map(|(_, item)| item).collect())
        }
        "skip" => Ok(list.into_iter().skip(number()?).collect()),
        "take" | "limit" => Ok(list.into_iter().take(number()?).collect()),
        "any" | "all" => {
            let mut truths = Vec::with_capacity(list.len());
            for item in &list {
                truths.push(match first {
                    None if name == "any" => true,
                    tree => python::truth(&of_each(tree, item)?),
                });
            }
            let mut truths = truths.into_iter();
            Ok(if name == "any" {
                truths.any(|truth| truth)
            } else {
                truths.all(|truth| truth)
            }
            .into())
        }
        "contains" => {
            let wanted = evaluate(first.ok_or_else(missing)?, current)?;
            Ok(list.iter().any(|item| python::equal(item, &wanted)).into())
        }
        _ => {
            let key = first.ok_or_else(missing)?;
            let mut map = serde_json::Map::new();
            for item in &list {
                let key = python::text(&evaluate(key, item)?);
                map.insert(key, of_each(arguments.get(1), item)?);
            }
            Ok(map.into())
        }
    }
}

/// `name(arguments)`.
pub(super) fn function(name: &str, arguments: &[Tree], current: &Value) -> Result<Value, String> {
    if name == "dict" {
        return map(arguments, current);
    }
    if !matches!(
        name,
        "len" | "str" | "int" | "bool" | "list" | "coalesce" | "min" | "max"
    ) {
        // `let(x => 1)` and its like are refused by what follows them, or here.
        return match arguments {
            [Tree::Pair(..), ..] => Err(format!("`{}` of `yaql` is not supported", shown(name))),
            [first, rest @ ..] => method(evaluate(first, current)?, name, rest, current),
            [] => Err(format!("`{}` of `yaql` is not supported", shown(name))),
        };
    }
    let values = arguments
        .iter()
        .map(|argument| evaluate(argument, current))
        .collect::<Result<Vec<_>, _>>()?;
    let wrong = || {
        format!(
            "`{name}` of `yaql` cannot work with `{}`",
            shown(&python::text(values.first().unwrap_or(&Value::Null)))
        )
    };
    match (name, values.as_slice()) {
        ("list", _) => Ok(values.into()),
        ("coalesce", _) => Ok(values
            .iter()
            .find(|value| !value.is_null())
            .cloned()
            .unwrap_or_default()),
        ("min" | "max", _) => extreme(values, name),
        ("len", [value]) => length(value),
        ("str", [value]) => Ok(python::text(value).into()),
        ("bool", [value]) => Ok(python::truth(value).into()),
        ("int", [Value::String(text)]) => text
            .trim()
            .parse::<i64>()
            .map(Value::from)
            .map_err(|_| wrong()),
        ("int", [Value::Number(number)]) => {
            Ok((number.as_f64().unwrap_or_default().trunc() as i64).into())
        }
        _ => Err(wrong()),
    }
}

fn length(value: &Value) -> Result<Value, String> {
    match value {
        Value::Array(items) => Ok(items.len().into()),
        Value::Object(map) => Ok(map.len().into()),
        Value::String(text) => Ok(text.chars().count().into()),
        other => Err(format!(
            "`len` of `yaql` cannot work with `{}`",
            shown(&python::text(other))
        )),
    }
}

fn extreme(list: Vec<Value>, name: &str) -> Result<Value, String> {
    let mut list = list.into_iter();
    let first = list
        .next()
        .ok_or_else(|| format!("`{name}` of `yaql`: the list is empty"))?;
    list.try_fold(first, |best, item| {
        let order = compare(&item, &best)
            .ok_or_else(|| format!("`{name}` of `yaql` compares numbers, or texts"))?;
        let better = if name == "min" {
            order.is_lt()
        } else {
            order.is_gt()
        };
        Ok(if better { item } else { best })
    })
}

fn flatten(list: Vec<Value>, into: &mut Vec<Value>) {
    for item in list {
        match item {
            Value::Array(items) => flatten(items, into),
            other => into.push(other),
        }
    }
}
