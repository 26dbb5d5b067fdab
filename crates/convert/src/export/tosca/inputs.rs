//! Parameters as inputs.

use hot::parameter::Parameter;
use serde_json::{Map, Value, json};

use crate::export::expand::{default_of, whole};

pub(super) fn input(parameter: &Parameter) -> Value {
    let mut body = Map::new();
    let kind = match parameter.kind.as_str() {
        "number" if is_whole(parameter) => "integer",
        "number" => "float",
        "boolean" => "boolean",
        "comma_delimited_list" => "list",
        "json" => "map",
        _ => "string",
    };
    body.insert("type".to_owned(), json!(kind));
    if matches!(kind, "list" | "map") {
        body.insert("entry_schema".to_owned(), json!({"type": "string"}));
    }
    if let Some(description) = parameter.description.as_ref().or(parameter.label.as_ref()) {
        body.insert("description".to_owned(), json!(description));
    }
    if let Some(default) = &parameter.default {
        body.insert("default".to_owned(), default_of(&parameter.kind, default));
    }
    let constraints: Vec<Value> = parameter
        .constraints
        .iter()
        .filter_map(|rule| serde_json::to_value(&rule.constraint).ok())
        .flat_map(|constraint| written(&constraint))
        .collect();
    if !constraints.is_empty() {
        body.insert("constraints".to_owned(), Value::Array(constraints));
    }
    Value::Object(body)
}

/// HOT has one type for numbers, TOSCA has two. Without other evidence a number is an integer.
fn is_whole(parameter: &Parameter) -> bool {
    let fraction = |value: &Value| value.as_f64().is_some_and(|number| number.fract() != 0.0);
    let ends = parameter.constraints.iter().flat_map(|rule| {
        let constraint = serde_json::to_value(&rule.constraint).unwrap_or_default();
        ["min", "max"].map(|end| constraint["range"][end].clone())
    });
    !parameter
        .default
        .iter()
        .cloned()
        .chain(ends)
        .any(|number| fraction(&number))
}

fn written(constraint: &Value) -> Vec<Value> {
    let Some((kind, argument)) = constraint.as_object().and_then(|map| map.iter().next()) else {
        return Vec::new();
    };
    let ends = |low: &str, high: &str| {
        let end = |key: &str, word: &str| {
            argument
                .get(key)
                .filter(|end| !end.is_null())
                .map(|end| json!({word: whole(end)}))
        };
        end("min", low)
            .into_iter()
            .chain(end("max", high))
            .collect()
    };
    match kind.as_str() {
        "allowed_values" => vec![json!({"valid_values": argument})],
        "allowed_pattern" => vec![json!({"pattern": argument})],
        "length" => ends("min_length", "max_length"),
        "range" => ends("greater_or_equal", "less_or_equal"),
        _ => Vec::new(),
    }
}
