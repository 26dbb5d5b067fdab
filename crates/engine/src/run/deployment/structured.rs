//! Inputs of a structured deployment: `{get_input: NAME}` in its configuration becomes the input's value.
//!
//! Rules of Heat's `StructuredDeployment.parse`: a map with the one key `input_key`, whose value is a text. With
//! `input_values_validate: LAX` an unknown input is null, with `STRICT` an error. A plain software deployment has no
//! `input_key`, and its configuration stays as it is.

use serde_json::{Map, Value};

/// The configuration with the inputs in place.
///
/// # Errors
/// With `STRICT`, if an input has no value.
pub fn with_inputs(
    content: &Value,
    deployment: &Map<String, Value>,
    inputs: &Map<String, Value>,
) -> Result<Value, String> {
    let Some(key) = deployment.get("input_key").and_then(Value::as_str) else {
        return Ok(content.clone());
    };
    let is_strict = deployment.get("input_values_validate") == Some(&"STRICT".into());
    replaced(content, key, inputs, is_strict)
}

fn replaced(
    value: &Value,
    key: &str,
    inputs: &Map<String, Value>,
    is_strict: bool,
) -> Result<Value, String> {
    let replace = |value: &Value| replaced(value, key, inputs, is_strict);
    Ok(match value {
        Value::Object(map) => {
            let mut entries = map.iter();
            let marked = match (entries.next(), entries.next()) {
                (Some((name, Value::String(input))), None) if name == key => Some(input),
                _ => None,
            };
            match marked {
                Some(input) => match inputs.get(input) {
                    Some(value) => value.clone(),
                    None if is_strict => {
                        return Err(format!(
                            "its configuration reads the input `{input}`, which has no value; add it to `input_values`"
                        ));
                    }
                    None => Value::Null,
                },
                None => map
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), replace(value)?)))
                    .collect::<Result<Map<_, _>, String>>()?
                    .into(),
            }
        }
        Value::Array(items) => items.iter().map(replace).collect::<Result<_, _>>()?,
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployed(deployment: Value) -> Result<Value, String> {
        let content = json!({"files": [{"content": {"get_input": "word"}, "mode": {"get_input": "mode"}}], "other": {"get_input": ["word"]}});
        let inputs = json!({"word": ["a", {"get_input": "b"}]});
        with_inputs(
            &content,
            deployment.as_object().unwrap(),
            inputs.as_object().unwrap(),
        )
    }

    #[test]
    fn inputs_take_their_places_and_unknown_ones_are_null() {
        assert_eq!(
            deployed(json!({"input_key": "get_input"})).unwrap(),
            json!({"files": [{"content": ["a", {"get_input": "b"}], "mode": null}], "other": {"get_input": ["word"]}})
        );
        let plain = deployed(json!({})).unwrap();
        assert_eq!(plain["files"][0]["content"], json!({"get_input": "word"}));
    }

    #[test]
    fn a_strict_deployment_refuses_an_input_without_a_value() {
        let refused =
            deployed(json!({"input_key": "get_input", "input_values_validate": "STRICT"}));
        assert!(refused.unwrap_err().contains("`mode`"));
    }
}
