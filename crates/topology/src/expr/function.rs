//! HOT's functions: which words are functions, and what arguments they take.

use serde_json::Value;

use super::Expr;

/// Functions of HOT that we do not evaluate yet. A map with such a key is an error, never a plain map:
/// taken for a map it would reach the cloud as nonsense.
const NOT_YET: [&str; 21] = [
    "get_file",
    "resource_facade",
    "repeat",
    "digest",
    "str_split",
    "map_merge",
    "yaql",
    "map_replace",
    "if",
    "equals",
    "not",
    "and",
    "or",
    "filter",
    "str_replace_strict",
    "str_replace_vstrict",
    "make_url",
    "list_concat",
    "list_concat_unique",
    "contains",
    "Ref",
];

const SUPPORTED: [&str; 5] = [
    "get_param",
    "get_resource",
    "get_attr",
    "str_replace",
    "list_join",
];

/// Whether a map with only this key is a function call.
pub(crate) fn is_function(key: &str) -> bool {
    is_supported(key) || NOT_YET.contains(&key) || key.starts_with("Fn::")
}

/// Whether we can evaluate it.
pub(crate) fn is_supported(key: &str) -> bool {
    SUPPORTED.contains(&key)
}

/// A call, from arguments that are read already. The error says what would be right.
pub(crate) fn call(name: &str, arguments: Expr) -> Result<Expr, String> {
    match name {
        "get_param" => {
            named(name, "parameter", arguments).map(|(name, path)| Expr::GetParam(name, path))
        }
        "get_resource" => match arguments {
            Expr::Literal(Value::String(resource)) if !resource.is_empty() => {
                Ok(Expr::GetResource(resource))
            }
            _ => Err("`get_resource` takes the name of a resource".to_owned()),
        },
        "get_attr" => {
            if !matches!(arguments, Expr::List(_)) {
                return Err("`get_attr` takes a list: a resource's name, an attribute, then keys and indices".to_owned());
            }
            named(name, "resource", arguments).map(|(name, path)| Expr::GetAttr(name, path))
        }
        "str_replace" => str_replace(arguments),
        "list_join" => list_join(arguments),
        other => Err(format!("the function `{other}` is not supported yet")),
    }
}

/// A name, or a list that begins with one.
fn named(function: &str, what: &str, arguments: Expr) -> Result<(String, Vec<Expr>), String> {
    let wrong =
        || format!("`{function}` takes the name of a {what}, or a list that begins with it");
    match arguments {
        Expr::Literal(Value::String(name)) if !name.is_empty() => Ok((name, Vec::new())),
        Expr::List(items) => {
            let mut items = items.into_iter();
            match items.next() {
                Some(Expr::Literal(Value::String(name))) if !name.is_empty() => {
                    Ok((name, items.collect()))
                }
                _ => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

fn str_replace(arguments: Expr) -> Result<Expr, String> {
    let wrong = || Err("`str_replace` takes a map with `template` and `params`".to_owned());
    let Expr::Map(entries) = arguments else {
        return wrong();
    };
    let (mut template, mut params) = (None, None);
    for (key, value) in entries {
        match key.as_str() {
            "template" => template = Some(value),
            "params" => params = Some(value),
            _ => return wrong(),
        }
    }
    match (template, params) {
        (Some(_), Some(Expr::List(_) | Expr::Literal(_))) => {
            Err("`params` of `str_replace` is a map from words to values".to_owned())
        }
        (Some(template), Some(params)) => Ok(Expr::StrReplace {
            template: Box::new(template),
            params: Box::new(params),
        }),
        _ => wrong(),
    }
}

fn list_join(arguments: Expr) -> Result<Expr, String> {
    let wrong = || "`list_join` takes a list: a delimiter, then one or more lists".to_owned();
    let Expr::List(items) = arguments else {
        return Err(wrong());
    };
    let mut items = items.into_iter();
    let delimiter = items.next().ok_or_else(wrong)?;
    let lists: Vec<Expr> = items.collect();
    if lists.is_empty()
        || lists
            .iter()
            .any(|list| matches!(list, Expr::Literal(value) if !value.is_null()))
    {
        return Err(wrong());
    }
    Ok(Expr::ListJoin {
        delimiter: Box::new(delimiter),
        lists,
    })
}
