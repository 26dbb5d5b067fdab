//! Connections between components: their number, and capabilities that a component does not provide with its inputs.
//!
//! An item can provide a capability with certain values only (`when` in its manifest): a web server with HTTPS is no backend
//! of a proxy that speaks HTTP. Values that are known only during the run are not checked.

use std::collections::HashMap;

use hot::{diagnostic::Diagnostic, expr::Expr};
use serde_json::Value;
use types::{
    Registry,
    catalog::{CatalogItem, Requirement},
};
use yaql::shown;

use crate::{
    graph::{providers, target},
    passes::Model,
    workflow::ResourceSpec,
};

/// Code of errors for too few and too many connections.
pub(crate) const CONNECTION_COUNT: &str = "connection-count";

/// Number of connections in the property of a requirement. `None` if it is not known yet.
pub(crate) fn connection_count(value: Option<&Expr>) -> Option<usize> {
    match value {
        None | Some(Expr::Literal(Value::Null)) => Some(0),
        Some(Expr::List(items)) => Some(items.len()),
        Some(Expr::GetResource(_)) => Some(1),
        Some(_) => None,
    }
}

/// The message for a component with too few or too many connections.
pub(crate) fn wrong_count(name: &str, requirement: &Requirement, count: usize) -> Option<String> {
    let name = shown(name);
    let words = |number: usize| match number {
        0 => "none".to_owned(),
        1 => "one".to_owned(),
        more => more.to_string(),
    };
    let (min, max) = (
        requirement.min as usize,
        requirement.max.map(|max| max as usize),
    );
    if count < min {
        return Some(format!(
            "`{name}` must be connected to at least {} that provides `{}` (`{}`), and is connected to {}",
            words(min),
            requirement.capability,
            requirement.name,
            words(count)
        ));
    }
    let max = max.filter(|max| count > *max)?;
    Some(format!(
        "`{name}` can be connected to at most {} as `{}`, and is connected to {count}",
        words(max),
        requirement.name
    ))
}

/// Errors for components with too few or too many connections, also those that come from groups and conditions.
pub(crate) fn wrong_counts(model: &Model, types: &Registry) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, spec) in model.iter() {
        for requirement in requirements(spec, types) {
            let value = spec.properties.get(&requirement.name);
            let count = connection_count(value);
            let message = count.and_then(|count| wrong_count(name, requirement, count));
            let path = match value {
                Some(_) => format!("resources.{name}.properties.{}", requirement.name),
                None => format!("resources.{name}"),
            };
            found.extend(message.map(|message| Diagnostic::error(CONNECTION_COUNT, path, message)));
        }
    }
    found
}

/// Errors for connections to components that do not provide the capability. The passes have set all inputs.
pub(crate) fn not_provided(model: &Model, types: &Registry) -> Vec<Diagnostic> {
    let unmet = unmet(model, types);
    if unmet.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (name, spec) in model.iter() {
        // A requirement that opens no port uses the address only.
        for requirement in requirements(spec, types).filter(|one| one.opens) {
            let value = spec.properties.get(&requirement.name);
            let connected = value.into_iter().flat_map(providers).filter_map(target);
            let mut without = connected.filter_map(|provider| {
                let unmet = unmet.get(&(provider, requirement.capability.as_str()))?;
                Some((provider, unmet))
            });
            let Some((provider, unmet)) = without.next() else {
                continue;
            };
            let Unmet {
                input,
                needed,
                present,
            } = unmet;
            // A group can have hundreds of them.
            let providers = match without.count() {
                0 => format!("`{}` does not provide", shown(provider)),
                more => format!("`{}` and {more} more do not provide", shown(provider)),
            };
            let message = format!(
                "{providers} `{}` with `{input}: {}`, so `{}` cannot use it as `{}`; set `{input}` to `{needed}`, or remove the \
                 connection",
                requirement.capability,
                shown(present),
                shown(name),
                requirement.name,
            );
            let path = format!("resources.{name}.properties.{}", requirement.name);
            found.push(Diagnostic::error("capability-not-provided", path, message));
        }
    }
    found
}

/// A condition of a capability that a component does not meet.
struct Unmet<'a> {
    input: &'a str,
    needed: &'a str,
    present: &'a str,
}

/// The conditions that components do not meet, by component and capability.
fn unmet<'a>(model: &'a Model, types: &'a Registry) -> HashMap<(&'a str, &'a str), Unmet<'a>> {
    let mut all = HashMap::new();
    for (name, spec) in model.iter() {
        let offered = item_of(spec, types).into_iter();
        for capability in offered.flat_map(|item| &item.provides) {
            let unmet = capability.when.iter().find_map(|(input, needed)| {
                let present = spec.properties.get(input)?.as_str()?;
                (present != needed).then_some(Unmet {
                    input,
                    needed,
                    present,
                })
            });
            if let Some(unmet) = unmet {
                all.insert((name, capability.name.as_str()), unmet);
            }
        }
    }
    all
}

fn requirements<'a>(
    spec: &ResourceSpec,
    types: &'a Registry,
) -> impl Iterator<Item = &'a Requirement> {
    let item = item_of(spec, types);
    item.into_iter().flat_map(|item| &item.requires)
}

fn item_of<'a>(spec: &ResourceSpec, types: &'a Registry) -> Option<&'a CatalogItem> {
    types.get(&spec.resource_type)?.component.as_ref()
}
