//! Interpretation of a map with one key: a call of a function, or plain data.

use super::{
    Expr, arguments,
    function::{
        Function::{self, *},
        Place, table,
    },
};
use crate::version::Version;
use yaql::shown;

/// CloudFormation functions that are in no version of HOT, with their replacement.
const UNSUPPORTED: [(&str, &str); 7] = [
    ("Fn::GetAtt", "get_attr"),
    ("Fn::FindInMap", "get_param: [map, key]"),
    ("Fn::If", "if"),
    ("Fn::Equals", "equals"),
    ("Fn::Not", "not"),
    ("Fn::And", "and"),
    ("Fn::Or", "or"),
];

/// Meaning of a map with one key.
pub enum Reading {
    /// A call.
    Call(Function),
    /// Data.
    PlainData,
    /// Data, as in Heat, although the author probably intended a call. Contains a message about it.
    LikelyCall(String),
    /// Call that the version or the position does not allow. Contains a message about it.
    Refused(String),
}

/// Meaning of `{key: arguments}` at a position in a template of this version.
pub fn reading(key: &str, arguments: &Expr, version: Version, place: Place) -> Reading {
    let Some(entry) = table(key).filter(|entry| entry.function != TypedArgument) else {
        return match UNSUPPORTED.iter().find(|(name, _)| *name == key) {
            Some((_, instead)) => Reading::LikelyCall(format!(
                "`{key}` is a function of CloudFormation; here it is plain data, as in Heat: in HOT write `{instead}`"
            )),
            None if key.starts_with("Fn::") && key.len() > 4 => Reading::LikelyCall(format!(
                "HOT has no function `{}`: it is plain data here, as in Heat",
                shown(key)
            )),
            None => Reading::PlainData,
        };
    };
    if let Some(until) = entry.until.filter(|until| version >= *until) {
        let last = until.before().unwrap_or(until);
        return Reading::Refused(format!(
            "the function `{key}` is not in version {version}; the last version with it is {last}{}",
            instead(entry.function)
        ));
    }
    let fits = || {
        arguments::check(entry.function, arguments, Version::default()).is_ok()
            || matches!(entry.function, GetParam)
    };
    if entry.since > version {
        return if fits() {
            Reading::LikelyCall(format!(
                "the function `{key}` is not in version {version}, so this is plain data, as in Heat; it came with {}",
                entry.since
            ))
        } else {
            Reading::PlainData
        };
    }
    match (place, entry.in_conditions) {
        (Place::Condition, Some(since)) if since <= version => Reading::Call(entry.function),
        (Place::Condition, Some(since)) => Reading::Refused(format!(
            "the function `{key}` cannot stand in a condition of version {version}; it can from {since} on"
        )),
        (Place::Condition, None) => Reading::Refused(format!(
            "the function `{key}` cannot stand in a condition: conditions know parameters only, by `get_param`, `equals`, `not`, `and`, `or`, `contains` and `yaql`"
        )),
        (Place::Value, _) if entry.function.is_condition() => Reading::PlainData,
        (Place::Value, _) => Reading::Call(entry.function),
    }
}

/// Replacement of a removed function.
fn instead(function: Function) -> &'static str {
    match function {
        Ref => "; write `get_param` or `get_resource`",
        FnJoin => "; write `list_join`",
        FnReplace => "; write `str_replace`",
        FnSplit => "; write `str_split` in version 2015-10-15 or later",
        FnSelect => "; give the path to `get_attr` or `get_param`",
        FnResourceFacade => "; write `resource_facade`",
        FnBase64 => "; leave it out, it changes nothing",
        _ => "",
    }
}
