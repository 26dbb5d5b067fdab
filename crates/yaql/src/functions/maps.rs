//! Methods of maps.

use serde_json::{Map, Value};

use crate::{
    call::Call,
    parse::Tree,
    python,
    value::{YaqlValue, key_text, unique},
};

/// Calls a method of a map. `None` if there is no such method.
pub(super) fn call(call: &Call<'_>, of: &YaqlValue) -> Option<Result<YaqlValue, String>> {
    let YaqlValue::Data(Value::Object(map)) = of else {
        return None;
    };
    Some(match call.name {
        "len" => Ok(map.len().into()),
        "get" => get(call, map),
        "keys" => Ok(YaqlValue::Set(
            map.keys().cloned().map(Value::from).collect(),
        )),
        "values" => Ok(YaqlValue::Set(map.values().cloned().collect())),
        "items" => Ok(YaqlValue::Set(
            map.iter()
                .map(|(key, value)| Value::from(vec![Value::from(key.as_str()), value.clone()]))
                .collect(),
        )),
        "containsKey" => call
            .value(0)
            .map(|key| map.contains_key(&key_text(&key)).into()),
        "containsValue" => call.value(0).map(|wanted| {
            map.values()
                .any(|value| python::equal(value, &wanted))
                .into()
        }),
        "set" => set(call, map),
        "delete" => call
            .values()
            .and_then(|keys| keys.into_iter().map(YaqlValue::value).collect())
            .map(|keys| without(map, keys)),
        "deleteAll" => call
            .need(0)
            .and_then(|keys| keys.items("deleteAll"))
            .map(|keys| without(map, keys)),
        "mergeWith" => merge_with(call, map),
        _ => return None,
    })
}

fn get(call: &Call<'_>, map: &Map<String, Value>) -> Result<YaqlValue, String> {
    match map.get(&key_text(&call.value(0)?)) {
        Some(found) => Ok(found.clone().into()),
        None => Ok(call.got(1)?.unwrap_or(Value::Null.into())),
    }
}

/// Map with a key and a value, a map, or pairs added.
fn set(call: &Call<'_>, map: &Map<String, Value>) -> Result<YaqlValue, String> {
    let mut map = map.clone();
    match call.rest.as_slice() {
        [key, value] if !matches!(key, Tree::Pair(..)) => {
            let of = |tree| call.evaluate(tree)?.value();
            map.insert(key_text(&of(key)?), of(value)?);
        }
        [only] if !matches!(only, Tree::Pair(..)) => {
            let given = call.evaluate(only)?;
            let YaqlValue::Data(Value::Object(more)) = given else {
                return Err(call.wrong(&given));
            };
            map.extend(more);
        }
        _ => {
            if let Value::Object(more) = call.map()? {
                map.extend(more);
            }
        }
    }
    Ok(Value::Object(map).into())
}

fn without(map: &Map<String, Value>, keys: Vec<Value>) -> YaqlValue {
    let keys: Vec<String> = keys.iter().map(key_text).collect();
    let rest = map.iter().filter(|(key, _)| !keys.contains(key));
    let rest: Map<_, _> = rest
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Value::Object(rest).into()
}

type Merge<'a> = &'a dyn Fn(&Value, &Value) -> Result<Value, String>;

/// Merges nested maps and concatenates lists. For all other values the later one is used.
fn merge_with(call: &Call<'_>, map: &Map<String, Value>) -> Result<YaqlValue, String> {
    let another = call.value(0)?;
    let Value::Object(another) = &another else {
        return Err(call.wrong(&another.into()));
    };
    let (lists, items) = (call.lambda(1), call.lambda(2));
    let of = |a: &Value, b: &Value| [YaqlValue::Data(a.clone()), YaqlValue::Data(b.clone())];
    let list_merger = |a: &Value, b: &Value| match &lists {
        Some(merge) => merge(&of(a, b))?.value(),
        None => {
            let both = a.as_array().into_iter().chain(b.as_array()).flatten();
            Ok(unique(both.cloned().collect()).into())
        }
    };
    let item_merger = |a: &Value, b: &Value| match &items {
        Some(merge) => merge(&of(a, b))?.value(),
        None => Ok(b.clone()),
    };
    let levels = call.integer(3, 0)?;
    merged(map, another, &list_merger, &item_merger, levels).map(YaqlValue::Data)
}

fn merged(
    a: &Map<String, Value>,
    b: &Map<String, Value>,
    lists: Merge<'_>,
    items: Merge<'_>,
    levels: i64,
) -> Result<Value, String> {
    let mut result = Map::new();
    for (key, left) in a {
        let value = match (left, b.get(key)) {
            (left, None) => left.clone(),
            (Value::Object(left), Some(Value::Object(right))) if levels != 1 => {
                merged(left, right, lists, items, levels.saturating_sub(1).max(0))?
            }
            (Value::Array(_), Some(right @ Value::Array(_))) if levels != 1 => lists(left, right)?,
            (_, Some(Value::Object(_) | Value::Array(_))) if levels != 1 => {
                return Err(format!(
                    "`mergeWith` of `yaql` cannot put the two values of `{}` together",
                    crate::shown(key)
                ));
            }
            (left, Some(right)) => items(left, right)?,
        };
        result.insert(key.clone(), value);
    }
    for (key, right) in b {
        result.entry(key.as_str()).or_insert_with(|| right.clone());
    }
    Ok(result.into())
}
