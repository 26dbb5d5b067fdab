//! Methods of iterables.

use std::{cmp::Ordering, collections::HashMap};

use serde_json::Value;

use crate::{
    ITEMS_MAX, budget,
    call::Call,
    operators::{binary, compare, larger},
    python,
    value::{Frame, YaqlValue, key_text, unique, within_limit},
};

pub(super) fn call(call: &Call<'_>, of: YaqlValue) -> Result<YaqlValue, String> {
    match call.name {
        "repeat" => return repeated(call, of),
        "switchCase" => return switch_case(call, &of),
        "assert" => {
            return if call.need_lambda(0)?(std::slice::from_ref(&of))?.truth() {
                Ok(of)
            } else {
                Err(call
                    .text(1)?
                    .unwrap_or_else(|| "Assertion failed".to_owned()))
            };
        }
        "thenBy" | "thenByDescending" => return sorted(call, of),
        "len" => {
            let count = of.iterable().map(|items| items.len());
            return count.map(YaqlValue::from).ok_or_else(|| call.wrong(&of));
        }
        _ => {}
    }
    // A list stays a list.
    if let ("defaultIfEmpty" | "toList" | "memorize", YaqlValue::Data(Value::Array(items))) =
        (call.name, &of)
        && (call.name != "defaultIfEmpty" || !items.is_empty())
    {
        return Ok(of);
    }
    let is_set = matches!(of, YaqlValue::Set(_));
    let items = of.items(call.name)?;
    Ok(match call.name {
        "count" => items.len().into(),
        "toList" => Value::Array(items).into(),
        "memorize" => YaqlValue::Iter(items),
        "toSet" => YaqlValue::Set(unique(items)),
        "where" | "filter" | "select" | "map" | "selectMany" | "takeWhile" | "skipWhile" => {
            transform(call, items)?
        }
        "any" | "all" | "indexWhere" | "lastIndexWhere" => any_all_or_index(call, &items)?,
        "orderBy" | "orderByDescending" => sorted(
            call,
            YaqlValue::Sorted(items.into_iter().map(|item| (0, item)).collect()),
        )?,
        "skip" => YaqlValue::Iter(items.into_iter().skip(count(call)?).collect()),
        "limit" | "take" => YaqlValue::Iter(items.into_iter().take(count(call)?).collect()),
        "first" | "last" => first_or_last(call, items)?,
        "single" => match <[Value; 1]>::try_from(items) {
            Ok([only]) => only.into(),
            Err(_) => return Err("`single` of `yaql`: there is not exactly one item".to_owned()),
        },
        "sum" | "max" | "min" | "reduce" | "aggregate" | "accumulate" => folded(call, items)?,
        "groupBy" => grouped(call, items)?,
        "toDict" => to_dict(call, items)?,
        "distinct" => distinct(call, items)?,
        "flatten" => {
            let mut all = Vec::new();
            flatten(items, &mut all);
            within_limit(all.len())?;
            YaqlValue::Iter(all)
        }
        "reverse" => YaqlValue::Iter(items.into_iter().rev().collect()),
        "enumerate" => {
            let start = call.integer(0, 0)?;
            let numbered = (0..).zip(items).map(|(at, item): (i64, _)| {
                let at = start.checked_add(at);
                let at = at.ok_or_else(|| call.wrong(&start.into()))?;
                Ok::<_, String>(Value::from(vec![at.into(), item]))
            });
            YaqlValue::Iter(numbered.collect::<Result<_, _>>()?)
        }
        "append" | "concat" => {
            let mut all = items;
            for got in call.values()? {
                match call.name {
                    "append" => all.push(got.value()?),
                    _ => all.extend(got.items("concat")?),
                }
            }
            YaqlValue::Iter(all)
        }
        "zip" | "zipLongest" => zipped(call, items)?,
        "join" => joined(call, &items)?,
        "contains" | "indexOf" | "lastIndexOf" => place_of(call, &items)?,
        "slice" | "splitWhere" | "sliceWhere" | "splitAt" => cut(call, items)?,
        "defaultIfEmpty" => {
            if items.is_empty() {
                call.need(0)?
            } else {
                YaqlValue::Iter(items)
            }
        }
        "replace" | "replaceMany" | "delete" | "insert" | "insertMany" => {
            changed(call, &of, items)?
        }
        "union" | "intersect" | "difference" | "symmetricDifference" | "add" | "remove"
            if is_set =>
        {
            set(call, items)?
        }
        "unpack" => unpacked(call, items)?,
        _ => return Err(call.wrong(&of)),
    })
}

