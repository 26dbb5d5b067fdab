//! `constraints:` of a parameter.

use serde_json::Value;

use super::{Reader, Version};
use crate::{
    constraint::Constraint,
    parameter::{Rule, coerce},
    text::{did_you_mean, listed},
    yaml::{Entry, Node},
};
use yaql::{pattern::Pattern, shown};

const KINDS: [&str; 6] = [
    "length",
    "range",
    "modulo",
    "allowed_values",
    "allowed_pattern",
    "custom_constraint",
];

/// Precedence of constraints if one item has several.
const ORDER: [&str; 6] = [
    "modulo",
    "range",
    "length",
    "allowed_values",
    "allowed_pattern",
    "custom_constraint",
];

/// True if this kind of constraint applies to parameters of this type. Source: Heat's `heat/engine/constraints.py`.
fn fits(constraint: &str, kind: &str) -> bool {
    match constraint {
        "length" => matches!(kind, "string" | "json" | "comma_delimited_list"),
        "range" | "modulo" => kind == "number",
        "allowed_pattern" => kind == "string",
        _ => kind != "json",
    }
}

impl<'a, const REPORTS: bool> Reader<'a, REPORTS> {
    pub(super) fn constraints(&mut self, node: &'a Node, kind: &str) -> Vec<Rule> {
        let Some(items) = node.items() else {
            if !node.is_null() {
                self.wrong_shape(node, "a list of constraints");
            }
            return Vec::new();
        };
        items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| {
                self.at_index(index, |reader| reader.rule(&item.value, kind))
            })
            .collect()
    }

    fn rule(&mut self, node: &'a Node, kind: &str) -> Option<Rule> {
        let entries = self.entries(node, "a constraint");
        let description = node
            .entry("description")
            .and_then(|entry| self.below("description", |reader| reader.words_of(&entry.value)));
        let rules: Vec<&Entry> = entries
            .iter()
            .filter(|entry| entry.key != "description")
            .collect();
        // Heat uses one of several, in this order of precedence.
        let first = ORDER
            .iter()
            .find_map(|kind| rules.iter().find(|rule| rule.key == *kind));
        if let (Some(first), [_, _, ..]) = (first, rules.as_slice())
            && rules.iter().all(|rule| KINDS.contains(&rule.key.as_str()))
        {
            let message = || {
                format!(
                    "a constraint is one of {}; of these only `{}` counts: give each an item of its own in the list",
                    listed(&KINDS),
                    first.key
                )
            };
            self.warning("constraint-invalid", node.span.start, message);
        }
        let several =
            rules.len() > 1 && rules.iter().all(|rule| KINDS.contains(&rule.key.as_str()));
        let Some(rule) = (match rules.as_slice() {
            [only] => Some(only),
            _ if several => first,
            _ => None,
        }) else {
            let message = || {
                format!(
                    "a constraint has one of {}, and may have a `description`",
                    listed(&KINDS)
                )
            };
            self.error("constraint-invalid", node.span.start, message);
            return None;
        };
        let at = rule.key_span.start;
        let name = rule.key.as_str();
        if !KINDS.contains(&name) {
            let message = || {
                format!(
                    "`{}` is no constraint{}",
                    shown(name),
                    did_you_mean(name, KINDS)
                )
            };
            self.error("constraint-invalid", at, message);
            return None;
        }
        let version = self.version;
        if name == "modulo" && version < Version::V2017_02_24 {
            let message = || {
                format!(
                    "the constraint `modulo` came with version 2017-02-24, and this template is of version {version}"
                )
            };
            self.error("constraint-invalid", at, message);
            return None;
        }
        if !fits(name, kind) {
            let message = || format!("`{name}` does not apply to a parameter of type `{kind}`");
            self.error("constraint-invalid", at, message);
            return None;
        }
        let read = match name {
            "length" => length(&rule.value),
            "range" => range(&rule.value),
            "modulo" => modulo(&rule.value),
            "allowed_values" => rule
                .value
                .items()
                .map(|items| {
                    let values = items.iter().map(|item| item.value.to_json());
                    // Heat compares converted values: `yes` is true.
                    let scalar = |value: Value| match kind {
                        "comma_delimited_list" => value,
                        _ => coerce(kind, &value),
                    };
                    values.map(scalar).collect()
                })
                .map(Constraint::AllowedValues)
                .ok_or_else(|| "`allowed_values` takes a list".to_owned()),
            "allowed_pattern" => text(&rule.value, name).map(Constraint::AllowedPattern),
            _ => text(&rule.value, name).map(Constraint::Custom),
        };
        let constraint = match read {
            Ok(constraint) => constraint,
            Err(message) => {
                self.error("constraint-invalid", at, || message);
                return None;
            }
        };
        if REPORTS {
            self.report_unusable(&constraint, at);
        }
        Some(Rule {
            constraint,
            description,
        })
    }

    /// Reports a constraint that cannot check values. The model has it all the same.
    fn report_unusable(&mut self, constraint: &Constraint, at: usize) {
        match constraint {
            Constraint::AllowedPattern(pattern) => {
                let Err(problem) = Pattern::new(pattern) else {
                    return;
                };
                // Heat's patterns are Python's. Ours support neither of these two features.
                if problem.contains("look-around") || problem.contains("backreference") {
                    let message = || format!("{problem}; values are not checked by it");
                    self.warning("constraint-invalid", at, message);
                } else {
                    self.error("constraint-invalid", at, || problem);
                }
            }
            Constraint::Custom(custom) if !crate::constraint::is_custom(custom) => {
                let message = || {
                    format!(
                        "there is no custom constraint `{}`{}",
                        shown(custom),
                        did_you_mean(custom, crate::constraint::CUSTOM.iter().copied())
                    )
                };
                self.error("constraint-invalid", at, message);
            }
            _ => {}
        }
    }
}

