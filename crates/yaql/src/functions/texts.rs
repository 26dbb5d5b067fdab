//! Methods of texts. Positions count characters.

use serde_json::Value;

use crate::{
    TEXT_BYTES_MAX, budget,
    call::Call,
    parse::Tree,
    value::{YaqlValue, plain, text},
};

/// Calls a method of a text. `None` if there is no such method.
pub(super) fn call(call: &Call<'_>, of: &YaqlValue) -> Option<Result<YaqlValue, String>> {
    match (call.name, of) {
        ("isEmpty" | "norm", YaqlValue::Data(Value::Null)) => {
            return Some(Ok(match call.name {
                "norm" => Value::Null.into(),
                _ => true.into(),
            }));
        }
        // `text.join(list)`.
        ("join", YaqlValue::Data(Value::String(_))) => {}
        ("join", list) => return joined(call, list),
        _ => {}
    }
    let YaqlValue::Data(Value::String(of)) = of else {
        return None;
    };
    Some(match call.name {
        "len" => Ok(of.chars().count().into()),
        "toUpper" => Ok(of.to_uppercase().into()),
        "toLower" => Ok(of.to_lowercase().into()),
        "trim" | "trimLeft" | "trimRight" => trimmed(call, 0, of, call.name).map(YaqlValue::from),
        "norm" => trimmed(call, 0, of, "trim").map(|text| {
            if text.is_empty() {
                Value::Null.into()
            } else {
                text.into()
            }
        }),
        "isEmpty" => is_empty(call, of),
        "split" => split(call, of, Start::Left),
        "rightSplit" => split(call, of, Start::Right),
        "replace" => replaced(call, of),
        "join" => between(call, of),
        "format" => format(call, of),
        "substring" => substring(call, of),
        "indexOf" | "lastIndexOf" => index_of(call, of),
        "toCharArray" => budget::spend(of.len().saturating_mul(budget::VALUE)).map(|()| {
            let letters = of.chars().map(|c| c.to_string().into());
            Value::Array(letters.collect()).into()
        }),
        "startsWith" => any(call, |part| of.starts_with(part)),
        "endsWith" => any(call, |part| of.ends_with(part)),
        _ => return None,
    })
}

/// `list.join(text)`. `None` if the argument is another list.
fn joined(call: &Call<'_>, list: &YaqlValue) -> Option<Result<YaqlValue, String>> {
    if call.has(1) {
        return None;
    }
    let by = match call.text(0) {
        Ok(by) => by.unwrap_or_default(),
        Err(why) => return Some(Err(why)),
    };
    Some(
        list.items("join")
            .and_then(|items| put_together(&items, &by)),
    )
}

fn put_together(items: &[Value], by: &str) -> Result<YaqlValue, String> {
    let texts: Vec<String> = items.iter().map(text).collect();
    let length: usize = texts.iter().map(|text| text.len() + by.len()).sum();
    if length > TEXT_BYTES_MAX {
        return Err("`join` of `yaql` would give too much text".to_owned());
    }
    Ok(texts.join(by).into())
}

fn between(call: &Call<'_>, by: &str) -> Result<YaqlValue, String> {
    let items = call.need(0)?.items("join")?;
    put_together(&items, by)
}

fn trimmed(call: &Call<'_>, place: usize, of: &str, how: &str) -> Result<String, String> {
    let chars = call.text(place)?;
    let goes = |c: char| match &chars {
        Some(chars) => chars.contains(c),
        None => c.is_whitespace(),
    };
    Ok(match how {
        "trimLeft" => of.trim_start_matches(goes),
        "trimRight" => of.trim_end_matches(goes),
        _ => of.trim_matches(goes),
    }
    .to_owned())
}

fn is_empty(call: &Call<'_>, of: &str) -> Result<YaqlValue, String> {
    let trim = call.got(0)?.is_none_or(|trim| trim.truth());
    Ok(if trim {
        trimmed(call, 1, of, "trim")?.is_empty()
    } else {
        of.is_empty()
    }
    .into())
}

/// The end at which a text is split first.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    Left,
    Right,
}

fn split(call: &Call<'_>, of: &str, start: Start) -> Result<YaqlValue, String> {
    let most =
        usize::try_from(call.integer(1, -1)?).map_or(usize::MAX, |most| most.saturating_add(1));
    let list = |parts: Vec<&str>| Value::Array(parts.into_iter().map(Value::from).collect()).into();
    let Some(by) = call.text(0)? else {
        return Ok(list(words(of, most, start)));
    };
    if by.is_empty() {
        return Err(format!("`{}` of `yaql` takes a text", call.name));
    }
    Ok(list(if start == Start::Right {
        let mut parts: Vec<&str> = of.rsplitn(most, by.as_str()).collect();
        parts.reverse();
        parts
    } else {
        of.splitn(most, by.as_str()).collect()
    }))
}

