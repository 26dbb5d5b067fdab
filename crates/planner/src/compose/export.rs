//! Flat templates for exporters, which read designs and run nothing.
//!
//! A plan has values for all parameters. An export keeps the parameters, so that its reader can still set them. Only
//! values that decide the shape, such as the number of a group's members, are read from `scope` here.

use std::collections::{BTreeMap, BTreeSet};

use super::{CompositionInput, flatten};
use crate::{cloud::CloudFacts, deployed::Deployed, passes::Model, workflow::OutputSpec};
use hot::{
    bundle::Bundle,
    diagnostic::Diagnostic,
    document::Document,
    expr::{Expr, Scope},
    merged::Merged,
    parameter::{HIDDEN_DEFAULTS, Parameter, plain_name},
    template::Template,
};
use types::Registry;

/// Input of [`flatten_for_export`].
pub struct FlattenInput<'a> {
    /// The template.
    pub document: &'a Document,
    /// Files and environments beside it.
    pub bundle: &'a Bundle,
    /// Resource types, including those of the catalogue.
    pub types: &'a Registry,
    /// Facts about the cloud.
    pub cloud: &'a CloudFacts,
    /// Known values of parameters.
    pub scope: &'a dyn Scope,
    /// Names of groups in the template itself that are not flattened.
    pub keep: &'a [String],
}

/// A template without nesting.
pub struct FlatTemplate {
    /// Resources: members and their parents, as the documentation of the `compose` module describes.
    pub model: Model,
    /// Outputs by name, with full resource names.
    pub outputs: BTreeMap<String, Expr>,
    /// Parameters for the hidden values of environments for nested templates, in addition to the template's own.
    /// They have no default.
    pub parameters: Vec<Parameter>,
    /// Problems, with file and line.
    pub diagnostics: Vec<Diagnostic>,
}

/// Type of a group that is kept. No template can use this name.
const PLACEHOLDER_TYPE: &str = "a group as it is";

/// Resources of a template, including those in groups and nested templates, before any pass.
pub fn flatten_for_export(input: &FlattenInput<'_>) -> FlatTemplate {
    let template = input.document.template();
    let merged = Merged::of(input.bundle, template);
    let (model, _) = Model::of(template, input.scope);
    let mut own_types = BTreeMap::new();
    let resources = model.into_list().into_iter().map(|(name, mut spec)| {
        if input.keep.contains(&name) {
            let written = std::mem::replace(&mut spec.resource_type, PLACEHOLDER_TYPE.to_owned());
            own_types.insert(name.clone(), written);
        }
        (name, spec)
    });
    let model = Model::from_resources(resources.collect());
    let there = |output: &&hot::template::Output| output.is_on(input.scope) != Some(false);
    let outputs = template.outputs.iter().filter(there).map(|output| {
        let value = output.value.simplify(input.scope);
        let value = value.unwrap_or_else(|_| output.value.clone());
        let description = output.description.clone();
        (output.name.clone(), OutputSpec { description, value })
    });
    let composition = CompositionInput {
        document: input.document,
        bundle: input.bundle,
        merged: &merged,
        types: input.types,
        cloud: input.cloud,
        deployed: &Deployed::default(),
        scope: input.scope,
    };
    let mut flat = flatten(&composition, model, outputs.collect());
    let resources = std::mem::take(&mut flat.model).into_list().into_iter();
    let resources = resources.map(|(name, mut spec)| {
        if let Some(written) = own_types.remove(&name) {
            spec.resource_type = written;
        }
        (name, spec)
    });
    let mut diagnostics = merged.diagnostics.clone();
    diagnostics.append(&mut flat.diagnostics);
    let mut exported = FlatTemplate {
        model: Model::default(),
        outputs: flat
            .outputs
            .into_iter()
            .map(|(name, output)| (name, output.value))
            .collect(),
        parameters: Vec::new(),
        diagnostics,
    };
    let mut resources: Vec<_> = resources.collect();
    let values = resources
        .iter_mut()
        .flat_map(|(_, spec)| spec.properties.values_mut())
        .chain(exported.outputs.values_mut())
        .map(|value| {
            *value = crate::parameters::bare(value);
            value
        });
    exported.parameters = declared(values, template);
    exported.model = Model::from_resources(resources);
    exported
}

/// Converts the names of hidden values into parameters that an export can declare.
fn declared<'v>(values: impl Iterator<Item = &'v mut Expr>, template: &Template) -> Vec<Parameter> {
    let own = template.parameters.iter();
    let mut taken: BTreeSet<String> = own.map(|parameter| parameter.name.clone()).collect();
    let mut named: BTreeMap<String, Parameter> = BTreeMap::new();
    for value in values {
        let mut hidden = BTreeSet::new();
        value.walk(&mut |expr| {
            if let Expr::GetParam(name, _) = expr
                && name.starts_with(HIDDEN_DEFAULTS)
            {
                hidden.insert(name.clone());
            }
        });
        for name in &hidden {
            if !named.contains_key(name) {
                named.insert(name.clone(), parameter(name, &mut taken));
            }
        }
        if !hidden.is_empty() {
            *value = value.rewrite(&mut |expr| match expr {
                Expr::GetParam(name, path) => {
                    Some(Expr::GetParam(named.get(name)?.name.clone(), path.clone()))
                }
                _ => None,
            });
        }
    }
    named.into_values().collect()
}

/// A parameter for a hidden value, with a name that is not in `taken`.
fn parameter(stands_for: &str, taken: &mut BTreeSet<String>) -> Parameter {
    let plain = plain_name(stands_for);
    let rest = stands_for.strip_prefix(HIDDEN_DEFAULTS);
    let kind = rest.and_then(|rest| Some(rest.split_once('/')?.0));
    let mut name = plain.to_owned();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{plain}_{number}");
        number += 1;
    }
    Parameter {
        name,
        kind: kind.unwrap_or("string").to_owned(),
        description: Some(format!("`{plain}` of nested templates.")),
        hidden: true,
        ..Parameter::default()
    }
}