fn text(node: &Node, name: &str) -> Result<String, String> {
    match node.scalar() {
        Some(Value::String(text)) => Ok(text),
        _ => Err(format!("`{name}` takes text")),
    }
}

/// Two numbers under two keys. The error is a sentence.
fn numbers(node: &Node, name: &str, keys: [&str; 2]) -> Result<[Option<f64>; 2], String> {
    let wrong = || {
        format!(
            "`{name}` takes a map with `{}`, `{}` or both",
            keys[0], keys[1]
        )
    };
    let entries = node.entries().ok_or_else(wrong)?;
    if let Some(other) = entries
        .iter()
        .find(|entry| !keys.contains(&entry.key.as_str()))
    {
        return Err(format!(
            "`{name}` has no `{}`{}",
            shown(&other.key),
            did_you_mean(&other.key, keys)
        ));
    }
    let mut found = [None, None];
    for (place, key) in keys.iter().enumerate() {
        let Some(entry) = node.entry(key).filter(|entry| !entry.value.is_null()) else {
            continue;
        };
        let number = match entry.value.scalar() {
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            _ => None,
        };
        found[place] = Some(number.ok_or_else(|| format!("`{key}` of `{name}` is a number"))?);
    }
    if found == [None, None] {
        return Err(wrong());
    }
    Ok(found)
}

fn length(node: &Node) -> Result<Constraint, String> {
    let [min, max] = numbers(node, "length", ["min", "max"])?;
    let whole = |number: Option<f64>| match number {
        Some(number) if number.fract() != 0.0 => {
            Err("`min` and `max` of `length` are whole numbers".to_owned())
        }
        // A length is never less than zero.
        other => Ok(other.map(|number| number.max(0.0) as u64)),
    };
    Ok(Constraint::Length {
        min: whole(min)?,
        max: whole(max)?,
    })
}

fn range(node: &Node) -> Result<Constraint, String> {
    let [min, max] = numbers(node, "range", ["min", "max"])?;
    Ok(Constraint::Range { min, max })
}

fn modulo(node: &Node) -> Result<Constraint, String> {
    let wrong = || "`modulo` takes a map with `step` and `offset`, whole numbers".to_owned();
    let [Some(step), Some(offset)] =
        numbers(node, "modulo", ["step", "offset"]).map_err(|problem| {
            if problem.contains("or both") {
                wrong()
            } else {
                problem
            }
        })?
    else {
        return Err(wrong());
    };
    if step.fract() != 0.0 || offset.fract() != 0.0 {
        return Err(wrong());
    }
    if step == 0.0 {
        return Err("`step` of `modulo` cannot be 0".to_owned());
    }
    if offset.abs() >= step.abs() {
        return Err("`offset` of `modulo` must be smaller than `step`".to_owned());
    }
    if step * offset < 0.0 {
        return Err(
            "`step` and `offset` of `modulo` must both be positive, or both negative".to_owned(),
        );
    }
    Ok(Constraint::Modulo {
        step: step as i64,
        offset: offset as i64,
    })
}
