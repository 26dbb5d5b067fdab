//! Parameters that keep the value of the first deployment.

use std::collections::BTreeMap;

use serde_json::Value;

use hot::{diagnostic::Diagnostic, parameter::coerce, template::Template};

/// Reports changed values of immutable parameters. A parameter without a given value had its default; values of hidden
/// parameters are not available here.
pub(crate) fn immutable(
    template: &Template,
    before: &BTreeMap<String, Value>,
    given: &BTreeMap<String, Value>,
) -> Vec<Diagnostic> {
    let changed = template
        .parameters
        .iter()
        .filter(|parameter| parameter.immutable && !parameter.hidden)
        .filter(|parameter| {
            let value = |values: &BTreeMap<String, Value>| {
                let value = values.get(&parameter.name).or(parameter.default.as_ref());
                value.map(|value| coerce(&parameter.kind, value))
            };
            let before = value(before);
            before.is_some() && before != value(given)
        });
    changed
        .map(|parameter| {
            let message = format!(
                "the parameter `{}` is immutable: it keeps its first value; make a new deployment to use another one",
                parameter.name
            );
            let path = format!("parameters.{}", parameter.name);
            Diagnostic::error("parameter-immutable", path, message)
        })
        .collect()
}
