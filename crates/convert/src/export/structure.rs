//! The parameters that decide the structure of a design.
//!
//! Nested templates and groups can be expanded only if their number of members and their conditions are known, while
//! everything else stays open for the user of the file. So the parameters that decide these, through any number of
//! levels, get their values from the environments or the template's defaults, and the report lists them. All others
//! stay parameters.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hot::bundle::Bundle;
use hot::expr::{Budget, Expr, Scope};
use hot::template::members::{CHAIN, GROUP, INSTANCE_GROUP, SCALING_GROUP};
use hot::template::{Resource, Template};
use hot::{environment::Target, merged::Merged};
use planner::compose::DEPTH_MAX;
use planner::plan::coerce;
use serde_json::Value;

use crate::export::{Report, Source};

/// Groups that are kept, and parameters with fixed values.
pub(crate) struct Shape<'a> {
    /// Groups that the format can express as one resource with a count.
    pub counted_groups: Vec<String>,
    /// Values of the parameters that decide the structure.
    pub fixed: BTreeMap<String, Value>,
    template: &'a Template,
    /// Current depth of nested conditions.
    depth: Cell<usize>,
    budget: Arc<Budget>,
}

impl<'a> Shape<'a> {
    /// `keeps` returns whether a group with members of a type can be kept.
    pub(crate) fn of(
        source: &Source<'a>,
        can_be_counted: &dyn Fn(&str) -> bool,
        report: &mut Report,
    ) -> Shape<'a> {
        let template = source.document.template();
        let merged = Merged::of(source.bundle, template);
        let counted_groups: Vec<String> = template
            .resources
            .iter()
            .filter(|resource| {
                let definition = definition_of(resource);
                let member = definition.and_then(|one| one.get("type")?.as_str());
                let plain = |member| match merged.aliases.resolve(&resource.name, member, &[]) {
                    Target::Type(target) => target == member && can_be_counted(member),
                    Target::File { .. } => false,
                };
                member.is_some_and(plain)
            })
            .map(|resource| resource.name.clone())
            .collect();
        let looking = Looking {
            bundle: source.bundle,
            merged: &merged,
        };
        let mut names = BTreeSet::new();
        for resource in &template.resources {
            if !counted_groups.contains(&resource.name) {
                looking.resource(None, resource, DEPTH_MAX, &mut names);
                let is_nest = looking.is_nest(resource);
                let condition = resource.condition.as_ref().filter(|_| is_nest);
                condition.inspect(|one| condition_parameters(template, one, &mut names));
            }
        }
        let given = merged.parameters(template, &BTreeMap::new());
        let mut fixed = BTreeMap::new();
        for parameter in &template.parameters {
            if !names.contains(&parameter.name) {
                continue;
            }
            let path = format!("parameters.{}", parameter.name);
            let known = given.get(&parameter.name).or(parameter.default.as_ref());
            let Some(known) = known.filter(|_| !parameter.hidden) else {
                let message = format!(
                    "The parameter `{}` decides which resources exist, and it has no default. Give it a default and export again",
                    parameter.name
                );
                report.needed(path, message);
                continue;
            };
            let value = coerce(&parameter.kind, known);
            let message = format!(
                "The parameter `{}` decides which resources exist. The file has the resources for the value `{value}`. Export again for another value",
                parameter.name
            );
            report.changed(path, message);
            fixed.insert(parameter.name.clone(), value);
        }
        Shape {
            counted_groups,
            fixed,
            template,
            depth: Cell::new(0),
            budget: Arc::default(),
        }
    }
}

impl Scope for Shape<'_> {
    fn parameter(&self, name: &str) -> Option<Value> {
        self.fixed.get(name).cloned()
    }
    fn budget(&self) -> Option<&Arc<Budget>> {
        Some(&self.budget)
    }
    fn reference(&self, _: &str) -> Option<Value> {
        None
    }
    fn attribute(&self, _: &str, _: &str) -> Option<Value> {
        None
    }
    fn condition(&self, name: &str) -> Option<bool> {
        if self.fixed.is_empty() {
            return None;
        }
        let condition = self.template.condition(name)?;
        let mut names = BTreeSet::new();
        condition_parameters(self.template, &condition.value, &mut names);
        let known = names.iter().all(|name| self.fixed.contains_key(name));
        // Validation reports a cycle of conditions. Here the conditions are just unknown.
        if !known || self.depth.get() > self.template.conditions.len() {
            return None;
        }
        self.depth.set(self.depth.get() + 1);
        let holds = condition.value.holds(self).ok();
        self.depth.set(self.depth.get() - 1);
        holds
    }
}

/// Definition of a group's members.
fn definition_of(resource: &Resource) -> Option<&Expr> {
    match resource.resource_type.as_str() {
        GROUP => resource.property("resource_def"),
        SCALING_GROUP => resource.property("resource"),
        _ => None,
    }
}

