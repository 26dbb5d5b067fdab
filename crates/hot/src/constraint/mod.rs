//! Constraints of values: the same for properties, parameters and catalogue inputs.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yaql::{pattern::Pattern, shown};

use crate::text::did_you_mean;

mod custom;
mod time;

pub use custom::{NAMES as CUSTOM, is_format_only, is_known as is_custom};

/// Constraint of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// One of these values.
    AllowedValues(Vec<Value>),
    /// The whole text matches this pattern.
    AllowedPattern(String),
    /// Number of characters or items.
    Length {
        /// Minimum.
        min: Option<u64>,
        /// Maximum.
        max: Option<u64>,
    },
    /// A number between both limits, including them.
    Range {
        /// Minimum.
        min: Option<f64>,
        /// Maximum.
        max: Option<f64>,
    },
    /// A multiple of `step`, plus `offset`.
    Modulo {
        /// Distance between two permitted values; not 0.
        step: i64,
        /// Remainder of a permitted value divided by `step`; smaller than `step`.
        offset: i64,
    },
    /// Heat's named constraints that need no cloud: `ip_addr`, `net_cidr`, `mac_addr` ...
    Custom(String),
}

impl Constraint {
    /// Problem of a value, as a sentence. `None` for constraints that need a cloud.
    pub fn problem(&self, value: &Value) -> Option<String> {
        problem(self, value)
    }
}

/// Type of a value, without the types of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Text.
    String,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// A list.
    List,
    /// A map.
    Map,
    /// Any value.
    Any,
}

/// Problem of a value. `None` if it is valid.
pub fn problem(constraint: &Constraint, value: &Value) -> Option<String> {
    match constraint {
        Constraint::AllowedValues(allowed) => {
            if let Value::Array(items) = value {
                return items.iter().find_map(|item| problem(constraint, item));
            }
            let fits = allowed.iter().any(|one| {
                one == value || as_text(one) == as_text(value) || same_number(one, value)
            });
            if fits {
                return None;
            }
            let words: Vec<String> = allowed.iter().map(as_text).collect();
            let near = did_you_mean(&as_text(value), words.iter().map(String::as_str));
            Some(format!(
                "`{}` is not one of {}{near}",
                shown(&as_text(value)),
                words.join(", ")
            ))
        }
        Constraint::AllowedPattern(text) => {
            let value = as_text(value);
            // An invalid pattern is reported at its own position.
            let pattern = Pattern::new(text).ok()?;
            (!pattern.fits(&value)).then(|| {
                format!(
                    "`{}` does not match the pattern `{}`",
                    shown(&value),
                    shown(text)
                )
            })
        }
        Constraint::Length { min, max } => {
            let (length, unit) = match value {
                Value::Array(items) => (items.len(), "items"),
                Value::Object(map) => (map.len(), "entries"),
                other => (as_text(other).chars().count(), "characters"),
            };
            let length = length as u64;
            if min.is_some_and(|min| length < min) || max.is_some_and(|max| length > max) {
                let wanted = between(min.map(|n| n.to_string()), max.map(|n| n.to_string()));
                return Some(format!("it has {length} {unit} and must have {wanted}"));
            }
            None
        }
        Constraint::Range { min, max } => {
            let number = number(value)?;
            if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
                let wanted = between(min.map(|n| n.to_string()), max.map(|n| n.to_string()));
                return Some(format!("{number} is out of range: it must be {wanted}"));
            }
            None
        }
        Constraint::Modulo { step, offset } => {
            let number = number(value)?;
            // As in Python, the remainder has the sign of the divisor.
            let rest = number - step_f64(*step) * (number / step_f64(*step)).floor();
            (rest != step_f64(*offset))
                .then(|| format!("{number} is not a multiple of {step} with an offset of {offset}"))
        }
        Constraint::Custom(name) => match value {
            Value::Array(items) => items
                .iter()
                .find_map(|item| custom::problem(name, &as_text(item))),
            value => custom::problem(name, &as_text(value)),
        },
    }
}

fn between(min: Option<String>, max: Option<String>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "anything".to_owned(),
    }
}

/// Problem of a value at a time (seconds since 1970): Heat's `expiration` must be later.
pub fn problem_at(constraint: &Constraint, value: &Value, now: Option<i64>) -> Option<String> {
    match constraint {
        Constraint::Custom(name) if name == "expiration" => {
            let text = value.as_str()?;
            let ends = time::seconds(text)?;
            let past = format!("`{}` is in the past", yaql::shown(text));
            (ends <= now?).then_some(past)
        }
        _ => None,
    }
}

/// Number, or text with a number.
fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

fn step_f64(whole: i64) -> f64 {
    whole as f64
}

/// True for `1`, `1.0` and `"1"`.
fn same_number(a: &Value, b: &Value) -> bool {
    matches!((number(a), number(b)), (Some(a), Some(b)) if a == b)
}

