//! Checks of parameter values: the given values, converted to their types, against the constraints.
//!
//! Heat accepts numbers and booleans as text, and lists as `a,b`. [`coerce`] does the same, so that functions get the
//! same values as in Heat. Constraints on objects of a cloud are checked against the known facts. Source:
//! `heat/engine/parameters.py`.

mod immutable;
mod late;

pub(crate) use immutable::immutable;
pub(crate) use late::{bare, late};

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cloud::CloudFacts;
use hot::{
    constraint::{self, Constraint},
    diagnostic::Diagnostic,
    parameter::{Parameter, Problem, coerce, problem, value},
    template::Template,
    text::{did_you_mean, listed},
};
use yaql::shown;

/// Reports missing values, wrong types, broken constraints, and values for unknown parameters. [`defaults`] reports
/// defaults that break their own constraints.
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
                "a value is given for `{}`, which is not a parameter of the template{near}",
                shown(name)
            );
            diagnostics.push(Diagnostic::error("unknown-parameter", "", message));
        }
    }
    diagnostics
}

/// Reports defaults that do not fit their own type or constraints.
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
                        "the parameter `{}` is text, and its default is {}: it is used in its text form",
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
        // A hidden value is never displayed, so a message must not quote it.
        Problem::Ours(_) if parameter.hidden => {
            "its value does not fit its type or constraints".to_owned()
        }
        Problem::Ours(text) => text,
    };
    let message = format!("the parameter `{}`: {text}", parameter.name);
    Diagnostic::error("parameter-invalid", path, message)
}

/// Notice for a constraint that only the service can check. `None` without facts from a cloud.
fn not_looked_up(parameter: &Parameter, path: String, cloud: &CloudFacts) -> Option<Diagnostic> {
    cloud.now?;
    let mut constraints = parameter.constraints.iter();
    let name = constraints.find_map(|rule| match &rule.constraint {
        Constraint::Custom(name)
            if !constraint::is_format_only(name) && crate::lookup::of(name).is_none() =>
        {
            Some(name)
        }
        _ => None,
    })?;
    let message = format!(
        "the object that `{}` names is not looked up (`{}`): the cloud checks it when it is used",
        parameter.name,
        shown(name)
    );
    Some(Diagnostic::info("constraint-not-looked-up", path, message))
}

/// Problem if the cloud does not contain the object that the value names. An unknown list causes no problem.
fn in_cloud(parameter: &Parameter, value: &Value, cloud: &CloudFacts) -> Option<Problem> {
    let value = coerce(&parameter.kind, value);
    parameter.constraints.iter().find_map(|rule| {
        let Constraint::Custom(name) = &rule.constraint else {
            return None;
        };
        let lookup = crate::lookup::of(name)?;
        let (what, known) = (lookup.what, crate::lookup::known_values(name, cloud)?);
        let names: Vec<&str> = match &value {
            Value::String(text) => vec![text],
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let missing = names
            .into_iter()
            .find(|names| !crate::lookup::is_among(names, &known))?;
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
