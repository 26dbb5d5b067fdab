//! A template taken apart for who reads designs and runs nothing: exporters.
//!
//! A plan knows all parameters; an export keeps them open, so that the reader can still choose. What is asked of `scope` here is
//! therefore only what the shape hangs on, such as how many members a group has.

use std::collections::BTreeMap;

use super::{Around, flatten};
use crate::{
    bundle::Bundle,
    cloud::CloudFacts,
    diagnostic::Diagnostic,
    document::Document,
    environment::Merged,
    expr::{Expr, Scope},
    passes::Model,
    plan::Deployed,
    types::Registry,
    workflow::OutputSpec,
};

/// What [`take_apart`] reads.
pub struct Whole<'a> {
    /// The template.
    pub document: &'a Document,
    /// Files and environments beside it.
    pub bundle: &'a Bundle,
    /// Resource types, those of the catalogue included.
    pub types: &'a Registry,
    /// What the cloud has.
    pub cloud: &'a CloudFacts,
    /// What is known of parameters.
    pub scope: &'a dyn Scope,
    /// Names of groups in the template itself that stay as they are.
    pub keep: &'a [String],
}

/// A template without nesting.
pub struct Apart {
    /// Members and parents, as the module's doc says.
    pub model: Model,
    /// By name, in full names.
    pub outputs: BTreeMap<String, Expr>,
    /// What went wrong on the way, with file and line.
    pub diagnostics: Vec<Diagnostic>,
}

/// A type that no template can name: it stands for a group that is kept.
const KEPT: &str = "a group as it is";

/// The resources of a template, those in groups and nested templates among them, before any pass.
pub fn take_apart(whole: &Whole<'_>) -> Apart {
    let template = whole.document.template();
    let merged = Merged::of(whole.bundle, template);
    let (model, _) = Model::of(template, whole.scope);
    let mut kept = BTreeMap::new();
    let resources = model.into_list().into_iter().map(|(name, mut spec)| {
        if whole.keep.contains(&name) {
            let written = std::mem::replace(&mut spec.resource_type, KEPT.to_owned());
            kept.insert(name.clone(), written);
        }
        (name, spec)
    });
    let model = Model::from_resources(resources.collect());
    let there = |output: &&crate::template::Output| output.is_on(whole.scope) != Some(false);
    let outputs = template.outputs.iter().filter(there).map(|output| {
        let value = output.value.simplify(whole.scope);
        let value = value.unwrap_or_else(|_| output.value.clone());
        let description = output.description.clone();
        (output.name.clone(), OutputSpec { description, value })
    });
    let around = Around {
        document: whole.document,
        bundle: whole.bundle,
        merged: &merged,
        types: whole.types,
        cloud: whole.cloud,
        deployed: &Deployed::default(),
        scope: whole.scope,
    };
    let mut flat = flatten(&around, model, outputs.collect());
    let resources = std::mem::take(&mut flat.model).into_list().into_iter();
    let resources = resources.map(|(name, mut spec)| {
        if let Some(written) = kept.remove(&name) {
            spec.resource_type = written;
        }
        (name, spec)
    });
    let mut diagnostics = merged.diagnostics.clone();
    diagnostics.append(&mut flat.diagnostics);
    Apart {
        model: Model::from_resources(resources.collect()),
        outputs: flat
            .outputs
            .into_iter()
            .map(|(name, output)| (name, output.value))
            .collect(),
        diagnostics,
    }
}