/// Splits at any white space. The last part is not split further.
fn words(of: &str, most: usize, start: Start) -> Vec<&str> {
    let from_right = start == Start::Right;
    let mut parts = Vec::new();
    let mut rest = if from_right {
        of.trim_end()
    } else {
        of.trim_start()
    };
    while !rest.is_empty() {
        let cut = if from_right {
            rest.rsplit_once(char::is_whitespace)
                .map(|(before, last)| (last, before))
        } else {
            rest.split_once(char::is_whitespace)
        };
        let (part, behind) = cut.filter(|_| parts.len() + 1 < most).unwrap_or((rest, ""));
        parts.push(part);
        rest = if from_right {
            behind.trim_end()
        } else {
            behind.trim_start()
        };
    }
    if from_right {
        parts.reverse();
    }
    parts
}

fn replaced(call: &Call<'_>, of: &str) -> Result<YaqlValue, String> {
    let old = call.need(0)?;
    let mut pairs = Vec::new();
    let count = match &old {
        YaqlValue::Data(Value::Object(map)) => {
            pairs.extend(map.iter().map(|(key, value)| (key.clone(), text(value))));
            call.integer(1, -1)?
        }
        YaqlValue::Data(Value::String(old)) => {
            let new = call.text(1)?.ok_or_else(|| call.lacks())?;
            pairs.push((old.clone(), new));
            call.integer(2, -1)?
        }
        other => return Err(call.wrong(other)),
    };
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let mut result = of.to_owned();
    for (from, to) in pairs {
        budget::spend(result.len())?;
        let found = if from.is_empty() {
            result.chars().count() + 1
        } else {
            result.matches(from.as_str()).count()
        };
        if found.min(most).saturating_mul(to.len()) + result.len() > TEXT_BYTES_MAX {
            return Err("`replace` of `yaql` would give too much text".to_owned());
        }
        result = result.replacen(from.as_str(), &to, most);
    }
    Ok(result.into())
}

/// Formats `{}`, `{0}` and `{name}`, as in Python, without conversions.
fn format(call: &Call<'_>, of: &str) -> Result<YaqlValue, String> {
    let unknown = |field: &str| {
        format!(
            "`format` of `yaql` does not know `{{{}}}`",
            crate::shown(field)
        )
    };
    let (named, placed): (Vec<_>, Vec<_>) = call
        .rest
        .iter()
        .partition(|tree| matches!(tree, Tree::Pair(..)));
    let value = |tree| call.evaluate(tree)?.value();
    let placed = placed.into_iter().map(&value);
    let placed = placed.collect::<Result<Vec<_>, String>>()?;
    let mut out = String::new();
    let mut next = 0;
    let mut rest = of;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let from = &rest[at..];
        if from.starts_with("{{") || from.starts_with("}}") {
            out.push_str(&from[..1]);
            rest = &from[2..];
            continue;
        }
        let (field, behind) = from
            .strip_prefix('{')
            .and_then(|inner| inner.split_once('}'))
            .ok_or_else(|| unknown(""))?;
        let found = match field {
            "" => {
                next += 1;
                placed.get(next - 1).cloned()
            }
            field => match field.parse::<usize>() {
                Ok(place) => placed.get(place).cloned(),
                Err(_) => named.iter().find_map(|tree| match tree {
                    Tree::Pair(key, inner) => match key.as_ref() {
                        Tree::Word(word) if word == field => value(inner).ok(),
                        _ => None,
                    },
                    _ => None,
                }),
            },
        };
        out.push_str(&plain(&found.ok_or_else(|| unknown(field))?));
        if out.len() > TEXT_BYTES_MAX {
            return Err("`format` of `yaql` would give too much text".to_owned());
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out.into())
}

/// Position in bytes for a position in characters. Negative positions count from the end.
fn byte(of: &str, at: i64) -> usize {
    let length = i64::try_from(of.chars().count()).unwrap_or(i64::MAX);
    let at = if at < 0 {
        at.saturating_add(length)
    } else {
        at
    };
    let at = usize::try_from(at.max(0)).unwrap_or(usize::MAX);
    of.char_indices().nth(at).map_or(of.len(), |(at, _)| at)
}

/// Byte offset and text of a part with this start and length. A negative length means the rest of the text.
fn part(of: &str, start: i64, length: i64) -> (usize, &str) {
    let start = byte(of, start);
    let rest = &of[start..];
    let end = if length < 0 {
        rest.len()
    } else {
        byte(rest, length)
    };
    (start, &rest[..end])
}

fn substring(call: &Call<'_>, of: &str) -> Result<YaqlValue, String> {
    let start = call.integer(0, 0)?;
    Ok(part(of, start, call.integer(1, -1)?).1.into())
}

fn index_of(call: &Call<'_>, of: &str) -> Result<YaqlValue, String> {
    let wanted = call.text(0)?.ok_or_else(|| call.lacks())?;
    let (start, within) = part(of, call.integer(1, 0)?, call.integer(2, -1)?);
    let found = match call.name {
        "indexOf" => within.find(&wanted),
        _ => within.rfind(&wanted),
    };
    Ok(match found {
        Some(at) => of[..start + at].chars().count().into(),
        None => (-1).into(),
    })
}

fn any(call: &Call<'_>, fits: impl Fn(&str) -> bool) -> Result<YaqlValue, String> {
    let mut truth = false;
    for value in call.values()? {
        match value {
            YaqlValue::Data(Value::String(part)) => truth |= fits(&part),
            other => return Err(call.wrong(&other)),
        }
    }
    Ok(truth.into())
}
