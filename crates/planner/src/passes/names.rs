//! Replaces former names of types and properties by the present ones, so that later code handles one name only. Reports
//! nothing: validation has already reported the former names.

use super::*;
use types::{Property, PropertyKind};

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    for (_, spec) in &mut model.resources {
        let Some(described) = context.types.get(&spec.resource_type) else {
            continue;
        };
        if spec.resource_type != described.name {
            spec.resource_type = described.name.clone();
        }
        for property in &described.properties {
            if let Some(former) = &property.formerly
                && let Some(value) = spec.properties.remove(former)
                && !spec.properties.contains_key(&property.name)
            {
                let value = fitting(property, value);
                spec.properties.insert(property.name.clone(), value);
            }
            if let Some(value) = spec.properties.get_mut(&property.name) {
                within(property, value);
            }
        }
    }
    Vec::new()
}

/// Value for a property that is now a list: a single value becomes a list of one item.
fn fitting(property: &Property, value: Expr) -> Expr {
    match (&property.kind, value) {
        (PropertyKind::List { .. }, value @ Expr::Literal(_)) => Expr::List(vec![value]),
        (_, value) => value,
    }
}

/// Replaces the keys of maps, and of maps in lists.
fn within(property: &Property, value: &mut Expr) {
    match (&property.kind, value) {
        (PropertyKind::List { of: Some(of) }, Expr::List(items)) => {
            items.iter_mut().for_each(|item| within(of, item));
        }
        (PropertyKind::Map { of }, Expr::Map(entries)) => {
            for property in of {
                let given = |name: &str, entries: &[(String, Expr)]| {
                    entries
                        .iter()
                        .any(|(key, value)| key == name && !value.is_null())
                };
                if let Some(former) = &property.formerly
                    && given(former, entries)
                    && !given(&property.name, entries)
                {
                    entries.retain(|(key, _)| *key != property.name);
                    for (key, _) in entries.iter_mut().filter(|(key, _)| key == former) {
                        property.name.clone_into(key);
                    }
                }
                for (_, value) in entries.iter_mut().filter(|(key, _)| *key == property.name) {
                    within(property, value);
                }
            }
        }
        _ => {}
    }
}
