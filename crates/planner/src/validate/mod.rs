//! Semantic checks: unknown types and properties, wrong values, missing targets of references, circles.
//!
//! All problems are reported at once, each with its place. Values that depend on parameters are checked with the known
//! values: given values, otherwise defaults. Hidden values are not checked, so that no message can contain them. Values
//! that depend on other resources are checked by type only.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
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
mod references;
mod rules;
mod values;

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

/// Path that is converted to text only for a diagnostic.
#[derive(Clone, Copy)]
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    fn top(key: &'a str) -> Path<'a> {
        Path {
            parent: None,
            segment: Segment::Key(key),
        }
    }
    fn key(&'a self, key: &'a str) -> Path<'a> {
        Path {
            parent: Some(self),
            segment: Segment::Key(key),
        }
    }
    fn index(&'a self, index: usize) -> Path<'a> {
        Path {
            parent: Some(self),
            segment: Segment::Index(index),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}.")?;
        }
        match self.segment {
            Segment::Key(key) => f.write_str(key),
            Segment::Index(index) => write!(f, "{index}"),
        }
    }
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

    fn resource(&mut self, resource: &'a Resource) {
        let top = Path::top("resources");
        let path = top.key(&resource.name);
        if !self.is_on(resource.condition.as_ref(), &path) {
            let message = format!(
                "`{}` is left out: its condition does not hold",
                resource.name
            );
            self.diagnostics
                .push(Diagnostic::info("resource-off", path.to_string(), message));
            return;
        }
        self.resource_type(resource, &path);
        for (index, (name, _)) in resource.depends_on.iter().enumerate() {
            if !self.index.contains_key(name.as_str()) {
                let depends_on = path.key("depends_on");
                self.unknown_resource(name, &depends_on.index(index));
            }
        }
        let others = [
            ("metadata", &resource.metadata),
            ("external_id", &resource.external_id),
            ("deletion_policy", &resource.deletion_policy),
            ("update_policy", &resource.update_policy),
        ];
        for (key, value) in others {
            if let Some(value) = value {
                self.references(value, &path.key(key));
            }
        }
        let properties = path.key("properties");
        // References in the properties of an external resource are not checked.
        if resource.external_id.is_none() {
            for property in &resource.properties {
                self.references(&property.value, &properties.key(&property.name));
            }
        }
        let simple = self.simple(resource, &properties);
        let described = self.types.get(&resource.resource_type);
        // An external resource needs no properties.
        if let Some(described) = described.filter(|_| resource.external_id.is_none()) {
            self.properties(resource, &simple, described, &path);
        }
        if let Some(described) = described {
            self.deletion(resource, described, &path);
            self.update_policy(resource, described, &path);
        }
        self.members(resource, &path);
        self.external(resource, &path);
        self.there.push((resource, simple));
    }

    /// Known properties of a resource, whose properties are at `path`.
    fn simple<'r>(&mut self, resource: &'r Resource, path: &Path<'_>) -> Simple<'r> {
        resource
            .properties
            .iter()
            .map(|property| {
                let value = if Self::defines_members(&resource.resource_type, &property.name) {
                    // Functions in the definition can need the member's number.
                    Some(property.value.clone())
                } else {
                    let path = path.key(&property.name);
                    let simple = self.simplified(&property.value, &path);
                    if let Some(simple) = &simple {
                        self.computed_names(&property.value, simple, &path);
                    }
                    simple
                };
                (property.name.as_str(), value)
            })
            .collect()
    }

    /// Checks the deletion policy. Few types support snapshots.
    fn deletion(&mut self, resource: &Resource, described: &ResourceType, path: &Path<'_>) {
        let can = described.snapshots || !is_of_heat(&described.name);
        // A literal policy was checked by the parser.
        if let Some(policy) = resource.deletion_policy.as_ref()
            && policy.as_str().is_none()
            && let Ok(Expr::Literal(word)) = policy.simplify(&self.scope)
            && word.as_str().and_then(DeletionPolicy::of_text).is_none()
        {
            let message = format!(
                "`{}` is no deletion policy; there are `delete`, `retain` and `snapshot`",
                shown(&hot::constraint::as_text(&word))
            );
            let path = path.key("deletion_policy");
            return self.error("deletion-policy-unknown", &path, message);
        }
        if resource.deletion(&self.scope) == DeletionPolicy::Snapshot && !can {
            let message = format!(
                "nothing can be kept of a `{}` in a snapshot; say `delete` or `retain`",
                described.name
            );
            self.error(
                "deletion-policy-unknown",
                &path.key("deletion_policy"),
                message,
            );
        }
    }

    /// Checks the update policy. Its keys depend on the type; most types have none.
    fn update_policy(&mut self, resource: &Resource, described: &ResourceType, path: &Path<'_>) {
        let path = path.key("update_policy");
        let Some(policy) = &resource.update_policy else {
            return;
        };
        let Some(Expr::Map(entries)) = self.simplified(policy, &path) else {
            return;
        };
        if described.update_policy.is_empty() {
            if !entries.is_empty() && is_of_heat(&described.name) {
                let message = format!("`{}` has no update policy", described.name);
                self.error("unknown-property", &path, message);
            }
            return;
        }
        let of = described.update_policy.clone();
        let property = types::of_kind("update_policy", PropertyKind::Map { of });
        self.map(&property, &entries, &path);
    }

    /// Checks that an external resource has no explicit order. References in its properties create no order.
    fn external(&mut self, resource: &Resource, path: &Path<'_>) {
        if resource.external_id.is_none() {
            return;
        }
        if let Some((other, _)) = resource.depends_on.first() {
            let message = format!(
                "`{}` is a live object, by its `external_id`, and cannot depend on `{other}`",
                resource.name
            );
            self.error("external-depends", &path.key("external_id"), message);
        }
    }

    fn resource_type(&mut self, resource: &Resource, path: &Path<'_>) {
        let name = resource.resource_type.as_str();
        let described = self.types.get(name);
        if let Some(described) = described.filter(|described| described.name != name) {
            let message = format!("`{}` is called `{}` now", shown(name), described.name);
            self.info("former-name", &path.key("type"), message);
        }
        if name.is_empty() || described.is_some_and(|one| one.refusal(name).is_none()) {
            return;
        }
        let path = path.key("type");
        if hot::environment::is_file(name) {
            let message = crate::members::not_given(&resource.name, name);
            return self.error("file-missing", &path, message);
        }
        let known = || self.types.iter().map(|one| one.name.as_str());
        let typo = || known().find(|known| is_typo(name, known));
        let elsewhere = name.starts_with("OS::") || name.starts_with("AWS::");
        if described.is_some() || (elsewhere && typo().is_none()) {
            let advice = described.and_then(|one| one.advice.as_deref());
            let message = match advice {
                Some(advice) => format!(
                    "`{}` is kept in the template, but Stackloom does not create it. {advice}",
                    shown(name)
                ),
                None => format!(
                    "`{}` is kept in the template, but Stackloom cannot deploy it yet",
                    shown(name)
                ),
            };
            self.warning("resource-type-not-deployable", &path, message);
            return;
        }
        let near = typo()
            .map(|typo| format!("; did you mean `{typo}`?"))
            .unwrap_or_else(|| did_you_mean(name, known()));
        self.error(
            "resource-type-unknown",
            &path,
            format!("there is no resource type `{}`{near}", shown(name)),
        );
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
        let requires = graph::requirements(&nodes, graph::Rules::Heat);
        if let Err(circle) = graph::order(&names, &requires) {
            let around: Vec<&str> = circle.iter().chain(circle.first()).copied().collect();
            let message = format!(
                "these resources wait for each other in a circle: {}",
                around
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(" → ")
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

/// True if the names differ in one letter or in case: probably a typing error and not another type.
fn is_typo(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known) || (nearest(name, [known]).is_some() && one_off(name, known))
}

fn one_off(a: &str, b: &str) -> bool {
    let (a, b) = if a.len() <= b.len() {
        (a.as_bytes(), b.as_bytes())
    } else {
        (b.as_bytes(), a.as_bytes())
    };
    if b.len() - a.len() > 1 {
        return false;
    }
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    if a.len() == b.len() {
        let swapped = same + 1 < a.len()
            && a[same] == b[same + 1]
            && a[same + 1] == b[same]
            && a[same + 2..] == b[same + 2..];
        return swapped || a.get(same + 1..) == b.get(same + 1..);
    }
    a[same..] == b[same + 1..]
}

#[cfg(test)]
mod described_tests;
#[cfg(test)]
mod heat_tests;
#[cfg(test)]
mod tests;
