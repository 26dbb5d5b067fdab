//! Hidden values in `parameter_defaults` for nested templates.
//!
//! A plan replaces a nested template's parameters by their arguments, and stores the result. A hidden value must not be
//! stored, so it stays a `get_param`, like hidden parameters of the template itself. No template can declare its name,
//! and its value is available during a run. The name also contains the parameter's type, because the same text can be a
//! list in one file and a text in another.
//!
//! A parameter is hidden if any of the files, or the template, declares it as hidden, unless the template itself
//! declares it as an open parameter.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    bundle::Bundle,
    parameter::{self, HIDDEN_DEFAULTS, Parameter, plain_name},
    template::Template,
};

fn key(parameter: &Parameter) -> String {
    format!("{HIDDEN_DEFAULTS}{}/{}", parameter.kind, parameter.name)
}

/// Templates among the files.
fn templates(bundle: &Bundle) -> impl Iterator<Item = &Template> {
    bundle
        .files()
        .filter(|(_, text)| text.contains("heat_template_version"))
        .filter_map(|(path, _)| Some(bundle.document(path)?.template()))
}

/// Parameters whose values under `parameter_defaults` are hidden.
pub(super) fn hidden_names(bundle: &Bundle, template: &Template) -> BTreeSet<String> {
    let open: BTreeSet<&str> = template
        .parameters
        .iter()
        .filter(|parameter| !parameter.hidden)
        .map(|parameter| parameter.name.as_str())
        .collect();
    templates(bundle)
        .chain([template])
        .flat_map(|template| &template.parameters)
        .filter(|parameter| parameter.hidden && !open.contains(parameter.name.as_str()))
        .map(|parameter| parameter.name.clone())
        .collect()
}

/// Hidden defaults of a bundle, by the names that represent them.
#[derive(Clone, Debug, Default)]
pub(super) struct HiddenDefaults {
    /// The hidden parameters.
    pub names: BTreeSet<String>,
    /// Values by name. `None` if the value was removed from the text and is stored elsewhere.
    values: BTreeMap<String, Option<Value>>,
}

impl HiddenDefaults {
    /// Hidden defaults with the values of `default_of`.
    pub(super) fn of<'v>(
        bundle: &Bundle,
        template: &Template,
        default_of: impl Fn(&str) -> Option<&'v Value>,
    ) -> HiddenDefaults {
        let names = hidden_names(bundle, template);
        let mut values = BTreeMap::new();
        let nested = templates(bundle).flat_map(|template| &template.parameters);
        for parameter in nested.filter(|parameter| names.contains(&parameter.name)) {
            if let Some(value) = default_of(&parameter.name) {
                let value = parameter::coerce(&parameter.kind, value);
                values.insert(key(parameter), Some(value).filter(|value| !value.is_null()));
            }
        }
        HiddenDefaults { names, values }
    }

    /// Adds stored values that the text does not contain any more.
    pub(super) fn keep(&mut self, stored: &BTreeMap<String, Value>) {
        for (name, value) in &mut self.values {
            if value.is_none() {
                *value = stored.get(name).filter(|stored| !stored.is_null()).cloned();
            }
        }
    }

    /// Name that represents a parameter's value, and the value.
    pub(super) fn get(&self, parameter: &Parameter) -> Option<(&str, &Value)> {
        let (name, value) = self.values.get_key_value(&key(parameter))?;
        Some((name, value.as_ref()?))
    }

    /// Names of values that are not available here.
    pub(super) fn elsewhere(&self) -> impl Iterator<Item = &str> {
        let unknown = self.values.iter().filter(|(_, value)| value.is_none());
        unknown.map(|(name, _)| plain_name(name))
    }

    /// All known values.
    pub(super) fn known(&self) -> BTreeMap<String, Value> {
        self.values
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
            .collect()
    }
}
