//! Fixes of names and values that are not allowed: the similar one that is, or the present name of a former one.

use hot::{constraint::Constraint, diagnostic::Diagnostic, document::Edit, text::nearest};
use serde_json::{Value, json};
use types::{Property, PropertyKind};

use super::{FixInput, fix, path_of, value_at};
use crate::{commands::Proposal, form::described};

/// The similar name in a problem's message.
fn suggested(problem: &Diagnostic) -> Option<&str> {
    let (_, rest) = problem.message.split_once("did you mean `")?;
    let (name, _) = rest.split_once('`')?;
    Some(name)
}

/// Use the attribute with the most similar name.
pub(super) fn attribute(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let path = path_of(problem);
    let (Some(near), Some(value)) = (suggested(problem), value_at(input, &path)) else {
        return Vec::new();
    };
    let template = input.document.template();
    let is_unknown = |resource: &str, attribute: &str| {
        let described = template
            .resource(resource)
            .and_then(|resource| input.types.get(&resource.resource_type));
        described.is_some_and(|described| {
            !described.any_attribute
                && !attribute.starts_with("resource.")
                && described.attributes.iter().all(|one| one.name != attribute)
        })
    };
    let Some(at) = attribute_in(&value, &is_unknown) else {
        return Vec::new();
    };
    let index = ["get_attr", "1"].map(str::to_owned).to_vec();
    let set = Edit::Set {
        path: [path, at, index].concat(),
        value: json!(near),
    };
    vec![fix(format!("Use `{near}`"), vec![set])]
}

/// Path of the first `get_attr` with a resource and an attribute that are `wanted`.
fn attribute_in(value: &Value, wanted: &dyn Fn(&str, &str) -> bool) -> Option<Vec<String>> {
    if let Some(Value::Array(items)) = value.get("get_attr")
        && let [Value::String(resource), Value::String(attribute), ..] = &items[..]
        && wanted(resource, attribute)
    {
        return Some(Vec::new());
    }
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(at, value)| (at.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    children.into_iter().find_map(|(key, value)| {
        let mut path = attribute_in(value, wanted)?;
        path.insert(0, key);
        Some(path)
    })
}

/// Use the condition with the most similar name, or else any other.
pub(super) fn condition(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let path = path_of(problem);
    let template = input.document.template();
    let names = || template.conditions.iter().map(|one| one.name.as_str());
    let is_unknown = |name: &str| names().all(|known| known != name);
    let Some(value) = value_at(input, &path) else {
        return Vec::new();
    };
    let Some((at, wrong)) = condition_in(&value, &is_unknown) else {
        return Vec::new();
    };
    // A condition cannot use itself.
    let own = match &path[..] {
        [section, name, ..] if section == "conditions" => Some(name.as_str()),
        _ => None,
    };
    let others = || names().filter(|name| Some(*name) != own);
    let found: Vec<&str> = match nearest(wrong, others()) {
        Some(near) => vec![near],
        None => others().collect(),
    };
    let set = |name: &str| Edit::Set {
        path: [path.clone(), at.clone()].concat(),
        value: json!(name),
    };
    found
        .into_iter()
        .map(|name| fix(format!("Use condition `{name}`"), vec![set(name)]))
        .collect()
}

/// The first name in a condition that is `wanted`, and its path.
fn condition_in<'v>(
    value: &'v Value,
    wanted: &dyn Fn(&str) -> bool,
) -> Option<(Vec<String>, &'v str)> {
    let below = |key: String, value: &'v Value| {
        let (mut path, name) = condition_in(value, wanted)?;
        path.insert(0, key);
        Some((path, name))
    };
    match value {
        Value::String(name) => wanted(name).then_some((Vec::new(), name.as_str())),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(at, value)| below(at.to_string(), value))
        }
        Value::Object(map) => ["not", "and", "or"]
            .into_iter()
            .find_map(|key| below(key.to_owned(), map.get(key)?)),
        _ => None,
    }
}

