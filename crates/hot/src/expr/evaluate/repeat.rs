//! `repeat`: a copy of a pattern for each item of a list, or for each combination of several lists.

use serde_json::{Map, Value};

use super::{Function, ITEMS_MAX, TEXT_BYTES_MAX, too_long};
use yaql::{python, shown};

pub(super) fn repeat(mut arguments: Value) -> Result<Value, String> {
    let permutations = arguments
        .get("permutations")
        .is_none_or(|value| value.as_bool().unwrap_or(true));
    let template = arguments["template"].take();
    let Value::Object(for_each) = arguments["for_each"].take() else {
        return Err("`for_each` of `repeat` is a map from words to lists".to_owned());
    };
    if for_each.is_empty() {
        return Err("`for_each` of `repeat` names no list".to_owned());
    }
    let mut words = Vec::with_capacity(for_each.len());
    let mut lists = Vec::with_capacity(for_each.len());
    for (word, list) in for_each {
        lists.push(values(&word, list, permutations)?);
        if word.is_empty() {
            return Err("a word of `repeat` is empty".to_owned());
        }
        words.push(word);
    }
    let rows = if permutations {
        combinations(&lists)?
    } else {
        together(&lists)?
    };
    let mut budget = TEXT_BYTES_MAX;
    rows.into_iter()
        .map(|row| {
            let pairs: Vec<(&str, &Value)> = words.iter().map(String::as_str).zip(row).collect();
            copy(&template, &pairs, &mut budget)
        })
        .collect()
}

/// Values of a word: the items of a list, or the keys of a map.
fn values(word: &str, list: Value, permutations: bool) -> Result<Vec<Value>, String> {
    match list {
        Value::Array(items) => Ok(items),
        Value::Null => Ok(Vec::new()),
        Value::Object(map) if permutations => {
            Ok(map.into_iter().map(|(key, _)| Value::String(key)).collect())
        }
        _ => Err(format!(
            "`for_each` of `repeat` takes a list under `{}`",
            shown(word)
        )),
    }
}

/// All combinations. The last list changes fastest.
fn combinations(lists: &[Vec<Value>]) -> Result<Vec<Vec<&Value>>, String> {
    let count = lists
        .iter()
        .try_fold(1usize, |count, list| count.checked_mul(list.len()))
        .filter(|count| count.saturating_mul(lists.len()) <= ITEMS_MAX)
        .ok_or_else(|| format!("`repeat` would give more than {ITEMS_MAX} items"))?;
    let row = |mut number: usize| {
        let mut row: Vec<&Value> = Vec::with_capacity(lists.len());
        for list in lists.iter().rev() {
            row.push(&list[number % list.len()]);
            number /= list.len();
        }
        row.reverse();
        row
    };
    Ok((0..count).map(row).collect())
}

/// Pairs items of equal index.
fn together(lists: &[Vec<Value>]) -> Result<Vec<Vec<&Value>>, String> {
    let length = lists.iter().map(Vec::len).max().unwrap_or(0);
    if lists
        .iter()
        .any(|list| list.len() != length && !list.is_empty())
    {
        return Err(
            "without `permutations` the lists of `repeat` must be of one length".to_owned(),
        );
    }
    let shortest = lists.iter().map(Vec::len).min().unwrap_or(0);
    Ok((0..shortest)
        .map(|index| lists.iter().map(|list| &list[index]).collect())
        .collect())
}

/// Pattern with its words replaced, also in keys.
fn copy(template: &Value, pairs: &[(&str, &Value)], budget: &mut usize) -> Result<Value, String> {
    Ok(match template {
        Value::String(text) => Value::String(words(text, pairs, budget)?),
        Value::Array(items) => items
            .iter()
            .map(|item| copy(item, pairs, budget))
            .collect::<Result<_, _>>()?,
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| Ok((words(key, pairs, budget)?, copy(value, pairs, budget)?)))
            .collect::<Result<Map<_, _>, String>>()
            .map(Value::Object)?,
        scalar => scalar.clone(),
    })
}

fn words(text: &str, pairs: &[(&str, &Value)], budget: &mut usize) -> Result<String, String> {
    let mut text = text.to_owned();
    for (word, value) in pairs {
        let Value::String(value) = value else {
            return Err(format!(
                "`repeat` puts texts for `{}`, and `{}` is none; write it in quotes",
                shown(word),
                shown(&python::text(value))
            ));
        };
        let found = text.matches(word).count();
        let longer = found.saturating_mul(value.len()) + text.len();
        if longer > *budget {
            return Err(too_long(Function::Repeat));
        }
        if found > 0 {
            text = text.replace(word, value);
        }
    }
    *budget -= text.len().min(*budget);
    Ok(text)
}
