//! Parameters as variables, constraints as validations.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};
use topology::template::Parameter;

use super::free;
use super::value::{quoted, template};
use crate::Report;
use crate::expand::{default_of, whole};

/// All that are open; those in `fixed` have become part of the file's shape.
pub(super) fn of<'p>(
    parameters: impl Iterator<Item = &'p Parameter>,
    fixed: &BTreeMap<String, Value>,
    words: &HashMap<String, String>,
    report: &mut Report,
) -> Map<String, Value> {
    parameters
        .filter(|parameter| !fixed.contains_key(&parameter.name))
        .map(|parameter| {
            let word = &words[&parameter.name];
            (word.clone(), variable(parameter, word, report))
        })
        .collect()
}

/// What each parameter is called there.
pub(super) fn words<'p>(
    parameters: impl Iterator<Item = &'p Parameter>,
) -> HashMap<String, String> {
    let mut taken = HashSet::new();
    parameters
        .map(|parameter| &parameter.name)
        .map(|name| (name.clone(), free(name, &mut taken)))
        .collect()
}

fn variable(parameter: &Parameter, word: &str, report: &mut Report) -> Value {
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
    let variable = format!("var.{word}");
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
                    "a pattern that Terraform's regular expressions cannot say",
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

/// Python's pattern in Terraform's words. Those know nothing of what stands around a match, nor of what was matched before.
fn expression(pattern: &str) -> Option<String> {
    const UNKNOWN: [&str; 6] = ["(?=", "(?!", "(?<", "(?(", "(?#", "(?P="];
    if UNKNOWN.iter().any(|one| pattern.contains(one)) {
        return None;
    }
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        let escaped = after.next()?;
        rest = after.as_str();
        match escaped {
            'u' => {
                let code = rest.get(..4)?;
                if !code.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    return None;
                }
                out.push_str(&format!("\\x{{{code}}}"));
                rest = &rest[4..];
            }
            'Z' => out.push_str("\\z"),
            '1'..='9' => return None,
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Condition and message. Constraints that ask a cloud are the provider's to find out.
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
                format!("It must be one of {}.", words.replace('"', "")),
            ))
        }
        "allowed_pattern" => {
            let pattern = expression(argument.as_str()?)?;
            let condition = format!(
                "can(regex({}, {variable}))",
                quoted(&format!("^(?:{pattern})$"))
            );
            // Terraform reads its own messages as templates.
            let shown = template(&pattern);
            Some((condition, format!("It must match {shown} as a whole.")))
        }
        "length" => Some((
            between(&format!("length({variable})"))?,
            "Its length is not allowed.".to_owned(),
        )),
        "range" => Some((between(variable)?, "It is out of range.".to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::expression;

    #[test]
    fn patterns_are_said_in_the_other_dialect_or_not_at_all() {
        for (python, terraform) in [
            (
                r"[_0-9\u4e00-\u9fa5]+\Z",
                Some(r"[_0-9\x{4e00}-\x{9fa5}]+\z"),
            ),
            (r"a\\u12", Some(r"a\\u12")),
            (r"\d+\.\d", Some(r"\d+\.\d")),
            (r"(?=a)b", None),
            (r"(a)\1", None),
            (r"a\", None),
            (r"\u12é", None),
        ] {
            assert_eq!(expression(python).as_deref(), terraform, "{python}");
        }
    }
}
