//! Keys and indices into a value.

use std::borrow::Cow;

use serde_json::Value;

/// Value at a path of keys and indices; negative indices count from the end. `None` if it does not exist. Only the
/// result is copied.
pub fn select(value: Cow<'_, Value>, path: &[Value]) -> Option<Value> {
    let mut value = value;
    for key in path {
        // A json parameter can be given as text.
        if let Value::String(text) = value.as_ref()
            && let Ok(parsed @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
        {
            value = Cow::Owned(parsed);
        }
        value = match value {
            Cow::Borrowed(value) => below(value, key)?,
            Cow::Owned(value) => Cow::Owned(below(&value, key)?.into_owned()),
        };
    }
    Some(value.into_owned())
}

fn below<'v>(value: &'v Value, key: &Value) -> Option<Cow<'v, Value>> {
    Some(match (value, key) {
        (Value::Object(map), Value::String(key)) => Cow::Borrowed(map.get(key)?),
        (Value::Object(map), Value::Number(key)) => Cow::Borrowed(map.get(&key.to_string())?),
        (Value::Array(items), key) => {
            let index = match key {
                Value::Number(index) => index.as_i64()?,
                Value::String(index) => index.trim().parse().ok()?,
                Value::Bool(second) => i64::from(*second),
                _ => return None,
            };
            let index = if index < 0 {
                items.len().checked_sub(index.unsigned_abs() as usize)?
            } else {
                index as usize
            };
            Cow::Borrowed(items.get(index)?)
        }
        // In Python a text is a list of characters.
        (Value::String(text), Value::Number(index)) => {
            let index = usize::try_from(index.as_u64()?).ok()?;
            Cow::Owned(Value::from(text.chars().nth(index)?.to_string()))
        }
        _ => return None,
    })
}
