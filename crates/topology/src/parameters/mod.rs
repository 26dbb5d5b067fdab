//! Values of a template's parameters: what a person gave, as each type has it, against what it must
//! fulfil.
//!
//! Heat takes numbers and truths as text and lists as `a,b`; [`coerce`] does the same, so that a function
//! sees what it would see there. Constraints that name things of a cloud are looked up in what is known
//! of it. Source: `heat/engine/parameters.py`.

mod given;
mod immutable;

pub(crate) use given::{bare, given, late};
pub(crate) use immutable::immutable;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    cloud::CloudFacts,
    constraint,
    diagnostic::Diagnostic,
    template::{Parameter, Rule, Template},
    text::{did_you_mean, listed, shown},
    types::{Constraint, PropertyKind},
};

/// A value as its parameter's type has it. What does not fit stays as it is, and [`check`] says so.
pub fn coerce(kind: &str, value: &Value) -> Value {
    match (kind, value) {
        ("number", Value::String(text)) => {
            let text = text.trim();
            // Python allows `_` between digits.
            let between = |pair: &[u8]| pair.iter().all(|byte| byte.is_ascii_alphanumeric());
            let plain = match text.contains('_')
                && text.split('_').all(|part| !part.is_empty())
                && text
                    .as_bytes()
                    .windows(3)
                    .filter(|three| three[1] == b'_')
                    .all(|three| between(&[three[0], three[2]]))
            {
                true => text.replace('_', ""),
                false => text.to_owned(),
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

/// A scalar's text as Python has it: `True`, not `true`.
fn as_string(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => constraint::as_text(other),
    }
}

/// The value that a parameter has, if it has one: the one given, else its default.
pub(crate) fn value<'a>(
    parameter: &'a Parameter,
    given: &'a BTreeMap<String, Value>,
) -> Option<&'a Value> {
    given
        .get(&parameter.name)
        .filter(|value| !value.is_null())
        .or(parameter.default.as_ref())
}

/// Missing values, wrong types, constraints, and values for nothing. Defaults that break their own
/// constraints are [`defaults`]'.
pub(crate) fn check(
    template: &Template,
    given: &BTreeMap<String, Value>,
    cloud: &CloudFacts,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for parameter in &template.parameters {
        let path = format!("parameters.{}", parameter.name);
        let Some(value) = value(parameter, given) else {
            let message = format!(
                "the parameter `{}` has no value and no default; give it one",
                parameter.name
            );
            diagnostics.push(Diagnostic::error("parameter-missing", path, message));
            continue;
        };
        let is_given = parameter.default.as_ref() != Some(value);
        let problem = is_given
            .then(|| problem(parameter, value))
            .flatten()
            .or_else(|| in_cloud(parameter, value, cloud));
        if let Some(problem) = problem {
            diagnostics.push(invalid(parameter, path, problem));
        } else {
            diagnostics.extend(not_looked_up(parameter, path, cloud));
        }
    }
    for name in given.keys() {
        let known = || {
            template
                .parameters
                .iter()
                .map(|parameter| parameter.name.as_str())
        };
        if !known().any(|known| known == name) {
            let near = did_you_mean(name, known());
            let message = format!(
                "a value is given for `{}`, which is no parameter of the template{near}",
                shown(name)
            );
            diagnostics.push(Diagnostic::error("unknown-parameter", "", message));
        }
    }
    diagnostics
}

/// Whether a value fits the parameter's type; constraints are not looked at.
pub(crate) fn fits(parameter: &Parameter, value: &Value) -> bool {
    let without = Parameter {
        constraints: Vec::new(),
        ..parameter.clone()
    };
    problem(&without, value).is_none()
}

/// Defaults that do not fit their own type or constraints.
pub(crate) fn defaults(template: &Template) -> Vec<Diagnostic> {
    template
        .parameters
        .iter()
        .filter_map(|parameter| {
            let default = parameter.default.as_ref()?;
            if parameter.kind == "string" && (default.is_array() || default.is_object()) {
                return Some(Diagnostic::warning(
                    "parameter-invalid",
                    format!("parameters.{}.default", parameter.name),
                    format!(
                        "the parameter `{}` is text, and its default is {}: what is put in for it is that written as text",
                        parameter.name,
                        if default.is_array() { "a list" } else { "a map" }
                    ),
                ));
            }
            let problem = problem(parameter, default)?;
            let path = format!("parameters.{}.default", parameter.name);
            Some(invalid(parameter, path, problem))
        })
        .collect()
}

fn invalid(parameter: &Parameter, path: String, problem: Problem) -> Diagnostic {
    let text = match problem {
        Problem::Described(text) => text,
        // A hidden value is never told, so neither is a message that quotes it.
        Problem::Ours(_) if parameter.hidden => {
            "its value does not fit its type or constraints".to_owned()
        }
        Problem::Ours(text) => text,
    };
    let message = format!("the parameter `{}`: {text}", parameter.name);
    Diagnostic::error("parameter-invalid", path, message)
}

/// A constraint that only the service can answer. Said where a cloud was asked at all.
fn not_looked_up(parameter: &Parameter, path: String, cloud: &CloudFacts) -> Option<Diagnostic> {
    cloud.now?;
    let mut constraints = parameter.constraints.iter();
    let name = constraints.find_map(|rule| match &rule.constraint {
        Constraint::Custom(name)
            if !constraint::is_by_look(name) && constraint::lookup::of(name).is_none() =>
        {
            Some(name)
        }
        _ => None,
    })?;
    let message = format!(
        "whether there is what `{}` names is not looked up (`{}`): the cloud says so when it is used",
        parameter.name,
        shown(name)
    );
    Some(Diagnostic::info("constraint-not-looked-up", path, message))
}

enum Problem {
    /// In the words of the template's author.
    Described(String),
    /// In ours; it may quote the value.
    Ours(String),
}

fn problem(parameter: &Parameter, value: &Value) -> Option<Problem> {
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
        return constraint::type_problem(&PropertyKind::String, value).map(Problem::Ours);
    }
    let is_json = value
        .as_str()
        .is_some_and(|text| serde_json::from_str::<Value>(text).is_ok());
    let value = coerce(&parameter.kind, value);
    let kind = match parameter.kind.as_str() {
        "number" => PropertyKind::Number,
        "boolean" => PropertyKind::Boolean,
        "comma_delimited_list" => PropertyKind::List { of: None },
        "json" => {
            return match value.as_str() {
                // A text in JSON is JSON too.
                Some(text) if !text.is_empty() && !is_json => Some(Problem::Ours(format!(
                    "it takes JSON, not `{}`",
                    shown(text)
                ))),
                _ => broken(parameter, &value),
            };
        }
        _ => PropertyKind::String,
    };
    match constraint::type_problem(&kind, &value) {
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

/// Whether there is what the value names. A list of the cloud that is not known keeps silent.
fn in_cloud(parameter: &Parameter, value: &Value, cloud: &CloudFacts) -> Option<Problem> {
    let value = coerce(&parameter.kind, value);
    parameter.constraints.iter().find_map(|rule| {
        let Constraint::Custom(name) = &rule.constraint else {
            return None;
        };
        let lookup = constraint::lookup::of(name)?;
        let (what, known) = (lookup.what, constraint::lookup::things(name, cloud)?);
        let asked: Vec<&str> = match &value {
            Value::String(text) => vec![text],
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let missing = asked
            .into_iter()
            .find(|asked| !constraint::lookup::is_among(asked, &known))?;
        if let Some(description) = &rule.description {
            return Some(Problem::Described(description.clone()));
        }
        let names: Vec<&str> = known.iter().map(|(_, name)| *name).collect();
        let hint = match did_you_mean(missing, names.iter().copied()) {
            near if !near.is_empty() => near,
            _ if !names.is_empty() && names.len() <= 12 => {
                format!("; there are {}", listed(&names))
            }
            _ => String::new(),
        };
        Some(Problem::Ours(format!(
            "the cloud has no {what} `{}`{hint}",
            shown(missing)
        )))
    })
}

#[cfg(test)]
mod tests;
