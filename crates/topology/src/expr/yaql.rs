//! `yaql`: the part of the language that we evaluate, which is paths into the data.

use serde_json::Value;

use crate::text::shown;

/// `$.data.key.key`.
pub(super) fn yaql(mut arguments: Value) -> Result<Value, String> {
    let Value::String(expression) = arguments["expression"].take() else {
        return Err("`expression` of `yaql` is a text".to_owned());
    };
    let unsupported = || {
        format!(
            "`{}` is not supported: of `yaql` only paths such as `$.data.name` are",
            shown(expression.trim())
        )
    };
    let path = expression
        .trim()
        .strip_prefix("$.data")
        .ok_or_else(unsupported)?;
    let mut value = arguments["data"].take();
    if path.is_empty() {
        return Ok(value);
    }
    for key in path.strip_prefix('.').ok_or_else(unsupported)?.split('.') {
        if !key.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(unsupported());
        }
        value = value[key].take();
    }
    Ok(value)
}
