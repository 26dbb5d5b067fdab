//! Python's text forms of values, because Heat's functions use them.

use std::fmt::Write;

use serde_json::Value;

/// `str(value)` of a scalar. JSON with sorted keys for maps and lists, and an empty text for null.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => self::number(number),
        Value::String(text) => text.clone(),
        list_or_map => json(list_or_map),
    }
}

/// Text of a number. The exponent has at least two digits.
fn number(number: &serde_json::Number) -> String {
    let text = number.to_string();
    match text.split_once("e-") {
        Some((digits, exponent)) if exponent.len() == 1 => format!("{digits}e-0{exponent}"),
        _ => text,
    }
}

/// Text that is the same for values that are equal in Python: `1`, `1.0` and `True`.
pub fn key(value: &Value) -> String {
    fn plain(value: &Value) -> Value {
        match value {
            Value::Bool(truth) => Value::from(i64::from(*truth)),
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                    Value::from(float as i64)
                }
                _ => value.clone(),
            },
            Value::Array(items) => items.iter().map(plain).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| (key.clone(), plain(value)))
                .collect(),
            other => other.clone(),
        }
    }
    json(&plain(value))
}

/// `json.dumps(value, sort_keys=True)`.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                string(key, out);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
        Value::String(text) => string(text, out),
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a `String` cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// `a == b`: numbers are compared by value, and `True` equals 1.
pub fn equal(a: &Value, b: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        Value::Number(number) => number.as_f64(),
        _ => None,
    };
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if x == y => true,
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .all(|(key, x)| y.get(key).is_some_and(|y| equal(x, y)))
        }
        _ => match (number(a), number(b)) {
            (Some(x), Some(y)) => x == y,
            _ => a == b,
        },
    }
}

/// `bool(value)`.
pub fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_python_writes_them() {
        assert_eq!(text(&json!(true)), "True");
        assert_eq!(text(&json!(null)), "");
        assert_eq!(text(&json!(1.0)), "1.0");
        assert_eq!(text(&json!(1.0e-7)), "1e-07");
        assert_eq!(
            text(&json!({"b": [1, null, "ä\n\u{1F600}"], "a": {}})),
            "{\"a\": {}, \"b\": [1, null, \"\\u00e4\\n\\ud83d\\ude00\"]}"
        );
    }

    #[test]
    fn values_are_equal_as_in_python() {
        assert!(equal(&json!(1), &json!(1.0)));
        assert!(equal(&json!([true]), &json!([1])));
        assert!(!equal(&json!("1"), &json!(1)));
        assert!(!equal(&json!(null), &json!(false)));
    }
}