fn count(call: &Call<'_>) -> Result<usize, String> {
    usize::try_from(call.integer(0, 0)?)
        .map_err(|_| format!("`{}` of `yaql` takes a number from 0 on", call.name))
}

fn item(value: &Value) -> [YaqlValue; 1] {
    [YaqlValue::Data(value.clone())]
}

fn transform(call: &Call<'_>, items: Vec<Value>) -> Result<YaqlValue, String> {
    let each = call.need_lambda(0)?;
    let mut all = Vec::with_capacity(items.len());
    let mut skipping = call.name == "skipWhile";
    for value in items {
        let got = each(&item(&value))?;
        match call.name {
            "select" | "map" => all.push(got.value()?),
            "selectMany" => match got.iterable() {
                Some(inner) => all.extend(inner),
                None => all.push(got.value()?),
            },
            "where" | "filter" if got.truth() => all.push(value),
            "takeWhile" if got.truth() => all.push(value),
            "takeWhile" => break,
            "skipWhile" => {
                skipping &= got.truth();
                if !skipping {
                    all.push(value);
                }
            }
            _ => {}
        }
    }
    Ok(YaqlValue::Iter(all))
}

fn any_all_or_index(call: &Call<'_>, items: &[Value]) -> Result<YaqlValue, String> {
    let each = call.lambda(0);
    let holds = |value: &Value| match &each {
        Some(each) => Ok(each(&item(value))?.truth()),
        None => Ok::<_, String>(call.name == "any" || python::truth(value)),
    };
    let mut last = -1i64;
    for (at, value) in (0..).zip(items) {
        let truth = holds(value)?;
        match call.name {
            "any" if truth => return Ok(true.into()),
            "all" if !truth => return Ok(false.into()),
            "indexWhere" if truth => return Ok(at.into()),
            _ if truth => last = at,
            _ => {}
        }
    }
    Ok(match call.name {
        "any" => false.into(),
        "all" => true.into(),
        _ => last.into(),
    })
}

/// Sorts items that were equal in the previous sort, for `thenBy`.
fn sorted(call: &Call<'_>, of: YaqlValue) -> Result<YaqlValue, String> {
    let YaqlValue::Sorted(items) = of else {
        return Err(call.wrong(&of));
    };
    let each = call.need_lambda(0)?;
    let down = call.name.ends_with("Descending");
    let mut keyed = Vec::with_capacity(items.len());
    within_limit(items.len())?;
    for (rank, value) in items {
        keyed.push((rank, each(&item(&value))?.value()?, value));
    }
    let mut incomparable = false;
    let mut order = |a: &(usize, Value, Value), b: &(usize, Value, Value)| {
        let by_key = compare(&a.1, &b.1).unwrap_or_else(|| {
            incomparable = true;
            Ordering::Equal
        });
        a.0.cmp(&b.0)
            .then(if down { by_key.reverse() } else { by_key })
    };
    keyed.sort_by(&mut order);
    let mut ranked: Vec<(usize, Value)> = Vec::with_capacity(keyed.len());
    for index in 0..keyed.len() {
        let rank = match index.checked_sub(1) {
            Some(before) if order(&keyed[before], &keyed[index]).is_eq() => ranked[before].0,
            _ => index,
        };
        ranked.push((rank, keyed[index].2.clone()));
    }
    if incomparable {
        return Err(format!(
            "`{}` of `yaql` compares numbers, or texts",
            call.name
        ));
    }
    Ok(YaqlValue::Sorted(ranked))
}

