//! Values in Python's notation, for the messages of refusals.

use serde_json::Value;

/// A value in the format of `repr`: strings in quotes.
pub fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.contains('\'') && !text.contains('"') => format!("\"{text}\""),
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        Value::Array(items) => {
            let all: Vec<String> = items.iter().map(repr).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Object(fields) => {
            let one = |(name, value): (&String, &Value)| {
                format!("{}: {}", repr(&Value::from(name.as_str())), repr(value))
            };
            let all: Vec<String> = fields.iter().map(one).collect();
            format!("{{{}}}", all.join(", "))
        }
    }
}

/// A value in the format of `str`: strings without quotes.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => repr(other),
    }
}

/// Parses a boolean as the JSON schemas of Nova and Cinder do. `more` are additional words of one service.
pub fn boolean(value: &Value, more: &[&str]) -> Option<bool> {
    const TRUE: &[&str] = &[
        "True", "TRUE", "true", "1", "ON", "On", "on", "YES", "Yes", "yes",
    ];
    const FALSE: &[&str] = &[
        "False", "FALSE", "false", "0", "OFF", "Off", "off", "NO", "No", "no",
    ];
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(word) if TRUE.contains(&word.as_str()) => Some(true),
        Value::String(word) if FALSE.contains(&word.as_str()) => Some(false),
        Value::String(word) if more.contains(&word.as_str()) => {
            Some(["y", "t"].contains(&word.as_str()))
        }
        _ => None,
    }
}

/// The message for a value that [`boolean`] does not accept.
pub fn not_boolean(value: &Value, more: bool) -> String {
    let (yes, no) = if more {
        (", 'y', 't'", ", 'n', 'f'")
    } else {
        ("", "")
    };
    format!(
        "{} is not one of [True, 'True', 'TRUE', 'true', '1', 'ON', 'On', 'on', 'YES', 'Yes', 'yes'{yes}, False, 'False', 'FALSE', \
         'false', '0', 'OFF', 'Off', 'off', 'NO', 'No', 'no'{no}]",
        repr(value)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::kit::python::*;

    #[test]
    fn values_are_printed_as_python_prints_them() {
        for (value, wanted) in [
            (json!(null), "None"),
            (json!({"a": [1, true, "x"]}), "{'a': [1, True, 'x']}"),
            (json!("it's"), "\"it's\""),
        ] {
            assert_eq!(repr(&value), wanted);
        }
        assert_eq!(text(&json!("x")), "x");
    }
}
