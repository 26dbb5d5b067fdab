//! The body of a signal. Pure.
//!
//! Heat's handles take `{"status": .., "reason": .., "data": .., "id": ..}` and have defaults for each. Handles for
//! cfn-signal take the names of CloudFormation. Here each handle takes both. Source: Heat's `wait_condition.py`.

use serde_json::{Map, Value};
use store::{NewSignal, SignalStatus};

/// Longest id in characters.
const ID_LONGEST: usize = 255;

/// A signal from a request's body. An empty body is a success. An error is a sentence for the sender.
pub(crate) fn parse(body: &[u8]) -> Result<NewSignal, String> {
    let fields = match body.trim_ascii() {
        [] => Map::new(),
        text => serde_json::from_slice(text).map_err(|error| {
            format!("the signal is not a JSON object like {{\"status\": \"SUCCESS\"}}: {error}")
        })?,
    };
    let mut signal = NewSignal {
        id: None,
        status: SignalStatus::Success,
        reason: None,
        data: Value::Null,
        source: None,
    };
    for (name, value) in fields {
        match name.as_str() {
            "status" | "Status" => {
                signal.status = match value.as_str() {
                    Some("SUCCESS") => SignalStatus::Success,
                    Some("FAILURE") => SignalStatus::Failure,
                    _ => return Err("`status` is neither `SUCCESS` nor `FAILURE`".to_owned()),
                }
            }
            "reason" | "Reason" => signal.reason = Some(as_text(value)),
            "data" | "Data" => signal.data = value,
            "id" | "UniqueId" => signal.id = Some(id(value)?),
            _ => {
                return Err(
                    "a signal has the fields `status`, `reason`, `data` and `id`, and no others"
                        .to_owned(),
                );
            }
        }
    }
    Ok(signal)
}

fn id(value: Value) -> Result<String, String> {
    match value {
        Value::String(_) | Value::Number(_) => {}
        _ => return Err("`id` is neither a text nor a number".to_owned()),
    }
    let id = as_text(value);
    if id.chars().count() > ID_LONGEST {
        return Err(format!("`id` has more than {ID_LONGEST} characters"));
    }
    Ok(id)
}

fn as_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_fields_have_heats_defaults() {
        for body in ["", " \n", "{}", r#"{"status": "SUCCESS"}"#] {
            let signal = parse(body.as_bytes()).unwrap();
            let parts = (signal.id, signal.status, signal.reason, signal.data);
            assert_eq!(
                parts,
                (None, SignalStatus::Success, None, Value::Null),
                "{body}"
            );
        }
    }

    #[test]
    fn heats_names_and_cloudformations_names_say_the_same() {
        let heat = br#"{"status": "FAILURE", "reason": "full", "data": {"disk": 100}, "id": 7}"#;
        let cfn =
            br#"{"Status": "FAILURE", "Reason": "full", "Data": {"disk": 100}, "UniqueId": "7"}"#;
        let signal = parse(heat).unwrap();
        assert_eq!(signal, parse(cfn).unwrap());
        assert_eq!(signal.id.as_deref(), Some("7"));
        assert_eq!(signal.data, json!({"disk": 100}));
    }

    #[test]
    fn other_bodies_are_refused_with_a_reason() {
        let long = format!(r#"{{"id": "{}"}}"#, "x".repeat(256));
        let message = |body: &str| parse(body.as_bytes()).unwrap_err();
        assert_eq!(
            message(r#"{"status": "OK"}"#),
            "`status` is neither `SUCCESS` nor `FAILURE`"
        );
        assert_eq!(message(&long), "`id` has more than 255 characters");
        assert_eq!(
            message(r#"{"id": []}"#),
            "`id` is neither a text nor a number"
        );
        assert!(message(r#"{"colour": 1}"#).contains("and no others"));
        for body in ["SUCCESS", "[1]", "{\"data\":", "\u{7}"] {
            let message = message(body);
            assert!(message.contains("is not a JSON object"), "{message}");
        }
    }
}
