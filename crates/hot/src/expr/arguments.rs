//! Checks of functions' arguments before anything is resolved.
//!
//! Arguments that are results of functions are checked when they are known. The rules are those of Heat's template
//! parser.

use serde_json::Value;

use super::{
    Expr,
    function::Function::{self, *},
};
use crate::version::Version::{self, *};
use yaql::python;

/// Keys of `make_url`.
pub(super) const URL_KEYS: [&str; 8] = [
    "scheme", "username", "password", "host", "port", "path", "query", "fragment",
];
/// Algorithms of `digest`.
pub(super) const ALGORITHMS: [&str; 6] = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];

/// True for a function call, whose result is not known yet.
fn is_open(expr: &Expr) -> bool {
    !matches!(expr, Expr::Literal(_) | Expr::List(_) | Expr::Map(_))
}

fn is_text(expr: &Expr) -> bool {
    is_open(expr) || expr.as_str().is_some()
}

fn is_list(expr: &Expr) -> bool {
    is_open(expr) || matches!(expr, Expr::List(_))
}

fn is_list_or_nothing(expr: &Expr) -> bool {
    is_list(expr) || expr.is_null()
}

fn is_map_or_nothing(expr: &Expr) -> bool {
    is_open(expr) || expr.is_null() || matches!(expr, Expr::Map(_))
}

/// True for values that are false in Python.
fn is_nothing(value: Value) -> bool {
    !python::truth(&value)
}

/// Items, if their number is in `wanted`.
fn items(arguments: &Expr, wanted: std::ops::RangeInclusive<usize>) -> Option<&[Expr]> {
    match arguments {
        Expr::List(items) if wanted.contains(&items.len()) => Some(items),
        _ => None,
    }
}

/// Checks the arguments. The error describes the correct form.
pub fn check(function: Function, arguments: &Expr, version: Version) -> Result<(), String> {
    let name = function.name();
    let fits = match function {
        GetParam | GetResource | GetAttr => return reference(function, arguments, version),
        GetFile | FnBase64 => is_text(arguments),
        ListJoin => {
            let most = if version >= V2015_10_15 {
                usize::MAX
            } else {
                2
            };
            items(arguments, 2..=most).is_some_and(|items| {
                let nothing =
                    |item: &Expr| version >= V2015_10_15 && item.as_data().is_some_and(is_nothing);
                let lists = |item: &Expr| is_list_or_nothing(item) || nothing(item);
                is_text(&items[0]) && items[1..].iter().all(lists)
            })
        }
        StrReplace | StrReplaceStrict | StrReplaceVstrict => {
            arguments.get("template").is_some_and(is_text)
                && arguments
                    .get("params")
                    .is_some_and(|params| is_open(params) || matches!(params, Expr::Map(_)))
        }
        Repeat => return repeat(arguments, version),
        Digest => return digest(arguments),
        StrSplit => {
            is_open(arguments)
                || items(arguments, 2..=usize::MAX).is_some_and(|items| {
                    let text = |item: &Expr| is_text(item) || item.is_null();
                    text(&items[0]) && text(&items[1])
                })
        }
        MapMerge => {
            is_open(arguments)
                || items(arguments, 0..=usize::MAX)
                    .is_some_and(|items| items.iter().all(is_map_or_nothing))
        }
        MapReplace => {
            is_open(arguments)
                || items(arguments, 2..=2).is_some_and(|items| items.iter().all(is_map_or_nothing))
        }
        Yaql => {
            matches!(arguments, Expr::Map(entries) if entries.iter().all(|(key, _)| key == "expression" || key == "data"))
                && arguments.get("expression").is_some_and(is_text)
        }
        If => {
            let least = if version >= V2021_04_16 { 2 } else { 3 };
            items(arguments, least..=3).is_some()
        }
        Filter => items(arguments, 2..=2).is_some_and(|items| items.iter().all(is_list_or_nothing)),
        MakeUrl => {
            matches!(arguments, Expr::Map(entries) if entries.iter().all(|(key, _)| URL_KEYS.contains(&key.as_str())))
        }
        ListConcat | ListConcatUnique => {
            is_open(arguments)
                || items(arguments, 0..=usize::MAX)
                    .is_some_and(|items| items.iter().all(is_list_or_nothing))
        }
        Contains => items(arguments, 2..=2)
            .is_some_and(|items| is_list(&items[1]) || items[1].as_str().is_some()),
        Equals | FnSelect => items(arguments, 2..=2).is_some(),
        Not => !arguments.is_null(),
        And | Or => items(arguments, 2..=usize::MAX).is_some(),
        FnJoin => items(arguments, 2..=2)
            .is_some_and(|items| is_text(&items[0]) && is_list_or_nothing(&items[1])),
        FnSplit => items(arguments, 2..=2).is_some_and(|items| items.iter().all(is_text)),
        FnReplace => items(arguments, 2..=2)
            .is_some_and(|items| is_map_or_nothing(&items[0]) && is_text(&items[1])),
        FnMemberListToMap => items(arguments, 3..=3).is_some_and(|items| {
            items[0].as_str().is_some() && items[1].as_str().is_some() && is_list(&items[2])
        }),
        ResourceFacade | FnResourceFacade => arguments
            .as_str()
            .is_some_and(|word| facade(function, word).is_some()),
        FnGetAzs => true,
        Ref => arguments.as_str().is_some_and(|name| !name.is_empty()),
        TypedArgument => ["parameter", "value"]
            .iter()
            .all(|key| arguments.get(key).is_some()),
    };
    if fits {
        Ok(())
    } else {
        Err(format!("`{name}` takes {}", wanted(function, version)))
    }
}