/// Use the type with the most similar name.
pub(super) fn resource_type(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let path = path_of(problem);
    let (Some(near), Some(Value::String(_))) = (suggested(problem), value_at(input, &path)) else {
        return Vec::new();
    };
    change_to(near, path)
}

/// Use the present name of a type or a property.
pub(super) fn former_name(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let path = path_of(problem);
    let (Some(value), Some((written, parent))) = (value_at(input, &path), path.split_last()) else {
        return Vec::new();
    };
    if let [section, name, key] = &path[..]
        && section == "resources"
        && key == "type"
    {
        let resource = input.document.template().resource(name);
        let described = resource.and_then(|one| input.types.get(&one.resource_type));
        return described
            .map(|described| change_to(&described.name, path.clone()))
            .unwrap_or_default();
    }
    let known = keys_below(input, parent).and_then(|keys| types::find(keys, written));
    let Some(known) = known.filter(|known| known.name != *written) else {
        return Vec::new();
    };
    let set = Edit::Set {
        path: [parent.to_vec(), vec![known.name.clone()]].concat(),
        value,
    };
    let remove = Edit::Remove { path: path.clone() };
    vec![fix(
        format!("Change to `{}`", known.name),
        vec![set, remove],
    )]
}

fn change_to(name: &str, path: Vec<String>) -> Vec<Proposal> {
    let set = Edit::Set {
        path,
        value: json!(name),
    };
    vec![fix(format!("Change to `{name}`"), vec![set])]
}

/// The described keys of the map at a path.
pub(super) fn keys_below<'a>(input: &FixInput<'a>, path: &[String]) -> Option<&'a [Property]> {
    let template = input.document.template();
    if let [section, name, properties] = path
        && section == "resources"
        && properties == "properties"
    {
        let resource = template.resource(name)?;
        return Some(&input.types.get(&resource.resource_type)?.properties);
    }
    match &described(template, input.types, path)?.kind {
        PropertyKind::Map { of } => Some(of),
        _ => None,
    }
}

/// Use the nearest value that the constraints allow.
pub(super) fn value(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let path = path_of(problem);
    let Some(property) = described(input.document.template(), input.types, &path) else {
        return Vec::new();
    };
    let Some(wrong) =
        value_at(input, &path).filter(|value| !(value.is_object() || value.is_array()))
    else {
        return Vec::new();
    };
    let is_allowed = |value: &Value| {
        let mut constraints = property.constraints.iter();
        constraints.all(|constraint| constraint.problem(value).is_none())
    };
    let broken = property.constraints.iter();
    let broken = broken.filter(|constraint| constraint.problem(&wrong).is_some());
    broken
        .flat_map(|constraint| near_values(constraint, &wrong))
        .filter(is_allowed)
        .map(|value| {
            let shown = hot::parameter::as_string(&value);
            let set = Edit::Set {
                path: path.clone(),
                value,
            };
            fix(format!("Use `{shown}`"), vec![set])
        })
        .collect()
}

/// Values that a constraint allows: the one nearest to a wrong value, or else all.
fn near_values(constraint: &Constraint, wrong: &Value) -> Vec<Value> {
    let text = hot::parameter::as_string(wrong);
    match constraint {
        Constraint::AllowedValues(allowed) => {
            let words: Vec<String> = allowed.iter().map(hot::parameter::as_string).collect();
            let near = nearest(&text, words.iter().map(String::as_str));
            let near = near.and_then(|near| words.iter().position(|word| word == near));
            match near.and_then(|at| allowed.get(at)) {
                Some(value) => vec![value.clone()],
                None => allowed.clone(),
            }
        }
        Constraint::Range { min, max } => {
            let Ok(number) = text.parse::<f64>() else {
                return Vec::new();
            };
            let bounds = [
                min.filter(|min| number < *min),
                max.filter(|max| number > *max),
            ];
            let bound = bounds.into_iter().flatten().next();
            bound.map(whole).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// A number, without a fraction if it has none.
fn whole(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}
