//! Declared parameters and their values.
//!
//! Heat accepts numbers and booleans as text, and lists as `a,b`. [`coerce`] does the same, so that functions get the
//! same values as in Heat. Source: `heat/engine/parameters.py`.

use std::collections::BTreeMap;

use serde_json::Value;
use yaql::shown;

use crate::{
    constraint::{self, Constraint, ValueKind},
    text::Position,
};

mod given;

pub use given::{Stored, given};

/// Parameters that always exist. The engine sets their values.
pub const PSEUDO_PARAMETERS: [&str; 3] = ["OS::stack_name", "OS::stack_id", "OS::project_id"];

/// Prefix of the names that represent hidden defaults. No template can declare such a parameter.
pub const HIDDEN_DEFAULTS: &str = "Stackloom::parameter_defaults/";

/// Name of a parameter for users, without the prefix [`HIDDEN_DEFAULTS`] and the type.
pub fn plain_name(name: &str) -> &str {
    name.strip_prefix(HIDDEN_DEFAULTS)
        .and_then(|rest| rest.split_once('/'))
        .map_or(name, |(_type, plain)| plain)
}

/// Entry under `parameters:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Position of the name.
    pub at: Position,
    /// `string`, `number`, `json`, `comma_delimited_list` or `boolean`.
    pub kind: String,
    /// The label for forms.
    pub label: Option<String>,
    /// The description for forms.
    pub description: Option<String>,
    /// Default value.
    pub default: Option<Value>,
    /// True if the value must never be displayed.
    pub hidden: bool,
    /// True if a deployment keeps the first value.
    pub immutable: bool,
    /// Tags for other programs.
    pub tags: Vec<String>,
    /// Constraints of the value, in the order of the text.
    pub constraints: Vec<Rule>,
}

/// Constraint of a parameter.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rule {
    /// The constraint.
    pub constraint: Constraint,
    /// Message of the template's author, in place of ours.
    pub description: Option<String>,
}

/// Value converted to its parameter's type. A value of another type is unchanged, and [`problem`] reports it.
pub fn coerce(kind: &str, value: &Value) -> Value {
    match (kind, value) {
        ("number", Value::String(text)) => {
            let text = text.trim();
            // Python allows `_` between digits.
            let between = |pair: &[u8]| pair.iter().all(|byte| byte.is_ascii_alphanumeric());
            let plain = if text.contains('_')
                && text.split('_').all(|part| !part.is_empty())
                && text
                    .as_bytes()
                    .windows(3)
                    .filter(|three| three[1] == b'_')
                    .all(|three| between(&[three[0], three[2]]))
            {
                text.replace('_', "")
            } else {
                text.to_owned()
            };
            let whole = plain.parse::<i64>().map(Value::from).ok();
            whole
                .or_else(|| plain.parse::<f64>().ok().map(Value::from))
                .filter(|value| !value.is_null())
                .unwrap_or_else(|| value.clone())
        }
        ("boolean", Value::String(text)) => constraint::is_boolean_word(text.trim())
            .map(Value::Bool)
            .unwrap_or_else(|| value.clone()),
        ("boolean", Value::Number(number)) => constraint::is_boolean_word(&number.to_string())
            .map(Value::Bool)
            .unwrap_or_else(|| value.clone()),
        ("comma_delimited_list", Value::String(text)) if text.is_empty() => {
            Value::Array(Vec::new())
        }
        ("comma_delimited_list", Value::String(text)) => text.split(',').collect(),
        ("comma_delimited_list", Value::Array(items)) => items.iter().map(as_string).collect(),
        ("json", Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| value.clone())
        }
        ("string", Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            as_string(value).into()
        }
        _ => value.clone(),
    }
}

/// Python's text form of a scalar: `True`, not `true`.
pub fn as_string(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => constraint::as_text(other),
    }
}

/// Value of the parameter: the given one, otherwise its default. `None` if there is neither.
pub fn value<'a>(
    parameter: &'a Parameter,
    given: &'a BTreeMap<String, Value>,
) -> Option<&'a Value> {
    given
        .get(&parameter.name)
        .filter(|value| !value.is_null())
        .or(parameter.default.as_ref())
}

/// True if a value fits the parameter's type. Constraints are not checked.
pub fn fits(parameter: &Parameter, value: &Value) -> bool {
    let without = Parameter {
        constraints: Vec::new(),
        ..parameter.clone()
    };
    problem(&without, value).is_none()
}

/// Problem of a parameter's value.
pub enum Problem {
    /// Message of the template's author.
    Described(String),
    /// Our message, which can quote the value.
    Ours(String),
}

/// First problem of a value: its type, then its constraints. Ignores constraints that need a cloud.
pub fn problem(parameter: &Parameter, value: &Value) -> Option<Problem> {
    let mut rules = parameter.constraints.iter();
    if parameter.kind == "string"
        && (value.is_number() || value.is_boolean())
        && rules.any(|rule| matches!(rule.constraint, Constraint::AllowedPattern(_)))
    {
        return Some(Problem::Ours(format!(
            "a pattern is tried on text, and `{}` is none; write it in quotes",
            shown(&as_string(value))
        )));
    }
    if parameter.kind == "string" && (value.is_array() || value.is_object()) {
        return constraint::type_problem(ValueKind::String, value).map(Problem::Ours);
    }
    let is_json = value
        .as_str()
        .is_some_and(|text| serde_json::from_str::<Value>(text).is_ok());
    let value = coerce(&parameter.kind, value);
    let kind = match parameter.kind.as_str() {
        "number" => ValueKind::Number,
        "boolean" => ValueKind::Boolean,
        "comma_delimited_list" => ValueKind::List,
        "json" => {
            return match value.as_str() {
                // Text with JSON is also accepted.
                Some(text) if !text.is_empty() && !is_json => Some(Problem::Ours(format!(
                    "it takes JSON, not `{}`",
                    shown(text)
                ))),
                _ => broken(parameter, &value),
            };
        }
        _ => ValueKind::String,
    };
    match constraint::type_problem(kind, &value) {
        Some(problem) => Some(Problem::Ours(problem)),
        None => broken(parameter, &value),
    }
}

fn broken(parameter: &Parameter, value: &Value) -> Option<Problem> {
    parameter
        .constraints
        .iter()
        .find_map(|rule| rule_problem(rule, value))
}

fn rule_problem(rule: &Rule, value: &Value) -> Option<Problem> {
    let problem = constraint::problem(&rule.constraint, value)?;
    Some(match &rule.description {
        Some(description) => Problem::Described(description.clone()),
        None => Problem::Ours(problem),
    })
}
