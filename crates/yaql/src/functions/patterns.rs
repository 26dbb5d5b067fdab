//! Methods of patterns (`regex('...')`), and methods of texts that take a pattern.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::{
    ITEMS_MAX, TEXT_BYTES_MAX,
    call::Call,
    operators::found,
    pattern::Regex,
    value::{Frame, YaqlValue, within_limit},
};

/// Calls a method with patterns. `None` if there is no such method.
pub(super) fn call(call: &Call<'_>, of: &YaqlValue) -> Option<Result<YaqlValue, String>> {
    match (call.name, of) {
        ("matches" | "search" | "searchAll", YaqlValue::Regex(_)) => {}
        (
            "split" | "replace" | "replaceBy",
            YaqlValue::Regex(_) | YaqlValue::Data(Value::String(_)),
        ) => {}
        ("matches", YaqlValue::Data(Value::String(_))) => {
            return Some(call.need(0).and_then(|by| Ok(found(of, &by)?.into())));
        }
        _ => return None,
    }
    let other = match call.need(0) {
        Ok(other) => other,
        // `split()` of a text needs no argument.
        Err(_) if !matches!(of, YaqlValue::Regex(_)) => return None,
        Err(why) => return Some(Err(why)),
    };
    match (of, &other) {
        (YaqlValue::Regex(regex), YaqlValue::Data(Value::String(text)))
        | (YaqlValue::Data(Value::String(text)), YaqlValue::Regex(regex)) => {
            Some(done(call, regex, text))
        }
        (YaqlValue::Regex(_), other) => Some(Err(call.wrong(other))),
        _ => None,
    }
}

fn done(call: &Call<'_>, regex: &Regex, text: &str) -> Result<YaqlValue, String> {
    let most = |place: usize| {
        let most = call.integer(place, 0)?;
        Ok::<_, String>(usize::try_from(most).ok().filter(|most| *most > 0))
    };
    match call.name {
        "matches" => Ok(regex.is_match(text)?.into()),
        "search" => match regex.captures(text)? {
            Some(captures) => one(call, &captures, &mut Letters::of(text)),
            None => Ok(Value::Null.into()),
        },
        "searchAll" => {
            let mut letters = Letters::of(text);
            let all = regex.captures_iter(text).take(ITEMS_MAX + 1);
            let all = all.map(|captures| one(call, &captures?, &mut letters)?.value());
            let all = all.collect::<Result<Vec<_>, String>>()?;
            within_limit(all.len())?;
            Ok(YaqlValue::Iter(all))
        }
        "split" => {
            let (mut parts, mut at) = (Vec::new(), 0);
            for captures in regex
                .captures_iter(text)
                .take(most(1)?.unwrap_or(usize::MAX))
            {
                let captures = captures?;
                let Some(whole) = captures.get(0) else {
                    continue;
                };
                parts.push(text[at..whole.start()].into());
                let groups = captures.iter().skip(1);
                parts.extend(groups.map(|group| match group {
                    Some(group) => group.as_str().into(),
                    None => Value::Null,
                }));
                at = whole.end();
            }
            parts.push(text[at..].into());
            Ok(Value::Array(parts).into())
        }
        _ => replaced(call, regex, text, most(2)?),
    }
}

/// Result for a match: its text, or the selector's result.
fn one(
    call: &Call<'_>,
    captures: &regex_lite::Captures<'_>,
    letters: &mut Letters<'_>,
) -> Result<YaqlValue, String> {
    match call.in_frame(1) {
        Some(selector) => selector(&groups(call, captures, letters)?),
        None => Ok(captures[0].into()),
    }
}

/// Counter of characters in a text, match by match.
struct Letters<'t> {
    text: &'t str,
    byte: usize,
    letters: usize,
}

impl Letters<'_> {
    fn of(text: &str) -> Letters<'_> {
        Letters {
            text,
            byte: 0,
            letters: 0,
        }
    }

    /// Moves to a match, which must be after the previous one.
    fn go_to(&mut self, byte: usize) {
        self.letters += self.text[self.byte..byte].chars().count();
        self.byte = byte;
    }

    /// Number of characters before a position in the match.
    fn before(&self, byte: usize) -> usize {
        self.letters + self.text[self.byte..byte].chars().count()
    }
}

/// Frame with the whole match as `$`, and the groups as `$2`, `$3` ... Positions count characters.
fn groups(
    call: &Call<'_>,
    captures: &regex_lite::Captures<'_>,
    letters: &mut Letters<'_>,
) -> Result<Rc<Frame>, String> {
    letters.go_to(captures.get(0).map_or(letters.byte, |whole| whole.start()));
    let all: Vec<YaqlValue> = captures
        .iter()
        .map(|group| match group {
            Some(group) => {
                let (start, end) = (letters.before(group.start()), letters.before(group.end()));
                json!({"value": group.as_str(), "start": start, "end": end})
            }
            None => json!({"value": null, "start": -1, "end": -1}),
        })
        .map(YaqlValue::Data)
        .collect();
    Frame::with(call.frame, &all)
}

fn replaced(
    call: &Call<'_>,
    regex: &Regex,
    text: &str,
    most: Option<usize>,
) -> Result<YaqlValue, String> {
    let mut out = String::new();
    let mut at = 0;
    let mut letters = Letters::of(text);
    for captures in regex.captures_iter(text).take(most.unwrap_or(usize::MAX)) {
        let captures = captures?;
        let Some(whole) = captures.get(0) else {
            continue;
        };
        out.push_str(&text[at..whole.start()]);
        at = whole.end();
        if call.name == "replaceBy" {
            let selector = call.in_frame(1).ok_or_else(|| call.lacks())?;
            match selector(&groups(call, &captures, &mut letters)?)? {
                YaqlValue::Data(Value::String(text)) => out.push_str(&text),
                other => return Err(call.wrong(&other)),
            }
        } else {
            let by = call.text(1)?.ok_or_else(|| call.lacks())?;
            expand(&by, &captures, &mut out);
        }
        if out.len() > TEXT_BYTES_MAX {
            return Err("`replace` of `yaql` would give too much text".to_owned());
        }
    }
    out.push_str(&text[at..]);
    Ok(out.into())
}

/// Expands `\1` and `\g<name>` as in Python. Stops if the text exceeds the limit.
fn expand(by: &str, captures: &regex_lite::Captures<'_>, out: &mut String) {
    let mut rest = by;
    while let Some(at) = rest.find('\\')
        && out.len() <= TEXT_BYTES_MAX
    {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let digits = after
            .chars()
            .take(2)
            .take_while(char::is_ascii_digit)
            .count();
        let name = after
            .strip_prefix("g<")
            .and_then(|name| name.split_once('>'));
        if let Some((name, behind)) = name {
            let group = match name.parse::<usize>() {
                Ok(number) => captures.get(number),
                Err(_) => captures.name(name),
            };
            out.push_str(group.map_or("", |group| group.as_str()));
            rest = behind;
        } else if digits > 0 {
            let group = after[..digits]
                .parse()
                .ok()
                .and_then(|number| captures.get(number));
            out.push_str(group.map_or("", |group| group.as_str()));
            rest = &after[digits..];
        } else {
            let (c, length) = match after.chars().next() {
                Some('n') => ('\n', 1),
                Some('t') => ('\t', 1),
                Some('r') => ('\r', 1),
                Some('\\') => ('\\', 1),
                _ => ('\\', 0),
            };
            out.push(c);
            rest = &after[length..];
        }
    }
    out.push_str(rest);
}
