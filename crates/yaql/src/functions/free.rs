//! Functions that are not methods.

use std::{collections::HashMap, rc::Rc};

use serde_json::{Number, Value};

use crate::{
    ITEMS_MAX,
    call::Call,
    operators::{binary, larger},
    parse::Tree,
    pattern::Regex,
    value::{Frame, YaqlValue, key_text, text, unique, within_limit},
};

pub(super) fn call(call: &Call<'_>) -> Result<YaqlValue, String> {
    let yes = |truth: bool| Ok(truth.into());
    match call.name {
        "let" => names(call),
        "with" => Ok(YaqlValue::Frame(Frame::with(call.frame, &call.values()?)?)),
        "switch" => switch(call),
        "coalesce" => {
            for tree in &call.rest {
                let value = call.evaluate(tree)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            Ok(Value::Null.into())
        }
        "selectCase" => {
            for (index, tree) in call.rest.iter().enumerate() {
                if call.evaluate(tree)?.truth() {
                    return Ok(index.into());
                }
            }
            Ok(call.rest.len().into())
        }
        "examine" => {
            let truths = call.values()?.into_iter().map(|got| got.truth().into());
            Ok(YaqlValue::Iter(truths.collect()))
        }
        "selectAllCases" => {
            let truths = call.values()?.into_iter().enumerate();
            let held = truths.filter(|(_, got)| got.truth());
            Ok(YaqlValue::Iter(
                held.map(|(index, _)| index.into()).collect(),
            ))
        }
        "list" => Ok(Value::Array(flat(call.values()?)?).into()),
        "set" => Ok(YaqlValue::Set(unique(flat(call.values()?)?))),
        "dict" => dict(call),
        "concat" => concat(call),
        "range" => range(call),
        "generate" => generate(call),
        "str" => Ok(text(&call.value(0)?).into()),
        "bool" => yes(call.need(0)?.truth()),
        "isBoolean" => yes(matches!(call.need(0)?, YaqlValue::Data(Value::Bool(_)))),
        "isString" => yes(matches!(call.need(0)?, YaqlValue::Data(Value::String(_)))),
        "isList" => yes(matches!(call.need(0)?, YaqlValue::Data(Value::Array(_)))),
        "isDict" => yes(matches!(call.need(0)?, YaqlValue::Data(Value::Object(_)))),
        "isSet" => yes(matches!(call.need(0)?, YaqlValue::Set(_))),
        "isIterable" => yes(call.need(0)?.iterable().is_some()),
        "isRegex" => yes(matches!(call.need(0)?, YaqlValue::Regex(_))),
        "isNumber" => yes(matches!(call.need(0)?, YaqlValue::Data(Value::Number(_)))),
        "isInteger" => {
            yes(matches!(call.need(0)?, YaqlValue::Data(Value::Number(number)) if !number.is_f64()))
        }
        "regex" => {
            let flag =
                |place: usize| Ok::<_, String>(call.got(place)?.is_some_and(|got| got.truth()));
            let pattern = call.text(0)?.ok_or_else(|| call.lacks())?;
            let regex = Regex::new(&pattern, flag(1)?, flag(2)?, flag(3)?)?;
            Ok(YaqlValue::Regex(Rc::new(regex)))
        }
        "escapeRegex" => {
            let text = call.text(0)?.ok_or_else(|| call.lacks())?;
            Ok(regex_lite::escape(&text).into())
        }
        "max" | "min" => larger(call.name, call.need(0)?, call.need(1)?),
        "int" | "float" => converted(call),
        _ => number(call),
    }
}

/// Names for the expression after `->`.
fn names(call: &Call<'_>) -> Result<YaqlValue, String> {
    let mut names = HashMap::new();
    let mut place = 0;
    for tree in &call.rest {
        match tree {
            Tree::Pair(key, value) => {
                let Tree::Word(name) = key.as_ref() else {
                    return Err("`let` of `yaql` takes `name => value`".to_owned());
                };
                names.insert(name.clone(), call.evaluate(value)?);
            }
            plain => {
                place += 1;
                names.insert(place.to_string(), call.evaluate(plain)?);
            }
        }
    }
    Frame::new(Some(call.frame), names).map(YaqlValue::Frame)
}

/// Value after the first condition that holds.
fn switch(call: &Call<'_>) -> Result<YaqlValue, String> {
    for tree in &call.rest {
        let Tree::Pair(condition, value) = tree else {
            return Err("`switch` of `yaql` takes `condition => value`".to_owned());
        };
        if call.evaluate(condition)?.truth() {
            return call.evaluate(value);
        }
    }
    Ok(Value::Null.into())
}

/// Map of pairs, or of one list of pairs.
fn dict(call: &Call<'_>) -> Result<YaqlValue, String> {
    let [only] = call.rest.as_slice() else {
        return Ok(call.map()?.into());
    };
    if matches!(only, Tree::Pair(..)) {
        return Ok(call.map()?.into());
    }
    let given = call.evaluate(only)?;
    let mut map = serde_json::Map::new();
    for item in given.items("dict")? {
        let pair = YaqlValue::Data(item).items("dict")?;
        let [key, value, ..] = pair.as_slice() else {
            return Err("`dict` of `yaql` takes pairs of a key and a value".to_owned());
        };
        map.insert(key_text(key), value.clone());
    }
    Ok(Value::Object(map).into())
}

/// Flattens iterables. A list stays an item.
fn flat(values: Vec<YaqlValue>) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for got in values {
        match got {
            YaqlValue::Iter(items) => all.extend(items),
            other => all.push(other.value()?),
        }
    }
    within_limit(all.len())?;
    Ok(all)
}

