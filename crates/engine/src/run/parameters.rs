//! The parameter values of a run: pseudo parameters, defaults and given values.

use std::collections::{BTreeMap, BTreeSet};

use hot::{document::Document, merged::Merged, template::Template};
use serde_json::Value;
use store::DeploymentRow;

use crate::Tenant;

/// The pseudo parameters of a deployment.
pub fn pseudo_parameters(name: &str, id: &str, tenant: &Tenant) -> BTreeMap<String, Value> {
    let values = [
        ("OS::stack_name", name),
        ("OS::stack_id", id),
        ("OS::project_id", &tenant.project_id),
    ];
    let values = values.map(|(name, value)| (name.to_owned(), Value::from(value)));
    BTreeMap::from(values)
}

/// All values for `get_param`: pseudo parameters, defaults and given values.
pub fn parameters(
    deployment: &DeploymentRow,
    hidden: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let document = Document::parse(deployment.shown.template.clone());
    let shown = &deployment.shown;
    let mut values = pseudo_parameters(&shown.name, &shown.id, &deployment.tenant);
    values.extend(defaults(document.template(), |hidden| !hidden));
    let merged = Merged::of(&deployment.shown.beside.bundle(), document.template());
    values.extend(merged.parameters(document.template(), &deployment.parameters));
    values.extend(hidden.clone());
    values
}

/// Names of the template's hidden parameters, and the names of nested templates' hidden values.
pub(super) fn hidden_names(
    deployment: &DeploymentRow,
    hidden: &BTreeMap<String, Value>,
) -> BTreeSet<String> {
    let document = Document::parse(deployment.shown.template.clone());
    let parameters = document.template().parameters.iter();
    let declared = parameters.filter(|parameter| parameter.hidden);
    let declared = declared.map(|parameter| parameter.name.clone());
    declared.chain(hidden.keys().cloned()).collect()
}

/// Defaults of a template's parameters, of either the hidden or the other ones.
pub fn defaults(template: &Template, wanted: impl Fn(bool) -> bool) -> BTreeMap<String, Value> {
    let parameters = template
        .parameters
        .iter()
        .filter(|parameter| wanted(parameter.hidden));
    parameters
        .filter_map(|parameter| Some((parameter.name.clone(), parameter.default.clone()?)))
        .collect()
}

/// Given values, divided into those for storage in clear text and the hidden ones.
pub fn divide(
    template: &Template,
    given: &BTreeMap<String, Value>,
) -> (BTreeMap<String, Value>, BTreeMap<String, Value>) {
    let is_hidden = |name: &String| {
        template
            .parameters
            .iter()
            .any(|parameter| parameter.hidden && parameter.name == *name)
    };
    let (hidden, open) = given
        .clone()
        .into_iter()
        .partition(|(name, _)| is_hidden(name));
    (open, hidden)
}
