//! Request bodies of Cinder.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::kit::ids::looks_like_id;
use crate::kit::python;
use crate::kit::refusal::Refusal;

/// The object in a body, as in `{"volume": {...}}`.
pub fn object<'a>(body: &'a Value, name: &str) -> Result<&'a Map<String, Value>, Refusal> {
    body.get(name).and_then(Value::as_object).ok_or_else(|| {
        Refusal::bad_request(format!(
            "Invalid input for field/attribute {name}. Value: {}. '{name}' is a required property",
            python::text(body.get(name).unwrap_or(body))
        ))
    })
}

/// A text field of a body. Null counts as absent.
pub fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() <= 255 => Ok(Some(text.clone())),
        Some(other) => Err(wrong(name, other)),
    }
}

/// A map of texts in a body.
pub fn pairs(value: Option<&Value>) -> Result<BTreeMap<String, String>, Refusal> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(BTreeMap::new());
    };
    let pairs: BTreeMap<String, String> =
        serde_json::from_value(value.clone()).map_err(|_| wrong("metadata", value))?;
    let is_long = |text: &String| text.chars().count() > 255;
    if pairs
        .iter()
        .any(|(key, value)| is_long(key) || is_long(value))
    {
        Err(wrong("metadata", value))
    } else {
        Ok(pairs)
    }
}

/// The id of another resource. A malformed id is refused without a lookup.
pub fn id(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match text(fields, name)? {
        Some(id) if !looks_like_id(&id) => Err(Refusal::bad_request(format!(
            "Invalid input for field/attribute {name}. Value: {id}. '{id}' is not valid under any of the given schemas"
        ))),
        other => Ok(other),
    }
}

pub fn wrong(name: &str, value: &Value) -> Refusal {
    Refusal::bad_request(format!(
        "Invalid input for field/attribute {name}. Value: {}. {} is not of the right type or too long",
        python::text(value),
        python::repr(value)
    ))
}
