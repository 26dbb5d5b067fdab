//! Parameters as variables, constraints as validations.

use std::collections::{BTreeMap, HashMap, HashSet};

use hot::parameter::Parameter;
use serde_json::{Map, Value, json};

use super::free;
use super::pattern::expression;
use super::value::{quoted, template};
use crate::export::Report;
use crate::export::expand::{default_of, whole};

/// All open parameters. Those in `fixed` are part of the file's structure.
pub(super) fn of<'p>(
    parameters: impl Iterator<Item = &'p Parameter>,
    fixed: &BTreeMap<String, Value>,
    words: &HashMap<String, String>,
    report: &mut Report,
) -> Map<String, Value> {
    parameters
        .filter(|parameter| !fixed.contains_key(&parameter.name))
        .map(|parameter| {
            let identifier = &words[&parameter.name];
            (identifier.clone(), variable(parameter, identifier, report))
        })
        .collect()
}

/// The variable of each parameter.
pub(super) fn words<'p>(
    parameters: impl Iterator<Item = &'p Parameter>,
) -> HashMap<String, String> {
    let mut taken = HashSet::new();
    parameters
        .map(|parameter| &parameter.name)
        .map(|name| (name.clone(), free(name, &mut taken)))
        .collect()
}

fn variable(parameter: &Parameter, identifier: &str, report: &mut Report) -> Value {
    let mut body = Map::new();
    let kind = match parameter.kind.as_str() {
        "number" => "number",
        "boolean" => "bool",
        "comma_delimited_list" => "list(string)",
        "json" => "any",
        _ => "string",
    };
    body.insert("type".to_owned(), json!(kind));
    let described = parameter.description.as_ref().or(parameter.label.as_ref());
    if let Some(description) = described {
        body.insert("description".to_owned(), json!(description));
    }
    if let Some(default) = &parameter.default {
        body.insert("default".to_owned(), default_of(&parameter.kind, default));
    }
    if parameter.hidden {
        body.insert("sensitive".to_owned(), json!(true));
    }
    let variable = format!("var.{identifier}");
    let validations: Vec<Value> = parameter
        .constraints
        .iter()
        .filter_map(|rule| {
            let constraint = serde_json::to_value(&rule.constraint).ok()?;
            if constraint["allowed_pattern"]
                .as_str()
                .is_some_and(|one| expression(one).is_none())
            {
                report.left_out(
                    format!("parameters.{}.constraints", parameter.name),
                    "Terraform's regular expressions (RE2) cannot express the pattern. The variable is not checked against it",
                );
            }
            let (condition, message) = validation(&constraint, &variable)?;
            Some(json!({"condition": format!("${{{condition}}}"), "error_message": message}))
        })
        .collect();
    if !validations.is_empty() {
        body.insert("validation".to_owned(), Value::Array(validations));
    }
    Value::Object(body)
}

/// Condition and message of a validation. Constraints that query a cloud are left to the provider.
fn validation(constraint: &Value, variable: &str) -> Option<(String, String)> {
    let (kind, argument) = constraint.as_object()?.iter().next()?;
    let between = |what: &str| {
        let (min, max) = (whole(&argument["min"]), whole(&argument["max"]));
        let low = (!min.is_null()).then(|| format!("{what} >= {min}"));
        let high = (!max.is_null()).then(|| format!("{what} <= {max}"));
        let both: Vec<String> = low.into_iter().chain(high).collect();
        (!both.is_empty()).then(|| both.join(" && "))
    };
    match kind.as_str() {
        "allowed_values" => {
            let allowed = argument.as_array()?;
            let words: Vec<String> = allowed
                .iter()
                .map(|value| value.as_str().map_or_else(|| value.to_string(), quoted))
                .collect();
            let words = words.join(", ");
            Some((
                format!("contains([{words}], {variable})"),
                format!("The value must be one of {}.", words.replace('"', "")),
            ))
        }
        "allowed_pattern" => {
            let pattern = expression(argument.as_str()?)?;
            let condition = format!(
                "can(regex({}, {variable}))",
                quoted(&format!("^(?:{pattern})$"))
            );
            // Terraform reads error messages as templates.
            let shown = template(&pattern);
            Some((condition, format!("The whole value must match {shown}.")))
        }
        "length" => Some((
            between(&format!("length({variable})"))?,
            "The length of the value is not allowed.".to_owned(),
        )),
        "range" => Some((between(variable)?, "The value is out of range.".to_owned())),
        _ => None,
    }
}