fn first_or_last(call: &Call<'_>, mut items: Vec<Value>) -> Result<YaqlValue, String> {
    let found = match call.name {
        "first" => items.into_iter().next(),
        _ => items.pop(),
    };
    match (found, call.got(0)?) {
        (Some(found), _) => Ok(found.into()),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(format!("`{}` of `yaql`: the list is empty", call.name)),
    }
}

fn folded(call: &Call<'_>, items: Vec<Value>) -> Result<YaqlValue, String> {
    let by_selector = !matches!(call.name, "sum" | "max" | "min");
    let selector = if by_selector {
        Some(call.need_lambda(0)?)
    } else {
        None
    };
    let seed = call.got(usize::from(by_selector))?;
    let mut items = items.into_iter().map(YaqlValue::Data);
    let mut sum = match seed.or_else(|| items.next()) {
        Some(first) => first,
        None => return Err(format!("`{}` of `yaql`: the list is empty", call.name)),
    };
    // Only `accumulate` returns the intermediate results.
    let keeps_all = call.name == "accumulate";
    let mut all = Vec::new();
    for item in items {
        if keeps_all {
            all.push(sum.clone().value()?);
        }
        sum = match (&selector, call.name) {
            (Some(selector), _) => selector(&[sum, item])?,
            (None, "sum") => binary("+", sum, item)?,
            (None, name) => larger(name, sum, item)?,
        };
    }
    if keeps_all {
        all.push(sum.value()?);
        return Ok(YaqlValue::Iter(all));
    }
    Ok(sum)
}

fn grouped(call: &Call<'_>, items: Vec<Value>) -> Result<YaqlValue, String> {
    let (key, value, aggregator) = (call.need_lambda(0)?, call.lambda(1), call.lambda(2));
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for one in items {
        let key = key(&item(&one))?.value()?;
        let value = match &value {
            Some(value) => value(&item(&one))?.value()?,
            None => one,
        };
        let place = *known.entry(python::key(&key)).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(value);
    }
    let mut all = Vec::with_capacity(groups.len());
    for (key, values) in groups {
        let values = Value::Array(values);
        let pair = |value| Value::from(vec![key.clone(), value]);
        all.push(match &aggregator {
            None => pair(values),
            Some(aggregator) => match aggregator(&item(&values)) {
                Ok(got) => pair(got.value()?),
                // In its old form the aggregator takes and returns the pair.
                Err(why) => match aggregator(&item(&pair(values))).and_then(YaqlValue::value) {
                    Ok(Value::Array(made)) if made.len() == 2 => made.into(),
                    _ => return Err(why),
                },
            },
        });
    }
    Ok(YaqlValue::Iter(all))
}

fn to_dict(call: &Call<'_>, items: Vec<Value>) -> Result<YaqlValue, String> {
    let (key, value) = (call.need_lambda(0)?, call.lambda(1));
    let mut map = serde_json::Map::new();
    for one in items {
        let key = key_text(&key(&item(&one))?.value()?);
        let value = match &value {
            Some(value) => value(&item(&one))?.value()?,
            None => one,
        };
        map.insert(key, value);
    }
    Ok(Value::Object(map).into())
}

fn distinct(call: &Call<'_>, items: Vec<Value>) -> Result<YaqlValue, String> {
    let Some(key) = call.lambda(0) else {
        return Ok(YaqlValue::Iter(unique(items)));
    };
    let mut seen = std::collections::HashSet::new();
    let mut unique = Vec::new();
    for value in items {
        if seen.insert(python::key(&key(&item(&value))?.value()?)) {
            unique.push(value);
        }
    }
    Ok(YaqlValue::Iter(unique))
}

fn flatten(list: Vec<Value>, into: &mut Vec<Value>) {
    for item in list {
        match item {
            Value::Array(items) => flatten(items, into),
            other => into.push(other),
        }
    }
}

