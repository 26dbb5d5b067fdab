//! Operators.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use crate::{TEXT_BYTES_MAX, budget, pattern::Regex, python, value::YaqlValue};

pub(super) fn binary(
    operator: &str,
    left: YaqlValue,
    right: YaqlValue,
) -> Result<YaqlValue, String> {
    let wrong = || {
        format!(
            "`{operator}` of `yaql` cannot work with `{}` and `{}`",
            left.shown(),
            right.shown()
        )
    };
    match operator {
        "=" | "!=" => {
            let same = python::equal(&left.clone().value()?, &right.clone().value()?);
            return Ok((same == (operator == "=")).into());
        }
        "in" => {
            if right.iterable().is_some() {
                let left = left.clone().value()?;
                let items = right.items("in")?;
                return Ok(items.iter().any(|item| python::equal(item, &left)).into());
            }
            return match (&left, &right) {
                (YaqlValue::Data(Value::String(part)), YaqlValue::Data(Value::String(text))) => {
                    Ok(text.contains(part.as_str()).into())
                }
                _ => Err(wrong()),
            };
        }
        "<" | "<=" | ">" | ">=" => {
            let (a, b) = (left.clone().value()?, right.clone().value()?);
            let order = compare(&a, &b).ok_or_else(wrong)?;
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
    if let ("+" | "-", YaqlValue::Set(a), YaqlValue::Set(b)) = (operator, &left, &right) {
        let without = |from: &[Value], but: &[Value]| -> Vec<Value> {
            let but: HashSet<String> = but.iter().map(python::key).collect();
            let rest = from.iter().filter(|one| !but.contains(&python::key(one)));
            rest.cloned().collect()
        };
        return Ok(YaqlValue::Set(match operator {
            "-" => without(a, b),
            _ => [a.clone(), without(b, a)].concat(),
        }));
    }
    if operator == "+"
        && let (Some(a), Some(b)) = (left.iterable(), right.iterable())
    {
        let plain = |got: &YaqlValue| matches!(got, YaqlValue::Data(_));
        let both: Vec<Value> = a.into_iter().chain(b).collect();
        return Ok(if plain(&left) && plain(&right) {
            Value::Array(both).into()
        } else {
            YaqlValue::Iter(both)
        });
    }
    let (YaqlValue::Data(a), YaqlValue::Data(b)) = (&left, &right) else {
        return Err(wrong());
    };
    let times = |count: &Number, length: usize| {
        let count = usize::try_from(count.as_i64().unwrap_or(0)).unwrap_or(0);
        count
            .checked_mul(length.max(1))
            .filter(|length| *length <= TEXT_BYTES_MAX)
            .map(|_| count)
            .ok_or_else(wrong)
    };
    let value: Value = match (operator, a, b) {
        ("+", Value::String(a), Value::String(b)) if a.len() + b.len() <= TEXT_BYTES_MAX => {
            format!("{a}{b}").into()
        }
        ("+", Value::Object(a), Value::Object(b)) => {
            let both = a.iter().chain(b);
            let both: Map<_, _> = both
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            both.into()
        }
        ("*", Value::String(text), Value::Number(count))
        | ("*", Value::Number(count), Value::String(text)) => {
            text.repeat(times(count, text.len())?).into()
        }
        ("*", Value::Array(items), Value::Number(count))
        | ("*", Value::Number(count), Value::Array(items)) => {
            let count = times(count, items.len())?;
            let weight = items.iter().map(|item| budget::weight(item, 1));
            let weight = weight.sum::<Result<usize, _>>()?;
            budget::spend(weight.saturating_mul(count))?;
            let all = std::iter::repeat_n(items, count).flatten();
            all.cloned().collect()
        }
        (_, Value::Number(a), Value::Number(b)) => number(operator, a, b).ok_or_else(wrong)?,
        _ => return Err(wrong()),
    };
    Ok(value.into())
}

/// Compares numbers by value and texts by characters. Null is less than all other values.
pub(super) fn compare(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Null, _) | (_, Value::Null) => Some(b.is_null().cmp(&a.is_null())),
        _ => None,
    }
}

/// Calculates. Integers stay integers, and are divided as in Python.
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
            "mod" if b != 0 => a.checked_rem(b)?.checked_add(b)?.checked_rem(b)?,
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

/// Larger or smaller of two values.
pub(super) fn larger(name: &str, a: YaqlValue, b: YaqlValue) -> Result<YaqlValue, String> {
    let (a, b) = (a.value()?, b.value()?);
    let order =
        compare(&b, &a).ok_or_else(|| format!("`{name}` of `yaql` compares numbers, or texts"))?;
    Ok(if order.is_gt() == (name == "max") {
        b.into()
    } else {
        a.into()
    })
}

/// True if a pattern, given as a pattern or as a text, is found in a text.
pub(super) fn found(text: &YaqlValue, by: &YaqlValue) -> Result<bool, String> {
    let YaqlValue::Data(Value::String(text)) = text else {
        return Err(format!(
            "`=~` of `yaql` takes a text, not `{}`",
            text.shown()
        ));
    };
    match by {
        YaqlValue::Regex(regex) => regex.is_match(text),
        YaqlValue::Data(Value::String(pattern)) => {
            Regex::new(pattern, false, false, false)?.is_match(text)
        }
        other => Err(format!(
            "`=~` of `yaql` takes a pattern, not `{}`",
            other.shown()
        )),
    }
}
