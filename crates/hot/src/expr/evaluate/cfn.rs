//! CloudFormation functions of the first HOT version.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Map, Value};

use super::{
    Function, items,
    text::{self, Strict},
};
use crate::expr::select as at;
use yaql::{python, shown};

/// `Fn::Select`: an item, or an empty text if it does not exist.
pub(super) fn select(arguments: Value) -> Result<Value, String> {
    let mut arguments = items(arguments).into_iter();
    let (Some(index), Some(collection)) = (arguments.next(), arguments.next()) else {
        return Err("`Fn::Select` takes an index and a list".to_owned());
    };
    match &collection {
        Value::Null => return Ok("".into()),
        Value::String(text) if text.is_empty() => return Ok("".into()),
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => {
            return Err(format!(
                "`Fn::Select` picks from a list or map, and `{}` is none",
                shown(text)
            ));
        }
        Value::Array(_) => {
            let number = match &index {
                Value::Number(number) => number.is_i64(),
                Value::String(text) => text.trim().parse::<i64>().is_ok(),
                _ => false,
            };
            if !number {
                return Err(format!(
                    "`{}` is no index into a list",
                    shown(&python::text(&index))
                ));
            }
        }
        _ => {}
    }
    Ok(at(Cow::Owned(collection), &[index]).unwrap_or_else(|| "".into()))
}

/// `Fn::Split`: parts of a text.
pub(super) fn split(arguments: Value) -> Result<Value, String> {
    match items(arguments).as_slice() {
        [Value::String(delimiter), Value::String(text)] if !delimiter.is_empty() => {
            Ok(text.split(delimiter.as_str()).collect())
        }
        _ => Err("`Fn::Split` takes a delimiter and a text".to_owned()),
    }
}

/// `Fn::Replace`: like `str_replace`.
pub(super) fn replace(arguments: Value) -> Result<Value, String> {
    match items(arguments).as_slice() {
        [Value::Object(params), Value::String(template)] => {
            text::replace_words(Function::FnReplace, template, params, Strict::No, false)
        }
        _ => Err("`Fn::Replace` takes a map and a text".to_owned()),
    }
}

/// `Fn::MemberListToMap`: a map from `.member.0.Name=key` and `.member.0.Value=value`.
pub(super) fn member_list_to_map(arguments: Value) -> Result<Value, String> {
    let (key_word, value_word, list) = match items(arguments).as_slice() {
        [Value::String(key), Value::String(value), Value::Array(list)] => {
            (key.clone(), value.clone(), list.clone())
        }
        _ => return Err("`Fn::MemberListToMap` takes two words and a list".to_owned()),
    };
    let mut members: BTreeMap<u64, (Option<String>, Option<String>)> = BTreeMap::new();
    for item in list {
        let Value::String(text) = item else {
            return Err("`Fn::MemberListToMap` takes a list of texts".to_owned());
        };
        let Some((name, value)) = text.split_once('=') else {
            return Err(format!(
                "`{}` is not of the form `.member.0.Name=value`",
                shown(&text)
            ));
        };
        let Some((number, word)) = name
            .strip_prefix(".member.")
            .and_then(|rest| rest.split_once('.'))
        else {
            continue;
        };
        let Ok(number) = number.parse() else { continue };
        let member = members.entry(number).or_default();
        if word == key_word {
            member.0 = Some(value.to_owned());
        } else if word == value_word {
            member.1 = Some(value.to_owned());
        }
    }
    let map: Map<String, Value> = members
        .into_values()
        .filter_map(|(key, value)| Some((key?, Value::String(value?))))
        .collect();
    Ok(Value::Object(map))
}
