//! Evaluates a tree.

use std::{collections::HashMap, rc::Rc};

use serde_json::Value;

use crate::{
    budget, call, functions,
    operators::{self, binary},
    parse::Tree,
    python, shown,
    value::{Frame, YaqlValue, key_text, within_limit},
};

/// Value of a whole expression, where `$` is `data`.
pub(super) fn run(tree: &Tree, data: Value) -> Result<Value, String> {
    budget::begin();
    let frame = Frame::new(None, HashMap::from([("1".to_owned(), data.into())]))?;
    let value = evaluate(tree, &frame)?.value()?;
    within_limits(&value)?;
    Ok(value)
}

/// Checks the size of the result, which is traversed later.
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

pub(super) fn evaluate(tree: &Tree, frame: &Rc<Frame>) -> Result<YaqlValue, String> {
    budget::step()?;
    let got = evaluate_node(tree, frame)?;
    // The weight of a selected part is included in that of the whole.
    if !matches!(tree, Tree::Key(..) | Tree::Index(..)) {
        got.charge()?;
    }
    Ok(got)
}

fn evaluate_node(tree: &Tree, frame: &Rc<Frame>) -> Result<YaqlValue, String> {
    let data = |tree: &Tree| evaluate(tree, frame)?.value();
    Ok(match tree {
        Tree::Variable(name) => frame.get(name),
        Tree::Value(value) => value.clone().into(),
        Tree::Word(word) => word.as_str().into(),
        Tree::Key(of, key) => key_of(&evaluate(of, frame)?, key)?,
        Tree::Index(of, arguments) => index(evaluate(of, frame)?, arguments, frame)?,
        Tree::Method(of, name, arguments) => {
            functions::method(evaluate(of, frame)?, name, arguments, frame, evaluate)?
        }
        Tree::Elvis(before, after) => {
            let before = evaluate(before, frame)?;
            if before.is_null() {
                return Ok(before);
            }
            match after.as_ref() {
                Tree::Key(_, key) => key_of(&before, key)?,
                Tree::Method(_, name, arguments) => {
                    functions::method(before, name, arguments, frame, evaluate)?
                }
                _ => return Err("`?.` of `yaql` is followed by a name".to_owned()),
            }
        }
        Tree::Before => Value::Null.into(),
        Tree::Call(name, arguments) => functions::function(name, arguments, frame, evaluate)?,
        Tree::List(items) => Value::Array(items.iter().map(data).collect::<Result<_, _>>()?).into(),
        Tree::Map(pairs) => call::map(pairs.iter(), |tree| evaluate(tree, frame))?.into(),
        Tree::Pair(..) => return Err("`=>` of `yaql` is allowed in maps only".to_owned()),
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
            YaqlValue::Frame(names) => evaluate(right, &names)?,
            other => {
                return Err(format!(
                    "`->` of `yaql` follows names, such as `let(x => 1)`, not `{}`",
                    other.shown()
                ));
            }
        },
        Tree::Binary(operator @ ("=~" | "!~"), left, right) => {
            let (text, by) = (evaluate(left, frame)?, evaluate(right, frame)?);
            (operators::found(&text, &by)? == (*operator == "=~")).into()
        }
        Tree::Binary(operator, left, right) => {
            binary(operator, evaluate(left, frame)?, evaluate(right, frame)?)?
        }
    })
}

/// Value of a key. For a list, the values of each item's key.
fn key_of(of: &YaqlValue, key: &str) -> Result<YaqlValue, String> {
    if of.iterable().is_some() {
        let keys = of.items(key)?.into_iter();
        let keys = keys.map(|item| key_of(&item.into(), key)?.value());
        return Ok(YaqlValue::Iter(keys.collect::<Result<_, _>>()?));
    }
    let found = match of {
        YaqlValue::Data(Value::Object(map)) => map.get(key),
        _ => None,
    };
    found
        .cloned()
        .map(YaqlValue::Data)
        .ok_or_else(|| format!("`yaql` finds no `{}` in `{}`", shown(key), of.shown()))
}

/// Item of a list or map. For an iterable, the items for which a predicate holds.
fn index(of: YaqlValue, arguments: &[Tree], frame: &Rc<Frame>) -> Result<YaqlValue, String> {
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
        (YaqlValue::Data(Value::Object(map)), key) => {
            map.get(&key_text(key)).cloned().or(otherwise)
        }
        (YaqlValue::Data(Value::Array(items)), Value::Number(number)) => {
            number.as_i64().and_then(|at| nth(items, at)).cloned()
        }
        _ => None,
    };
    found.map(YaqlValue::Data).ok_or_else(none)
}

/// Item at an index. Negative indices count from the end.
fn nth(items: &[Value], at: i64) -> Option<&Value> {
    let from_end = usize::try_from(at.unsigned_abs()).ok()?;
    let at = if at < 0 {
        items.len().checked_sub(from_end)?
    } else {
        from_end
    };
    items.get(at)
}
