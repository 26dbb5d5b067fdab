//! From a tree to its value.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use serde_json::{Map, Number, Value};

use super::{
    budget, call,
    parse::Tree,
    regex,
    value::{Frame, Got, key_text, within_limit},
};
use crate::{TEXT_BYTES_MAX, python, shown};

/// The value of a whole expression, where `$` is `data`.
pub(super) fn run(tree: &Tree, data: Value) -> Result<Value, String> {
    budget::begin();
    let frame = Frame::new(None, HashMap::from([("1".to_owned(), data.into())]))?;
    let value = evaluate(tree, &frame)?.value()?;
    within_limits(&value)?;
    Ok(value)
}

/// What comes out is gone through too.
fn within_limits(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(items) => {
            within_limit(items.len())?;
            items.iter().try_for_each(within_limits)
        }
        Value::Object(map) => {
            within_limit(map.len())?;
            map.values().try_for_each(within_limits)
        }
        _ => Ok(()),
    }
}

pub(super) fn evaluate(tree: &Tree, frame: &Rc<Frame>) -> Result<Got, String> {
    budget::step()?;
    let got = found(tree, frame)?;
    // What is picked out of something was paid for with it.
    if !matches!(tree, Tree::Key(..) | Tree::Index(..)) {
        budget::pay(&got)?;
    }
    Ok(got)
}

fn found(tree: &Tree, frame: &Rc<Frame>) -> Result<Got, String> {
    let data = |tree: &Tree| evaluate(tree, frame)?.value();
    Ok(match tree {
        Tree::Variable(name) => frame.get(name),
        Tree::Value(value) => value.clone().into(),
        Tree::Word(word) => word.as_str().into(),
        Tree::Key(of, key) => key_of(&evaluate(of, frame)?, key)?,
        Tree::Index(of, arguments) => index(evaluate(of, frame)?, arguments, frame)?,
        Tree::Method(of, name, arguments) => {
            call::method(evaluate(of, frame)?, name, arguments, frame)?
        }
        Tree::Elvis(before, after) => {
            let before = evaluate(before, frame)?;
            if before.is_null() {
                return Ok(before);
            }
            match after.as_ref() {
                Tree::Key(_, key) => key_of(&before, key)?,
                Tree::Method(_, name, arguments) => call::method(before, name, arguments, frame)?,
                _ => return Err("`?.` of `yaql` is followed by a name".to_owned()),
            }
        }
        Tree::Before => Value::Null.into(),
        Tree::Call(name, arguments) => call::function(name, arguments, frame)?,
        Tree::List(items) => Value::Array(items.iter().map(data).collect::<Result<_, _>>()?).into(),
        Tree::Map(pairs) => map(pairs, frame)?.into(),
        Tree::Pair(..) => return Err("`=>` of `yaql` stands in maps only".to_owned()),
        Tree::Unary("not", inner) => (!evaluate(inner, frame)?.truth()).into(),
        Tree::Unary(sign, inner) => binary(sign, 0.into(), evaluate(inner, frame)?)?,
        Tree::Binary(operator @ ("and" | "or"), left, right) => {
            let left = evaluate(left, frame)?;
            if left.truth() == (*operator == "or") {
                left
            } else {
                evaluate(right, frame)?
            }
        }
        Tree::Binary("->", left, right) => match evaluate(left, frame)? {
            Got::Frame(names) => evaluate(right, &names)?,
            other => {
                return Err(format!(
                    "`->` of `yaql` follows names, such as `let(x => 1)`, not `{}`",
                    other.shown()
                ));
            }
        },
        Tree::Binary(operator @ ("=~" | "!~"), left, right) => {
            let (text, by) = (evaluate(left, frame)?, evaluate(right, frame)?);
            (regex::found(&text, &by)? == (*operator == "=~")).into()
        }
        Tree::Binary(operator, left, right) => {
            binary(operator, evaluate(left, frame)?, evaluate(right, frame)?)?
        }
    })
}

/// A map from `key => value` pairs.
pub(super) fn map(pairs: &[Tree], frame: &Rc<Frame>) -> Result<Value, String> {
    let mut map = Map::new();
    for pair in pairs {
        let Tree::Pair(key, value) = pair else {
            return Err("a map of `yaql` consists of `key => value`".to_owned());
        };
        let key = key_text(&evaluate(key, frame)?.value()?);
        map.insert(key, evaluate(value, frame)?.value()?);
    }
    Ok(map.into())
}

/// Of a list, the key of each item.
fn key_of(of: &Got, key: &str) -> Result<Got, String> {
    if of.iterable().is_some() {
        let keys = of.items(key)?.into_iter();
        let keys = keys.map(|item| key_of(&item.into(), key)?.value());
        return Ok(Got::Iter(keys.collect::<Result<_, _>>()?));
    }
    let found = match of {
        Got::Data(Value::Object(map)) => map.get(key),
        _ => None,
    };
    found
        .cloned()
        .map(Got::Data)
        .ok_or_else(|| format!("`yaql` finds no `{}` in `{}`", shown(key), of.shown()))
}

/// An item of a list or map; of what can be gone through, the items for which something holds.
fn index(of: Got, arguments: &[Tree], frame: &Rc<Frame>) -> Result<Got, String> {
    let at = |index: usize| match arguments.get(index) {
        Some(tree) => evaluate(tree, frame)?.value().map(Some),
        None => Ok(None),
    };
    let (key, otherwise) = (at(0)?.unwrap_or_default(), at(1)?);
    let none = || {
        format!(
            "`yaql` finds no `{}` in `{}`",
            shown(&python::text(&key)),
            of.shown()
        )
    };
    let found = match (&of, &key) {
        (Got::Data(Value::Object(map)), key) => map.get(&key_text(key)).cloned().or(otherwise),
        (Got::Data(Value::Array(items)), Value::Number(number)) => {
            number.as_i64().and_then(|at| nth(items, at)).cloned()
        }
        _ => None,
    };
    found.map(Got::Data).ok_or_else(none)
}

/// From the end, where the number is below zero.
fn nth(items: &[Value], at: i64) -> Option<&Value> {
    let from_end = usize::try_from(at.unsigned_abs()).ok()?;
    let at = match at < 0 {
        true => items.len().checked_sub(from_end)?,
        false => from_end,
    };
    items.get(at)
}

pub(super) fn binary(operator: &str, left: Got, right: Got) -> Result<Got, String> {
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
                (Got::Data(Value::String(part)), Got::Data(Value::String(text))) => {
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
    if let ("+" | "-", Got::Set(a), Got::Set(b)) = (operator, &left, &right) {
        let without = |from: &[Value], but: &[Value]| -> Vec<Value> {
            let but: HashSet<String> = but.iter().map(python::key).collect();
            let kept = from.iter().filter(|one| !but.contains(&python::key(one)));
            kept.cloned().collect()
        };
        return Ok(Got::Set(match operator {
            "-" => without(a, b),
            _ => [a.clone(), without(b, a)].concat(),
        }));
    }
    if operator == "+"
        && let (Some(a), Some(b)) = (left.iterable(), right.iterable())
    {
        let plain = |got: &Got| matches!(got, Got::Data(_));
        let both: Vec<Value> = a.into_iter().chain(b).collect();
        return Ok(match plain(&left) && plain(&right) {
            true => Value::Array(both).into(),
            false => Got::Iter(both),
        });
    }
    let (Got::Data(a), Got::Data(b)) = (&left, &right) else {
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

/// Numbers by value, texts by letters; nothing comes before all else.
pub(super) fn compare(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Null, _) | (_, Value::Null) => Some(b.is_null().cmp(&a.is_null())),
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
