//! Semantic checks: unknown types and properties, wrong values, missing targets of references, circles.
//!
//! All problems are reported at once, each with its place. Values that depend on parameters are checked with the known
//! values: given values, otherwise defaults. Hidden values are not checked, so that no message can contain them. Values
//! that depend on other resources are checked by type only.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use crate::{cloud::CloudFacts, graph};
use hot::{
    diagnostic::{self, Diagnostic, Severity},
    document::Document,
    expr::{Budget, Expr, Unresolved},
    scope::{self, Known},
    template::{DeletionPolicy, Resource, Template},
    text::{did_you_mean, listed, nearest},
};
use types::{PropertyKind, Registry, ResourceType};
use yaql::shown;

mod components;
mod facts;
mod groups;
mod later;
mod path;
mod references;
mod resources;
mod rules;
mod values;

use path::Path;

pub(crate) use later::{downgrade_if_unread, is_read_at_once};

/// All problems of a document, including syntax and structure, in the order of the text.
pub fn validate(document: &Document, types: &Registry, cloud: &CloudFacts) -> Vec<Diagnostic> {
    validate_with(document, types, cloud, &BTreeMap::new())
}

/// All problems of a document with these values of parameters.
pub fn validate_with(
    document: &Document,
    types: &Registry,
    cloud: &CloudFacts,
    parameters: &BTreeMap<String, Value>,
) -> Vec<Diagnostic> {
    let call = Call {
        known: parameters,
        open: &HashSet::new(),
        budget: Arc::default(),
        is_nested: false,
    };
    validate_call(document, types, cloud, call)
}

/// Arguments of a template.
pub(crate) struct Call<'a> {
    /// Known values of parameters.
    pub known: &'a BTreeMap<String, Value>,
    /// Parameters with a value that is known only during the run.
    pub open: &'a HashSet<String>,
    /// Budget for inserted values.
    pub budget: Arc<Budget>,
    /// True if another template uses this one, so that Heat checks most of its values at creation.
    pub is_nested: bool,
}

/// All problems of a document with these arguments.
pub(crate) fn validate_call(
    document: &Document,
    types: &Registry,
    cloud: &CloudFacts,
    call: Call<'_>,
) -> Vec<Diagnostic> {
    let Call {
        known,
        open,
        budget,
        is_nested,
    } = call;
    let mut diagnostics = document.diagnostics().to_vec();
    let template = document.template();
    let mut checker = Checker {
        template,
        types,
        cloud,
        scope: Known::of_call(template, known, open, Arc::clone(&budget))
            .with_zones(cloud.zone_names()),
        index: template
            .resources
            .iter()
            .map(|resource| (resource.name.as_str(), resource))
            .collect(),
        there: Vec::new(),
        strict: true,
        is_made_later: is_nested,
        is_too_much: false,
        diagnostics: crate::parameters::defaults(template),
    };
    checker.conditions();
    checker.names();
    for resource in &template.resources {
        checker.resource(resource);
    }
    checker.outputs();
    checker.circles();
    checker.ports_in_use();
    budget.report(&mut checker.diagnostics);
    for mut one in checker.diagnostics {
        document.locate(&mut one);
        diagnostics.push(one);
    }
    diagnostic::sort(&mut diagnostics);
    // The text is incomplete: a missing item can be in the part that could not be parsed.
    if !document.is_readable() {
        diagnostics.retain(|one| {
            !matches!(
                one.code.as_str(),
                "unknown-resource"
                    | "unknown-parameter"
                    | "unknown-condition"
                    | "property-missing"
                    | "component-without-host"
            )
        });
    }
    diagnostics
}

/// Known properties by name. `None` if a function failed on its arguments.
type Simple<'a> = Vec<(&'a str, Option<Expr>)>;