fn zipped(call: &Call<'_>, items: Vec<Value>) -> Result<YaqlValue, String> {
    let mut lists = vec![items];
    for got in call.values()? {
        lists.push(got.items(call.name)?);
    }
    let lengths = lists.iter().map(Vec::len);
    let length = match call.name {
        "zip" => lengths.min(),
        _ => lengths.max(),
    };
    let rows = (0..length.unwrap_or(0)).map(|row| {
        let row = lists.iter().map(|list| list.get(row).cloned());
        row.map(Option::unwrap_or_default).collect()
    });
    Ok(YaqlValue::Iter(rows.collect()))
}

/// Results of the selector for each pair of items for which the predicate holds.
fn joined(call: &Call<'_>, items: &[Value]) -> Result<YaqlValue, String> {
    let others = call.need(0)?.items("join")?;
    let (holds, select) = (call.need_lambda(1)?, call.need_lambda(2)?);
    let mut all = Vec::new();
    for one in items {
        for other in &others {
            let pair = [YaqlValue::Data(one.clone()), YaqlValue::Data(other.clone())];
            if holds(&pair)?.truth() {
                all.push(select(&pair)?.value()?);
            }
        }
    }
    within_limit(all.len())?;
    Ok(YaqlValue::Iter(all))
}

fn place_of(call: &Call<'_>, items: &[Value]) -> Result<YaqlValue, String> {
    let wanted = call.value(0)?;
    let is = |item: &Value| python::equal(item, &wanted);
    let found = match call.name {
        "lastIndexOf" => items.iter().rposition(is),
        _ => items.iter().position(is),
    };
    Ok(match (call.name, found) {
        ("contains", found) => found.is_some().into(),
        (_, Some(at)) => at.into(),
        (_, None) => (-1).into(),
    })
}

fn cut(call: &Call<'_>, items: Vec<Value>) -> Result<YaqlValue, String> {
    let list = |part: &[Value]| Value::Array(part.to_vec());
    if call.name == "splitAt" {
        let at = call.integer(0, 0)?;
        let distance = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
        let at = if at < 0 {
            items.len().saturating_sub(distance)
        } else {
            distance.min(items.len())
        };
        return Ok(Value::Array(vec![list(&items[..at]), list(&items[at..])]).into());
    }
    if call.name == "slice" {
        let length = count(call)?.max(1);
        return Ok(YaqlValue::Iter(items.chunks(length).map(list).collect()));
    }
    let each = call.need_lambda(0)?;
    let (mut parts, mut start) = (Vec::new(), 0);
    let mut before: Option<Value> = None;
    for (at, value) in items.iter().enumerate() {
        let got = each(&item(value))?;
        if call.name == "splitWhere" {
            if got.truth() {
                parts.push(list(&items[start..at]));
                start = at + 1;
            }
            continue;
        }
        let now = got.value()?;
        if before
            .as_ref()
            .is_some_and(|before| !python::equal(before, &now))
        {
            parts.push(list(&items[start..at]));
            start = at;
        }
        before = Some(now);
    }
    if start != items.len() {
        parts.push(list(&items[start..]));
    }
    Ok(YaqlValue::Iter(parts))
}