/// Problem of a value's type, by Heat's rules: numbers are accepted as text, and text as numbers if it can be
/// converted. The caller checks items of lists and maps.
pub fn type_problem(kind: ValueKind, value: &Value) -> Option<String> {
    let number = || {
        value
            .as_f64()
            .or_else(|| value.as_str()?.trim().parse::<f64>().ok())
            .filter(|number| number.is_finite())
    };
    let fits = match kind {
        ValueKind::String => !value.is_object() && !value.is_array(),
        ValueKind::Integer => number().is_some_and(|number| number.fract() == 0.0),
        ValueKind::Number => number().is_some(),
        ValueKind::Boolean => match value {
            Value::Bool(_) => true,
            Value::String(text) => is_boolean_word(text).is_some(),
            Value::Number(number) => matches!(number.as_i64(), Some(0 | 1)),
            _ => false,
        },
        ValueKind::List => value.is_array() || value.is_string(),
        ValueKind::Map => {
            value.is_object()
                || value
                    .as_str()
                    .is_some_and(|text| text.trim_start().starts_with('{'))
        }
        ValueKind::Any => true,
    };
    let given = match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
        other => format!("`{}`", shown(&as_text(other))),
    };
    (!fits).then(|| format!("it takes {}, not {given}", kind_name(kind)))
}

/// Problem of a property's type in one of Heat's own types. Properties are not converted like values of parameters:
/// `yes` in quotes is no boolean, `a,b` no list, and 1.5 no text. Source: `heat/engine/properties.py`.
pub fn property_type_problem(kind: ValueKind, value: &Value) -> Option<String> {
    let fits = match (kind, value) {
        (_, Value::Null) | (ValueKind::Any, _) => true,
        (ValueKind::String, Value::Number(number)) => !number.is_f64(),
        (ValueKind::String, Value::String(_) | Value::Bool(_)) => true,
        // Heat truncates fractions and accepts booleans as integers, so the cloud would get an unintended value.
        (ValueKind::Integer, Value::Number(number)) => {
            number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        (ValueKind::Number, Value::Number(_)) => true,
        (ValueKind::Integer, Value::String(text)) => {
            text.trim().replace('_', "").parse::<i64>().is_ok()
        }
        (ValueKind::Number, Value::String(_)) => return type_problem(kind, value),
        (ValueKind::Boolean, Value::Bool(_)) => true,
        (ValueKind::Boolean, Value::String(text)) => {
            text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
        }
        (ValueKind::List, Value::Array(_)) => true,
        (ValueKind::Map, Value::Object(_)) => true,
        _ => false,
    };
    if fits {
        return None;
    }
    type_problem(kind, value).or_else(|| {
        let hint = match (kind, value) {
            (ValueKind::String, _) => "; write it in quotes",
            (ValueKind::Boolean, Value::String(_)) => " in quotes",
            _ => "",
        };
        Some(format!(
            "it takes {}, not `{}`{hint}",
            kind_name(kind),
            shown(&as_text(value))
        ))
    })
}

/// Value of a word that Heat accepts as a boolean.
pub fn is_boolean_word(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "t" | "true" | "on" | "y" | "yes" | "1" => Some(true),
        "f" | "false" | "off" | "n" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Name of the type for messages.
pub fn kind_name(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::String => "text",
        ValueKind::Integer => "a whole number",
        ValueKind::Number => "a number",
        ValueKind::Boolean => "`true` or `false`",
        ValueKind::List => "a list",
        ValueKind::Map => "a map",
        ValueKind::Any => "anything",
    }
}

/// Text of a scalar; JSON for other values.
pub fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_violated_constraint_has_a_message() {
        let allowed = Constraint::AllowedValues(vec![json!("ingress"), json!("egress")]);
        assert_eq!(problem(&allowed, &json!("egress")), None);
        assert_eq!(
            problem(&allowed, &json!("egres")).unwrap(),
            "`egres` is not one of ingress, egress; did you mean `egress`?"
        );
        let pattern = Constraint::AllowedPattern("[a-z]+".into());
        assert_eq!(problem(&pattern, &json!("abc")), None);
        assert_eq!(
            problem(&pattern, &json!("abc1")).unwrap(),
            "`abc1` does not match the pattern `[a-z]+`"
        );
        let length = Constraint::Length {
            min: Some(2),
            max: Some(3),
        };
        assert_eq!(problem(&length, &json!("ab")), None);
        assert_eq!(
            problem(&length, &json!("äöüß")).unwrap(),
            "it has 4 characters and must have from 2 to 3"
        );
        let range = Constraint::Range {
            min: Some(1.0),
            max: None,
        };
        assert_eq!(problem(&range, &json!("7")), None);
        assert_eq!(
            problem(&range, &json!(0)).unwrap(),
            "0 is out of range: it must be at least 1"
        );
    }

    #[test]
    fn a_modulo_counts_from_its_offset() {
        let odd = Constraint::Modulo { step: 2, offset: 1 };
        assert_eq!(problem(&odd, &json!(7)), None);
        assert_eq!(
            problem(&odd, &json!("8")).unwrap(),
            "8 is not a multiple of 2 with an offset of 1"
        );
        let down = Constraint::Modulo {
            step: -3,
            offset: -1,
        };
        assert_eq!(problem(&down, &json!(5)), None, "as Python divides");
    }

    #[test]
    fn values_are_converted_to_parameter_types_as_in_heat() {
        assert_eq!(type_problem(ValueKind::Integer, &json!("80")), None);
        assert_eq!(type_problem(ValueKind::String, &json!(80)), None);
        assert_eq!(type_problem(ValueKind::Boolean, &json!("yes")), None);
        assert_eq!(
            type_problem(ValueKind::Integer, &json!("eighty")).unwrap(),
            "it takes a whole number, not `eighty`"
        );
        assert_eq!(
            type_problem(ValueKind::Map, &json!([1])).unwrap(),
            "it takes a map, not a list"
        );
    }
}
