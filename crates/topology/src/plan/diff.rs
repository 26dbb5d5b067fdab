//! What differs between what is deployed and what is drawn.
//!
//! Both sides are resources after the passes, so what a pass now adds or leaves out shows as any
//! other change. Order and reasons (`requires`, `origin`) are no difference.

use super::*;
use crate::{
    expr::Expr,
    types::{OnChange, Property, ResourceType},
};

/// One change per resource: the drawn ones in their order, then what vanishes.
pub(super) fn changes(model: &Model, deployed: &Deployed, types: &Registry) -> Vec<Change> {
    let mut changes: Vec<Change> = model
        .iter()
        .map(|(name, spec)| match deployed.resources.get(name) {
            None => change(Action::Create, name, spec, why(spec)),
            Some(old) => compare(name, old, spec, types),
        })
        .collect();
    let gone = deployed
        .resources
        .iter()
        .filter(|(name, _)| model.get(name).is_none());
    changes.extend(gone.map(|(name, spec)| change(Action::Delete, name, spec, None)));
    changes
}

fn change(action: Action, name: &str, spec: &ResourceSpec, because: Option<String>) -> Change {
    Change {
        action,
        resource: name.to_owned(),
        resource_type: spec.resource_type.clone(),
        origin: spec.origin.clone(),
        because,
        properties: Vec::new(),
    }
}

fn why(spec: &ResourceSpec) -> Option<String> {
    match &spec.origin {
        Origin::Drawn => None,
        Origin::Derived { why, .. } => Some(why.clone()),
    }
}

fn compare(name: &str, old: &ResourceSpec, new: &ResourceSpec, types: &Registry) -> Change {
    if old.resource_type != new.resource_type {
        let because = format!(
            "its type changes from `{}`: it will be replaced",
            old.resource_type
        );
        return change(Action::Replace, name, new, Some(because));
    }
    let described = types.get(&new.resource_type);
    let mut names: Vec<&String> = old.properties.keys().chain(new.properties.keys()).collect();
    names.sort();
    names.dedup();
    let mut properties = Vec::new();
    let mut replaced_by = None;
    for property in names {
        let (before, after) = (old.properties.get(property), new.properties.get(property));
        if before == after || is_default(described, property, before, after) {
            continue;
        }
        let known = described.and_then(|described| described.property(property));
        if known.is_none_or(|known| known.on_change == OnChange::Replace)
            && !described.is_some_and(ResourceType::is_component)
            && !crate::compose::is_parent(&new.resource_type)
        {
            replaced_by.get_or_insert(property);
        }
        properties.push(PropertyChange {
            name: property.clone(),
            old: masked(known, before),
            new: masked(known, after),
        });
    }
    let (action, because) = match (replaced_by, properties.first()) {
        (Some(property), _) => (
            Action::Replace,
            Some(format!("`{property}` changes: it will be replaced")),
        ),
        (None, Some(first)) if properties.len() == 1 => {
            (Action::Update, Some(format!("`{}` changes", first.name)))
        }
        (None, Some(first)) => (
            Action::Update,
            Some(format!(
                "`{}` and {} more change",
                first.name,
                properties.len() - 1
            )),
        ),
        (None, None) => (Action::None, None),
    };
    Change {
        properties,
        ..change(action, name, new, because)
    }
}

/// A default written out is no change.
fn is_default(
    described: Option<&ResourceType>,
    property: &str,
    before: Option<&Expr>,
    after: Option<&Expr>,
) -> bool {
    let default = described.and_then(|described| described.property(property)?.default.as_ref());
    let (Some(default), (Some(given), None) | (None, Some(given))) = (default, (before, after))
    else {
        return false;
    };
    given.to_json() == *default
}

fn masked(property: Option<&Property>, value: Option<&Expr>) -> Option<Value> {
    let value = value?;
    if property.is_some_and(|property| property.secret) && matches!(value, Expr::Literal(_)) {
        return Some(Value::from("***"));
    }
    Some(value.to_json())
}

/// Changes that cannot be carried out, or not as a person might think.
pub(super) fn problems(
    changes: &[Change],
    model: &Model,
    deployed: &Deployed,
    types: &Registry,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for change in changes {
        let path = format!("resources.{}", change.resource);
        match change.action {
            Action::Update | Action::Replace => {
                let because = change.because.as_deref().unwrap_or("it changes");
                let message = format!(
                    "`{}` is deployed already and cannot be changed yet ({because}); undeploy and deploy again",
                    change.resource
                );
                diagnostics.push(Diagnostic::error("update-not-supported", path, message));
            }
            Action::Delete
                if types
                    .get(&change.resource_type)
                    .is_some_and(ResourceType::is_component) =>
            {
                let host = deployed
                    .resources
                    .get(&change.resource)
                    .and_then(|spec| graph::target(spec.properties.get("host")?));
                if let Some(host) = host.filter(|host| model.get(host).is_some()) {
                    let message = format!(
                        "`{}` is forgotten, but its software stays installed on `{host}`",
                        change.resource
                    );
                    diagnostics.push(Diagnostic::warning("software-stays", path, message));
                }
            }
            _ => {}
        }
    }
    diagnostics
}
