//! From a tree to its value.

use serde_json::{Map, Number, Value};

use super::{
    ITEMS_MAX, methods,
    parse::Tree::{self, *},
};
use crate::{
    expr::{evaluate::TEXT_BYTES_MAX, python, select},
    text::shown,
};

/// The value of a tree where `$` is `current`.
pub(super) fn evaluate(tree: &Tree, current: &Value) -> Result<Value, String> {
    Ok(match tree {
        Current => current.clone(),
        Value(value) => value.clone(),
        Word(word) => word.as_str().into(),
        Key(of, key) => key_of(&evaluate(of, current)?, key)?,
        Index(of, index) => {
            let (of, index) = (evaluate(of, current)?, evaluate(index, current)?);
            select(of, &[index]).unwrap_or_default()
        }
        Method(of, name, arguments) => {
            methods::method(evaluate(of, current)?, name, arguments, current)?
        }
        Call(name, arguments) => methods::function(name, arguments, current)?,
        List(items) => items
            .iter()
            .map(|item| evaluate(item, current))
            .collect::<Result<_, _>>()?,
        Map(pairs) => map(pairs, current)?,
        Pair(..) => return Err("`=>` of `yaql` stands in maps only".to_owned()),
        Not(inner) => (!python::truth(&evaluate(inner, current)?)).into(),
        Minus(inner) => binary("-", 0.into(), evaluate(inner, current)?)?,
        Binary(operator @ ("and" | "or"), left, right) => {
            let left = evaluate(left, current)?;
            if python::truth(&left) == (*operator == "or") {
                left
            } else {
                evaluate(right, current)?
            }
        }
        Binary(operator, left, right) => binary(
            operator,
            evaluate(left, current)?,
            evaluate(right, current)?,
        )?,
    })
}

/// A map from `key => value` pairs.
pub(super) fn map(pairs: &[Tree], current: &Value) -> Result<Value, String> {
    let mut map = serde_json::Map::new();
    for pair in pairs {
        let Pair(key, value) = pair else {
            return Err("a map of `yaql` consists of `key => value`".to_owned());
        };
        let key = python::text(&evaluate(key, current)?);
        map.insert(key, evaluate(value, current)?);
    }
    Ok(map.into())
}

/// The items of a list that is gone through.
pub(super) fn items(value: Value, of: &str) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(items) if items.len() > ITEMS_MAX => Err(format!(
            "`yaql` goes through lists of at most {ITEMS_MAX} items"
        )),
        Value::Array(items) => Ok(items),
        other => Err(format!(
            "`{of}` of `yaql` takes a list, not `{}`",
            shown(&python::text(&other))
        )),
    }
}

/// Of a list, the key of each item.
fn key_of(value: &Value, key: &str) -> Result<Value, String> {
    match value {
        Value::Array(list) if list.len() <= ITEMS_MAX => {
            list.iter().map(|item| key_of(item, key)).collect()
        }
        Value::Array(_) => items(value.clone(), key).map(Value::from),
        Value::Object(map) => Ok(map.get(key).cloned().unwrap_or_default()),
        Value::Null => Ok(Value::Null),
        other => Err(format!(
            "`yaql` finds no `{}` in `{}`",
            shown(key),
            shown(&python::text(other))
        )),
    }
}

pub(super) fn binary(operator: &str, left: Value, right: Value) -> Result<Value, String> {
    let wrong = || {
        format!(
            "`{operator}` of `yaql` cannot work with `{}` and `{}`",
            shown(&python::text(&left)),
            shown(&python::text(&right))
        )
    };
    match operator {
        "=" => return Ok(python::equal(&left, &right).into()),
        "!=" => return Ok((!python::equal(&left, &right)).into()),
        "in" => {
            return match (&left, &right) {
                (_, Value::Array(items)) => {
                    Ok(items.iter().any(|item| python::equal(item, &left)).into())
                }
                (Value::String(key), Value::Object(map)) => Ok(map.contains_key(key).into()),
                (Value::String(part), Value::String(text)) => {
                    Ok(text.contains(part.as_str()).into())
                }
                _ => Err(wrong()),
            };
        }
        "<" | "<=" | ">" | ">=" => {
            let order = compare(&left, &right).ok_or_else(wrong)?;
            let truth = match operator {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            };
            return Ok(truth.into());
        }
        _ => {}
    }
    match (operator, &left, &right) {
        ("+", Value::String(a), Value::String(b)) if a.len() + b.len() <= TEXT_BYTES_MAX => {
            Ok(format!("{a}{b}").into())
        }
        ("+", Value::Array(a), Value::Array(b)) => Ok(a.iter().chain(b).cloned().collect()),
        ("+", Value::Object(a), Value::Object(b)) => {
            let both = a.iter().chain(b);
            let both: Map<_, _> = both
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            Ok(both.into())
        }
        (_, Value::Number(a), Value::Number(b)) => number(operator, a, b).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

/// Numbers by value, texts by letters.
pub(super) fn compare(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Whole numbers stay whole, and are divided as Python does.
fn number(operator: &str, a: &Number, b: &Number) -> Option<Value> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        let whole = match operator {
            "+" => a.checked_add(b)?,
            "-" => a.checked_sub(b)?,
            "*" => a.checked_mul(b)?,
            "/" if b != 0 => {
                let down = a.checked_rem(b)? != 0 && (a < 0) != (b < 0);
                a.checked_div(b)? - i64::from(down)
            }
            "mod" if b != 0 => (a.checked_rem(b)? + b).checked_rem(b)?,
            _ => return None,
        };
        return Some(whole.into());
    }
    let (a, b) = (a.as_f64()?, b.as_f64()?);
    let value = match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" if b != 0.0 => a / b,
        "mod" if b != 0.0 => a - b * (a / b).floor(),
        _ => return None,
    };
    Number::from_f64(value).map(Value::Number)
}
