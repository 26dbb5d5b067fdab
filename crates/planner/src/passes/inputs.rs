//! Sets inputs of catalogue items that are not set to their defaults.
//!
//! A workflow therefore contains all inputs of a role, rules can use the port of a component, and a changed default in
//! the catalogue appears as a change.

use super::*;

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    for (_, spec) in &mut model.resources {
        let Some(item) = component(context, spec) else {
            continue;
        };
        for input in &item.inputs {
            if let Some(default) = &input.default
                && !spec.properties.contains_key(&input.name)
            {
                spec.properties.insert(
                    input.name.clone(),
                    Expr::from_json(default).unwrap_or_else(|_| literal(default.clone())),
                );
            }
        }
    }
    Vec::new()
}