/// HOT name of the value of `resource_facade` for an argument.
pub fn facade(function: Function, word: &str) -> Option<&'static str> {
    let words = match function {
        FnResourceFacade => ["Metadata", "DeletionPolicy", "UpdatePolicy"],
        _ => ["metadata", "deletion_policy", "update_policy"],
    };
    let index = words.iter().position(|known| *known == word)?;
    Some(["metadata", "deletion_policy", "update_policy"][index])
}

/// Form of a function's arguments, for messages.
pub(super) fn wanted(function: Function, version: Version) -> &'static str {
    match function {
        GetParam => "the name of a parameter, or a list that begins with it",
        GetResource => "the name of a resource",
        GetAttr => "a list: a resource's name, an attribute, then keys and indices",
        GetFile => "the name of a file",
        ListJoin if version < V2015_10_15 => {
            "a list: a delimiter and a list (more lists from version 2015-10-15 on)"
        }
        ListJoin => "a list: a delimiter, then one or more lists",
        ResourceFacade => "`metadata`, `deletion_policy` or `update_policy`",
        StrReplace | StrReplaceStrict | StrReplaceVstrict => {
            "a map with `template`, a text, and `params`, a map from words to values"
        }
        Repeat => "a map with `template` and `for_each`, a map from words to lists",
        Digest => "a list: an algorithm and a text",
        StrSplit => "a list: a delimiter, a text, and an index if one item is wanted",
        MapMerge => "a list of maps",
        MapReplace => "a list: a map, then a map with `keys`, `values` or both",
        Yaql => "a map with `expression`, a text, and `data`",
        If if version < V2021_04_16 => {
            "a list: a condition, the value if it holds, the value if not (two arguments from version 2021-04-16 on)"
        }
        If => "a list: a condition, the value if it holds, and the value if not",
        Filter => "a list: the values to leave out, and a list",
        MakeUrl => {
            "a map of `scheme`, `username`, `password`, `host`, `port`, `path`, `query` and `fragment`"
        }
        ListConcat | ListConcatUnique => "a list of lists",
        Contains => "a list: a value and a list",
        Equals => "a list of two values",
        Not => "a condition",
        And | Or => "a list of two conditions or more",
        FnSelect => "a list: an index or key, and a list or map",
        FnJoin => "a list: a delimiter and a list",
        FnSplit => "a list: a delimiter and a text",
        FnReplace => "a list: a map from words to values, and a text",
        FnBase64 => "a text",
        FnGetAzs => "the name of a region",
        FnMemberListToMap => "a list: the word for keys, the word for values, and a list",
        FnResourceFacade => "`Metadata`, `DeletionPolicy` or `UpdatePolicy`",
        Ref => "the name of a parameter or a resource",
        TypedArgument => "a map with `parameter` and `value`",
    }
}