/// Removes, inserts or replaces items. `position` and `count` are as in Python's ranges.
fn changed(call: &Call<'_>, of: &YaqlValue, items: Vec<Value>) -> Result<YaqlValue, String> {
    if call.name.starts_with("insert") {
        let at = call.integer(0, 0)?;
        let new = match call.name {
            "insert" => vec![call.value(1)?],
            _ => call.need(1)?.items(call.name)?,
        };
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let is_list = matches!(of, YaqlValue::Data(_)) && call.name == "insert";
        let place = match (at < 0, is_list) {
            (true, true) => (at + length).max(0),
            // An iterable has no position before its first item.
            (true, false) if call.name == "insert" => return Ok(YaqlValue::Iter(items)),
            _ => at.clamp(0, length),
        };
        let mut items = items;
        let place = usize::try_from(place).unwrap_or(0);
        items.splice(place..place, new);
        return Ok(if is_list {
            Value::Array(items).into()
        } else {
            YaqlValue::Iter(items)
        });
    }
    let values = match call.name {
        "delete" => {
            let mut numbers = Vec::new();
            for got in call.values()? {
                let value = got.value()?;
                numbers.push(value.as_i64().ok_or_else(|| call.wrong(&value.into()))?);
            }
            let at = *numbers.first().ok_or_else(|| call.lacks())?;
            (at, numbers.get(1).copied().unwrap_or(1), Vec::new())
        }
        "replace" => (
            call.integer(0, 0)?,
            call.integer(2, 1)?,
            vec![call.value(1)?],
        ),
        _ => (
            call.integer(0, 0)?,
            call.integer(2, 1)?,
            call.need(1)?.items(call.name)?,
        ),
    };
    let (start, count, mut new) = values;
    let goes = |at: i64| {
        if count < 0 {
            at >= start
        } else {
            at >= start && at < start.saturating_add(count)
        }
    };
    let mut all = Vec::new();
    for (at, item) in (0..).zip(items) {
        if goes(at) {
            all.append(&mut new);
        } else {
            all.push(item);
        }
    }
    Ok(YaqlValue::Iter(all))
}

fn set(call: &Call<'_>, items: Vec<Value>) -> Result<YaqlValue, String> {
    let others = match call.name {
        "add" | "remove" => call
            .values()?
            .into_iter()
            .map(YaqlValue::value)
            .collect::<Result<Vec<_>, _>>()?,
        _ => match call.need(0)? {
            YaqlValue::Set(others) => others,
            other => return Err(call.wrong(&other)),
        },
    };
    let has = |list: &[Value], one: &Value| list.iter().any(|other| python::equal(other, one));
    let only = |list: &[Value], but: &[Value]| -> Vec<Value> {
        list.iter().filter(|one| !has(but, one)).cloned().collect()
    };
    Ok(YaqlValue::Set(match call.name {
        "union" | "add" => unique(items.into_iter().chain(others).collect()),
        "intersect" => items.into_iter().filter(|one| has(&others, one)).collect(),
        "symmetricDifference" => [only(&items, &others), only(&others, &items)].concat(),
        _ => only(&items, &others),
    }))
}

/// Frame with the items under the names `$1`, `$2` ..., or given names.
fn unpacked(call: &Call<'_>, items: Vec<Value>) -> Result<YaqlValue, String> {
    let names = call.values()?;
    if !names.is_empty() && names.len() != items.len() {
        return Err(format!(
            "`unpack` of `yaql` cannot give {} items to {} names",
            items.len(),
            names.len()
        ));
    }
    let mut given = HashMap::new();
    for (index, item) in items.into_iter().enumerate() {
        let name = match names.get(index) {
            Some(YaqlValue::Data(Value::String(name))) => name.clone(),
            Some(other) => return Err(call.wrong(other)),
            None => (index + 1).to_string(),
        };
        given.insert(name, item.into());
    }
    Frame::new(Some(call.frame), given).map(YaqlValue::Frame)
}

fn repeated(call: &Call<'_>, of: YaqlValue) -> Result<YaqlValue, String> {
    let times = call.integer(0, -1)?;
    let times = usize::try_from(times)
        .ok()
        .filter(|times| *times <= ITEMS_MAX);
    // Without a number of repetitions, only another list in `zip` would end the sequence.
    let times = times.unwrap_or(ITEMS_MAX);
    let value = of.value()?;
    budget::spend(budget::weight(&value, 1)?.saturating_mul(times))?;
    Ok(YaqlValue::Iter(vec![value; times]))
}

fn switch_case(call: &Call<'_>, of: &YaqlValue) -> Result<YaqlValue, String> {
    let YaqlValue::Data(Value::Number(number)) = of else {
        return Err(call.wrong(of));
    };
    let chosen = number
        .as_u64()
        .and_then(|at| call.rest.get(usize::try_from(at).ok()?))
        .or_else(|| call.rest.last());
    match chosen {
        Some(tree) => call.evaluate(tree),
        None => Ok(Value::Null.into()),
    }
}