/// Concatenates texts or lists.
fn concat(call: &Call<'_>) -> Result<YaqlValue, String> {
    let values = call.values()?;
    if values.iter().any(|got| got.iterable().is_some()) {
        let mut all = Vec::new();
        for got in &values {
            all.extend(got.items("concat")?);
        }
        return Ok(YaqlValue::Iter(all));
    }
    let start: YaqlValue = "".into();
    values
        .into_iter()
        .try_fold(start, |sum, item| binary("+", sum, item))
}

fn range(call: &Call<'_>) -> Result<YaqlValue, String> {
    let first = call.integer(0, 0)?;
    let (start, stop) = if call.has(1) {
        (first, call.integer(1, 0)?)
    } else {
        (0, first)
    };
    let step = call.integer(2, 1)?;
    if step == 0 {
        return Err("the step of `range` of `yaql` is not 0".to_owned());
    }
    let mut all = Vec::new();
    let mut at = start;
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        all.push(at.into());
        if all.len() > ITEMS_MAX {
            break;
        }
        at = at.saturating_add(step);
    }
    within_limit(all.len())?;
    Ok(YaqlValue::Iter(all))
}

fn generate(call: &Call<'_>) -> Result<YaqlValue, String> {
    let (goes_on, next) = (call.need_lambda(1)?, call.need_lambda(2)?);
    let selector = call.lambda(3);
    let mut at = call.need(0)?;
    let mut all = Vec::new();
    while goes_on(std::slice::from_ref(&at))?.truth() {
        let item = match &selector {
            Some(selector) => selector(std::slice::from_ref(&at))?,
            None => at.clone(),
        };
        all.push(item.value()?);
        if all.len() > ITEMS_MAX {
            break;
        }
        at = next(&[at])?;
    }
    within_limit(all.len())?;
    Ok(YaqlValue::Iter(all))
}

fn converted(call: &Call<'_>) -> Result<YaqlValue, String> {
    let value = call.value(0)?;
    let whole = call.name == "int";
    let number = match &value {
        Value::Null => Some(0.0),
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        Value::Number(number) => {
            if let (true, Some(number)) = (whole, number.as_i64()) {
                return Ok(number.into());
            }
            number.as_f64()
        }
        Value::String(text) if whole => match text.trim().parse::<i64>() {
            Ok(number) => return Ok(number.into()),
            Err(_) => None,
        },
        Value::String(text) => text.trim().parse::<f64>().ok(),
        _ => None,
    };
    let number = number.ok_or_else(|| call.wrong(&value.into()))?;
    Ok(if whole {
        (number.trunc() as i64).into()
    } else {
        float(number)
    })
}

fn float(number: f64) -> YaqlValue {
    Number::from_f64(number)
        .map_or(Value::Null, Value::Number)
        .into()
}

fn number(call: &Call<'_>) -> Result<YaqlValue, String> {
    let first = call.value(0)?;
    let wrong = || call.wrong(&first.clone().into());
    if let ("abs" | "sign" | "round" | "pow", Value::Number(number)) = (call.name, &first) {
        let (whole, value) = (number.as_i64(), number.as_f64().unwrap_or_default());
        return Ok(match (call.name, whole) {
            ("abs", Some(whole)) => whole.checked_abs().ok_or_else(wrong)?.into(),
            ("abs", None) => float(value.abs()),
            ("sign", _) => i64::from(value > 0.0)
                .wrapping_sub(i64::from(value < 0.0))
                .into(),
            ("round", Some(whole)) if call.integer(1, 0)? >= 0 => whole.into(),
            ("round", _) => {
                let by = 10f64.powi(i32::try_from(call.integer(1, 0)?).map_err(|_| wrong())?);
                float((value * by).round_ties_even() / by)
            }
            _ => power(call, whole, value).ok_or_else(wrong)?,
        });
    }
    let (a, b) = (call.integer(0, 0)?, call.integer(1, 0)?);
    let bits = || u32::try_from(b).ok();
    let result = match call.name {
        "bitwiseAnd" => Some(a & b),
        "bitwiseOr" => Some(a | b),
        "bitwiseXor" => Some(a ^ b),
        "bitwiseNot" => Some(!a),
        "shiftBitsLeft" => bits().and_then(|bits| 1i64.checked_shl(bits)?.checked_mul(a)),
        "shiftBitsRight" => bits().map(|bits| a >> bits.min(63)),
        "hex" => {
            let sign = if a < 0 { "-" } else { "" };
            return Ok(format!("{sign}{:#x}", a.unsigned_abs()).into());
        }
        _ => None,
    };
    result.map(YaqlValue::from).ok_or_else(wrong)
}

fn power(call: &Call<'_>, whole: Option<i64>, value: f64) -> Option<YaqlValue> {
    let Value::Number(by) = call.value(1).ok()? else {
        return None;
    };
    match (whole, by.as_u64()) {
        (Some(whole), Some(by)) => {
            let power = whole.checked_pow(u32::try_from(by).ok()?)?;
            match call.got(2).ok()? {
                Some(YaqlValue::Data(Value::Number(rest))) => {
                    Some(power.checked_rem_euclid(rest.as_i64()?)?.into())
                }
                _ => Some(power.into()),
            }
        }
        _ => Some(float(value.powf(by.as_f64()?))),
    }
}
