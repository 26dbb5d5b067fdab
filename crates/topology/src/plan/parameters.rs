//! The values that a person gave for a template's parameters.

use super::*;
use crate::{
    constraint,
    template::{Parameter, Template},
    text::{did_you_mean, shown},
    types::PropertyKind,
};

/// A value as its parameter's type has it: Heat takes numbers and booleans as text, and lists as
/// `a,b`. What does not fit stays as it is, and [`check`] says so.
pub fn coerce(kind: &str, value: &Value) -> Value {
    match (kind, value) {
        ("number", Value::String(text)) => {
            let text = text.trim();
            let whole = text.parse::<i64>().map(Value::from).ok();
            whole
                .or_else(|| text.parse::<f64>().ok().map(Value::from))
                .filter(|value| !value.is_null())
                .unwrap_or_else(|| value.clone())
        }
        ("boolean", Value::String(text)) => constraint::is_boolean_word(text)
            .map(Value::Bool)
            .unwrap_or_else(|| value.clone()),
        ("boolean", Value::Number(number)) => constraint::is_boolean_word(&number.to_string())
            .map(Value::Bool)
            .unwrap_or_else(|| value.clone()),
        ("comma_delimited_list", Value::String(text)) if text.is_empty() => {
            Value::Array(Vec::new())
        }
        ("comma_delimited_list", Value::String(text)) => text
            .split(',')
            .map(|item| Value::from(item.trim()))
            .collect(),
        ("json", Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| value.clone())
        }
        ("string", Value::Number(_) | Value::Bool(_)) => Value::String(constraint::as_text(value)),
        _ => value.clone(),
    }
}

/// Missing values, wrong types, constraints, and values for nothing.
pub(crate) fn check(template: &Template, given: &BTreeMap<String, Value>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for parameter in &template.parameters {
        let path = format!("parameters.{}", parameter.name);
        let value = given
            .get(&parameter.name)
            .filter(|value| !value.is_null())
            .or(parameter.default.as_ref());
        match value {
            None => {
                let message = format!(
                    "the parameter `{}` has no value and no default; give it one",
                    parameter.name
                );
                diagnostics.push(Diagnostic::error("parameter-missing", path, message));
            }
            Some(value) => {
                if let Some(problem) = problem(parameter, value) {
                    // A hidden value is never told, so neither is the message that quotes it.
                    let problem = if parameter.hidden {
                        "its value does not fit its type or constraints".to_owned()
                    } else {
                        problem
                    };
                    diagnostics.push(Diagnostic::error(
                        "parameter-invalid",
                        path,
                        format!("the parameter `{}`: {problem}", parameter.name),
                    ));
                }
            }
        }
    }
    for name in given.keys() {
        if !template
            .parameters
            .iter()
            .any(|parameter| parameter.name == *name)
        {
            let near = did_you_mean(
                name,
                template
                    .parameters
                    .iter()
                    .map(|parameter| parameter.name.as_str()),
            );
            diagnostics.push(Diagnostic::error(
                "unknown-parameter",
                "",
                format!(
                    "a value is given for `{}`, which is no parameter of the template{near}",
                    shown(name)
                ),
            ));
        }
    }
    diagnostics
}

fn problem(parameter: &Parameter, value: &Value) -> Option<String> {
    let value = coerce(&parameter.kind, value);
    let kind = match parameter.kind.as_str() {
        "number" => PropertyKind::Number,
        "boolean" => PropertyKind::Boolean,
        "comma_delimited_list" => PropertyKind::List { of: None },
        "json" if value.is_array() => PropertyKind::Any,
        "json" => PropertyKind::Map { of: Vec::new() },
        _ => PropertyKind::String,
    };
    constraint::type_problem(&kind, &value).or_else(|| {
        parameter
            .constraints
            .iter()
            .find_map(|constraint| constraint::problem(constraint, &value))
    })
}