struct Checker<'a> {
    template: &'a Template,
    types: &'a Registry,
    cloud: &'a CloudFacts,
    scope: Known<'a>,
    index: HashMap<&'a str, &'a Resource>,
    /// Existing resources with their known properties.
    there: Vec<(&'a Resource, Simple<'a>)>,
    /// True for Heat's own types, whose properties are not converted.
    strict: bool,
    /// True for resources in separate stacks: members of groups, resources of nested templates.
    is_made_later: bool,
    /// True if the size limit was exceeded and reported.
    is_too_much: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    fn error(&mut self, code: &str, path: &Path<'_>, message: String) {
        self.diagnostics
            .push(Diagnostic::error(code, path.to_string(), message));
    }

    fn info(&mut self, code: &str, path: &Path<'_>, message: String) {
        self.diagnostics
            .push(Diagnostic::info(code, path.to_string(), message));
    }

    fn warning(&mut self, code: &str, path: &Path<'_>, message: String) {
        self.diagnostics
            .push(Diagnostic::warning(code, path.to_string(), message));
    }

    fn unknown_resource(&mut self, name: &str, path: &Path<'_>) {
        let near = did_you_mean(name, self.index.keys().copied());
        self.error(
            "unknown-resource",
            path,
            format!(
                "there is no resource `{}` in the template{near}",
                shown(name)
            ),
        );
    }

    fn outputs(&mut self) {
        let top = Path::top("outputs");
        for output in &self.template.outputs {
            let path = top.key(&output.name);
            if !self.is_on(output.condition.as_ref(), &path) {
                continue;
            }
            let path = path.key("value");
            let before = self.diagnostics.len();
            self.references(&output.value, &path);
            self.simplified(&output.value, &path);
            // An invalid output fails when it is read, and the deployment works without it. Heat only checks that the
            // resources of attributes exist.
            let (mut strange, mut off) = (false, false);
            output.value.walk(&mut |expr| {
                if let Expr::GetAttr(name, _) = expr {
                    match self.index.get(name.as_str()) {
                        Some(resource) => off |= resource.is_on(&self.scope) == Some(false),
                        None => strange = true,
                    }
                }
            });
            for one in &mut self.diagnostics[before..] {
                let later = match one.code.as_str() {
                    "unknown-parameter" | "function-arguments" => true,
                    "unknown-resource" => !strange,
                    "resource-off" => !off,
                    _ => false,
                };
                if later {
                    one.severity = Severity::Warning;
                }
            }
        }
    }

    /// Checks that resources and parameters have different names.
    fn names(&mut self) {
        for parameter in &self.template.parameters {
            let there = self
                .index
                .get(parameter.name.as_str())
                .is_some_and(|resource| resource.is_on(&self.scope) != Some(false));
            if there {
                let message = format!(
                    "a resource and a parameter are called `{}`; give one of them another name",
                    parameter.name
                );
                let path = format!("resources.{}", parameter.name);
                self.diagnostics
                    .push(Diagnostic::error("bad-name", path, message));
            }
        }
    }

    /// Value with known parameters inserted.
    fn simplified(&mut self, value: &Expr, path: &Path<'_>) -> Option<Expr> {
        match value.simplify(&self.scope) {
            Ok(simple) => Some(simple),
            Err(Unresolved::Invalid(message)) => {
                self.error("function-arguments", path, message);
                None
            }
            Err(Unresolved::TooMuch) => {
                if !std::mem::replace(&mut self.is_too_much, true) {
                    self.diagnostics
                        .push(hot::expr::budget_exceeded(path.to_string()));
                }
                None
            }
            Err(_) => None,
        }
    }

    fn circles(&mut self) {
        let nodes: Vec<graph::Node<'_>> = self
            .there
            .iter()
            .map(|(resource, simple)| graph::Node {
                name: &resource.name,
                resource_type: &resource.resource_type,
                properties: simple
                    .iter()
                    .filter(|_| resource.external_id.is_none())
                    .filter_map(|(name, value)| Some((*name, value.as_ref()?)))
                    .collect(),
                depends_on: resource
                    .depends_on
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .chain(resource.metadata.iter().flat_map(Expr::resources))
                    .collect(),
                derived: false,
            })
            .collect();
        // A resource that refers to itself is a circle of one.
        for node in &nodes {
            let mentioned = node
                .properties
                .iter()
                .flat_map(|(_, value)| value.resources())
                .chain(node.depends_on.iter().copied());
            if mentioned.into_iter().any(|name| name == node.name) {
                let message = format!("`{}` waits for itself", node.name);
                self.diagnostics.push(Diagnostic::error(
                    "circular-reference",
                    format!("resources.{}", node.name),
                    message,
                ));
            }
        }
        let names: Vec<&str> = nodes.iter().map(|node| node.name).collect();
        let requires = graph::requirements(&nodes, graph::Rules::Heat, self.types);
        if let Err(circle) = graph::order(&names, &requires) {
            let around: Vec<&str> = circle.iter().chain(circle.first()).copied().collect();
            let message = format!(
                "these resources wait for each other in a circle: {}{}",
                around
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(" → "),
                self.way_out(&nodes, &around).unwrap_or_default()
            );
            let at = circle.first().copied().unwrap_or_default();
            self.diagnostics.push(Diagnostic::error(
                "circular-reference",
                format!("resources.{at}"),
                message,
            ));
        }
    }
}

/// True for types of Heat itself, false for nested templates and catalogue items.
fn is_of_heat(name: &str) -> bool {
    name.starts_with("OS::") || name.starts_with("AWS::")
}

#[cfg(test)]
mod described_tests;
#[cfg(test)]
mod heat_tests;
#[cfg(test)]
mod tests;
