//! Hidden values that `parameter_defaults` gives to nested templates.
//!
//! A plan puts what a nested template is given in the place of its parameters, and stores what comes out. A hidden value
//! must not be stored, so it stays a `get_param`, as hidden parameters of the template itself do: of a name that no
//! template can declare, which has the value when a run asks for it. The name says the parameter's type too, for one text
//! may be a list in one file and a text in another.
//!
//! Hidden is what any of the files, or the template, calls so, unless the template has it as an open parameter.

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

/// Parameters whose values under `parameter_defaults` are not to be seen.
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

/// The hidden defaults of a bundle, by the names that stand for them.
#[derive(Clone, Debug, Default)]
pub(super) struct HiddenDefaults {
    /// Parameters that are not to be seen.
    pub names: BTreeSet<String>,
    /// Nothing where the value was taken out of the text and is kept elsewhere.
    values: BTreeMap<String, Option<Value>>,
}

impl HiddenDefaults {
    /// Of the values that `default_of` knows.
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

    /// Where the text says nothing any more, what is kept counts.
    pub(super) fn keep(&mut self, kept: &BTreeMap<String, Value>) {
        for (name, value) in &mut self.values {
            if value.is_none() {
                *value = kept.get(name).filter(|kept| !kept.is_null()).cloned();
            }
        }
    }

    /// What stands for a parameter's value, and the value.
    pub(super) fn get(&self, parameter: &Parameter) -> Option<(&str, &Value)> {
        let (name, value) = self.values.get_key_value(&key(parameter))?;
        Some((name, value.as_ref()?))
    }

    /// Names of those that are not known.
    pub(super) fn elsewhere(&self) -> impl Iterator<Item = &str> {
        let unknown = self.values.iter().filter(|(_, value)| value.is_none());
        unknown.map(|(name, _)| plain_name(name))
    }

    /// All that are known.
    pub(super) fn known(&self) -> BTreeMap<String, Value> {
        self.values
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
            .collect()
    }
}