fn reference(function: Function, arguments: &Expr, version: Version) -> Result<(), String> {
    let named =
        |first: &Expr| is_open(first) || first.as_str().is_some_and(|name| !name.is_empty());
    let least = if function == GetAttr && version < V2015_10_15 {
        2
    } else {
        1
    };
    let fits = match (function, arguments) {
        (GetResource, Expr::List(_)) => false,
        (_, Expr::List(items)) => {
            if function == GetAttr && items.len() == 1 && least == 2 && named(&items[0]) {
                return Err(format!(
                    "`get_attr` takes {}; all attributes at once come with version 2015-10-15",
                    wanted(function, version)
                ));
            }
            items.len() >= least && named(&items[0])
        }
        (GetAttr, _) => false,
        (_, other) => named(other),
    };
    if fits {
        Ok(())
    } else {
        Err(format!(
            "`{}` takes {}",
            function.name(),
            wanted(function, version)
        ))
    }
}

fn repeat(arguments: &Expr, version: Version) -> Result<(), String> {
    let wrong = || Err(format!("`repeat` takes {}", wanted(Repeat, version)));
    let (Some(for_each), Some(_)) = (arguments.get("for_each"), arguments.get("template")) else {
        return wrong();
    };
    match for_each {
        Expr::Map(entries) => {
            for (word, list) in entries {
                let map = matches!(list, Expr::Map(_));
                if map && version < V2016_10_14 {
                    return Err(format!(
                        "`for_each` of `repeat` takes a map under `{word}` from version 2016-10-14 on, a list before"
                    ));
                }
                if !map && !is_list_or_nothing(list) {
                    return wrong();
                }
            }
        }
        other if is_open(other) => {}
        _ => return wrong(),
    }
    match arguments.get("permutations") {
        None => Ok(()),
        Some(_) if version < V2017_09_01 => {
            Err("`permutations` of `repeat` came with version 2017-09-01".to_owned())
        }
        Some(Expr::Literal(Value::Bool(_))) => Ok(()),
        Some(_) => Err("`permutations` of `repeat` is `true` or `false`".to_owned()),
    }
}

fn digest(arguments: &Expr) -> Result<(), String> {
    if is_open(arguments) {
        return Ok(());
    }
    let Some([algorithm, text]) = items(arguments, 2..=2) else {
        return Err(format!(
            "`digest` takes {}",
            wanted(Digest, Version::default())
        ));
    };
    match algorithm.as_str() {
        Some(word) if !ALGORITHMS.contains(&word.to_lowercase().as_str()) => Err(format!(
            "`digest` knows {}, not `{}`",
            crate::text::listed(&ALGORITHMS),
            yaql::shown(word)
        )),
        _ if is_text(algorithm) && is_text(text) => Ok(()),
        _ => Err(format!(
            "`digest` takes {}",
            wanted(Digest, Version::default())
        )),
    }
}

/// Call with arguments of the correct form.
pub fn build(function: Function, arguments: Expr) -> Expr {
    let open = |arguments: Expr| Expr::Call {
        function,
        arguments: Box::new(arguments),
    };
    match (function, arguments) {
        (GetParam, Expr::Literal(Value::String(name))) => Expr::GetParam(name, Vec::new()),
        (GetResource, Expr::Literal(Value::String(name))) => Expr::GetResource(name),
        (GetParam | GetAttr, Expr::List(mut items))
            if matches!(items.first(), Some(Expr::Literal(Value::String(_)))) =>
        {
            let path = items.split_off(1);
            match items.pop() {
                Some(Expr::Literal(Value::String(name))) if function == GetParam => {
                    Expr::GetParam(name, path)
                }
                Some(Expr::Literal(Value::String(name))) => Expr::GetAttr(name, path),
                _ => open(Expr::List(path)),
            }
        }
        (_, arguments) => open(arguments),
    }
}