/// Parameters that a condition reads, also through other conditions.
fn condition_parameters(template: &Template, condition: &Expr, names: &mut BTreeSet<String>) {
    fn below<'t>(
        template: &'t Template,
        condition: &'t Expr,
        seen: &mut BTreeSet<&'t str>,
        names: &mut BTreeSet<String>,
    ) {
        parameters(condition, names);
        condition.walk(&mut |part| {
            // Any text here can be the name of a condition. Other text is not found.
            let Some(found) = part.as_str().and_then(|name| template.condition(name)) else {
                return;
            };
            if seen.insert(&found.name) {
                below(template, &found.value, seen, names);
            }
        });
    }
    below(template, condition, &mut BTreeSet::new(), names);
}

/// Parameters that a value reads.
fn parameters(value: &Expr, names: &mut BTreeSet<String>) {
    value.walk(&mut |part| {
        if let Expr::GetParam(name, _) = part {
            names.insert(name.clone());
        }
    });
}

struct Looking<'a> {
    bundle: &'a Bundle,
    merged: &'a Merged,
}

impl Looking<'_> {
    /// Whether the resource is a group or a nested template.
    fn is_nest(&self, resource: &Resource) -> bool {
        let written = &resource.resource_type;
        match self.merged.aliases.resolve(&resource.name, written, &[]) {
            Target::File { .. } => true,
            Target::Type(target) => {
                [GROUP, SCALING_GROUP, INSTANCE_GROUP, CHAIN].contains(&target.as_str())
            }
        }
    }

    /// Parameters of the template that decide the structure of `resource`.
    fn resource(
        &self,
        file: Option<&str>,
        resource: &Resource,
        depth: usize,
        names: &mut BTreeSet<String>,
    ) {
        let of = |property: &str| resource.property(property);
        let resolved = |written: &str| {
            let target = self.merged.aliases.resolve(&resource.name, written, &[]);
            match target {
                Target::File { name, from } => self.bundle.find(from.as_deref().or(file), &name),
                Target::Type(_) => None,
            }
        };
        match resource.resource_type.as_str() {
            GROUP | SCALING_GROUP => {
                for property in [
                    "count",
                    "removal_policies",
                    "removal_policies_mode",
                    "index_var",
                    "desired_capacity",
                    "min_size",
                    "max_size",
                ] {
                    of(property).inspect(|value| parameters(value, names));
                }
                let Some(definition) = definition_of(resource) else {
                    return;
                };
                let member = definition.get("type");
                member.inspect(|value| parameters(value, names));
                let nested = member.and_then(Expr::as_str).and_then(resolved);
                if let (Some(path), Some(Expr::Map(given))) = (nested, definition.get("properties"))
                {
                    let given = given.iter().map(|(name, value)| (name.as_str(), value));
                    self.nested(path, &given.collect::<Vec<_>>(), depth, names);
                }
            }
            INSTANCE_GROUP => {
                of("Size").inspect(|value| parameters(value, names));
            }
            CHAIN => {
                of("resources").inspect(|value| parameters(value, names));
                of("concurrent").inspect(|value| parameters(value, names));
                let (Some(Expr::List(types)), Some(Expr::Map(given))) =
                    (of("resources"), of("resource_properties"))
                else {
                    return;
                };
                let given: Vec<(&str, &Expr)> = given
                    .iter()
                    .map(|(name, value)| (name.as_str(), value))
                    .collect();
                for path in types.iter().filter_map(Expr::as_str).filter_map(resolved) {
                    self.nested(path, &given, depth, names);
                }
            }
            written => {
                if let Some(path) = resolved(written) {
                    let given = resource.properties.iter();
                    let given = given.map(|property| (property.name.as_str(), &property.value));
                    self.nested(path, &given.collect::<Vec<_>>(), depth, names);
                }
            }
        }
    }

    /// The values among `given` that decide the structure of the nested template.
    fn nested(
        &self,
        path: &str,
        given: &[(&str, &Expr)],
        depth: usize,
        names: &mut BTreeSet<String>,
    ) {
        let Some(document) = self.bundle.document(path).filter(|_| depth > 0) else {
            return;
        };
        let template = document.template();
        let mut inner = BTreeSet::new();
        for condition in &template.conditions {
            parameters(&condition.value, &mut inner);
        }
        for resource in &template.resources {
            let condition = resource.condition.as_ref();
            condition.inspect(|one| parameters(one, &mut inner));
            self.resource(Some(path), resource, depth - 1, &mut inner);
        }
        for (name, value) in given {
            if inner.contains(*name) {
                parameters(value, names);
            }
        }
    }
}
