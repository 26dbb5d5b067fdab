//! Sets inputs of catalogue items that are not set to their defaults.
//!
//! So a workflow contains all inputs of a role, rules know the port of a component, and a new default of the catalogue shows as a
//! change.

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
