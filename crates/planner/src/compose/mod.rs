//! Flattens groups and nested templates before the passes, and translates types that Heat implements by others.
//!
//! Heat creates a separate stack for every group and every nested template. Stackloom does not: at plan time their
//! members become ordinary resources named `<parent>/<member>` (`group/0`, `web/server`, `group/0/server`; `/` cannot
//! occur in a template's names). Passes, order, diff, workflow and drivers therefore need no nesting, a server in a
//! group can be the bastion, and a change of one member is a change of one resource.
//!
//! - In members, parameters are replaced by the parent's property values, and names by full names.
//! - The parent stays, as a resource without an object in the cloud. It requires its members. Its properties are its
//!   attribute values: the outputs, or `refs` and similar.
//! - A reference to a parent's value is replaced by the expression of that value, if it is known: `get_attr: [web,
//!   port]` becomes `get_resource: web/port`, so that the rules for ports see a port. The parent is still required: as
//!   in Heat, a resource that refers to a group waits for all of it. A component that needs addresses only does not.
//! - Members wait for all resources that their parent waits for, again as in Heat. Components, which Heat does not have,
//!   are an exception: a member waits for those that it uses itself.
//!
//! Heat's checks of nested templates run here too, and report the file and line. Depth, recursion and the number of
//! resources are limited, so that a small template cannot produce a huge plan.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    cloud::CloudFacts,
    deployed::Deployed,
    members::{drawn, is_parent},
    passes::Model,
    pins::pins,
    services, signals,
    validate::validate_with,
    workflow::{OutputSpec, ResourceSpec},
};
use hot::{
    bundle::Bundle,
    diagnostic::{self, Diagnostic},
    document::Document,
    environment::Target,
    expr::{Budget, Expr, Scope, Unresolved, weight_of},
    merged::Merged,
    scope::Known,
    template::members::{
        CHAIN, GROUP, INSTANCE_GROUP, LAUNCH_CONFIGURATION, SCALING_GROUP,
        member_of_deployment_group,
    },
};
use types::{Registry, ResourceType};

mod amazon;
mod batches;
mod chain;
mod deployments;
mod described;
mod expansion;
mod export;
mod facade;
mod frame;
mod group;
mod instances;
mod late;
mod nested;
mod references;
mod scaling;

pub use amazon::native_type;
pub(crate) use batches::Pause;
pub(crate) use described::overlay;
pub use export::{FlatTemplate, FlattenInput, flatten_for_export};
use frame::Frame;

/// Maximum depth of nesting below the template, as in Heat.
pub const DEPTH_MAX: usize = 5;
/// Maximum number of resources, including members. Heat's default is 1,000 in a tree of stacks.
pub const RESOURCES_MAX: usize = 10_000;

/// Input of [`flatten`], without the model.
pub(crate) struct CompositionInput<'a> {
    pub document: &'a Document,
    pub bundle: &'a Bundle,
    pub merged: &'a Merged,
    /// Types, without descriptions of nested templates.
    pub types: &'a Registry,
    pub cloud: &'a CloudFacts,
    /// Deployed resources. Names of members that a group has removed are not used again.
    pub deployed: &'a Deployed,
    /// Known values of the template's parameters.
    pub scope: &'a dyn Scope,
}

/// A flat model.
pub(crate) struct Flat<'a> {
    pub model: Model,
    pub outputs: BTreeMap<String, OutputSpec>,
    /// Problems, with file, line and column.
    pub diagnostics: Vec<Diagnostic>,
    /// Pauses between batches of members.
    pub pauses: Vec<Pause>,
    places: HashMap<String, Place>,
    input: &'a CompositionInput<'a>,
}

/// Place of a member's definition.
#[derive(Clone, Debug)]
struct Place {
    /// File. `None` for the template itself.
    file: Option<String>,
    /// Dotted path to the definition in that file.
    path: String,
}

/// Flattens a model: replaces all groups and nested templates by their members.
pub(crate) fn flatten<'a>(
    input: &'a CompositionInput<'a>,
    model: Model,
    outputs: BTreeMap<String, OutputSpec>,
) -> Flat<'a> {
    let is_plain = |written: &str| !is_parent(written) && native_type(written).is_none();
    let unchanged = input.merged.aliases.is_empty()
        && model.iter().all(|(_, spec)| is_plain(&spec.resource_type));
    if unchanged {
        return Flat {
            model,
            outputs,
            diagnostics: Vec::new(),
            pauses: Vec::new(),
            places: HashMap::new(),
            input,
        };
    }
    let mut composer = Composer {
        input,
        resources: Vec::new(),
        parents: HashMap::new(),
        places: HashMap::new(),
        diagnostics: Vec::new(),
        checked: HashSet::new(),
        metadata: HashMap::new(),
        components: HashSet::new(),
        launches: HashMap::new(),
        pauses: Vec::new(),
        full: false,
        is_too_much: false,
        checks: Arc::default(),
    };
    composer.frame(&Frame::root(input), model);
    let mut outputs = outputs;
    references::replace_references(&mut composer, &mut outputs);
    let mut flat = Flat {
        model: Model::from_resources(composer.resources),
        outputs,
        diagnostics: Vec::new(),
        pauses: composer.pauses,
        places: composer.places,
        input,
    };
    for mut one in composer.diagnostics {
        flat.locate(&mut one);
        if !flat.diagnostics.contains(&one) {
            flat.diagnostics.push(one);
        }
    }
    flat
}

impl Flat<'_> {
    /// Sets the place of a diagnostic: in the template, or in the file of the member's definition.
    pub(crate) fn locate(&self, diagnostic: &mut Diagnostic) {
        if diagnostic.line.is_some() || diagnostic.file.is_some() {
            return;
        }
        let Some(place) = self.place(&diagnostic.path) else {
            return self.input.document.locate(diagnostic);
        };
        let (place, rest) = place;
        let document = match &place.file {
            Some(file) => self.input.bundle.document(file),
            None => Some(self.input.document),
        };
        let at = document.and_then(|document| document.position(&format!("{}{rest}", place.path)));
        diagnostic.file.clone_from(&place.file);
        diagnostic.line = at.map(|at| at.line);
        diagnostic.column = at.map(|at| at.column);
    }

    /// Member that a path refers to, and the rest of the path.
    fn place<'p>(&self, path: &'p str) -> Option<(&Place, &'p str)> {
        let name = path.strip_prefix("resources.")?;
        // Names can contain dots: the longest matching member name is used.
        let ends = name
            .match_indices('.')
            .map(|(at, _)| at)
            .chain([name.len()])
            .collect::<Vec<_>>();
        ends.into_iter()
            .rev()
            .find_map(|end| Some((self.places.get(&name[..end])?, &name[end..])))
    }
}

struct Composer<'a> {
    input: &'a CompositionInput<'a>,
    /// Resources, with members before their parent.
    resources: Vec<(String, ResourceSpec)>,
    parents: HashMap<String, Parent>,
    places: HashMap<String, Place>,
    diagnostics: Vec<Diagnostic>,
    /// Nested templates that were checked, with their values, so that each problem is reported once.
    checked: HashSet<(String, String)>,
    /// Metadata of groups' members, by full name.
    metadata: HashMap<String, Expr>,
    /// Full names of the components, of the frames that are being flattened and of those before.
    components: HashSet<String>,
    /// Properties of launch configurations, by full name. References in them have the names of their template.
    launches: HashMap<String, BTreeMap<String, Expr>>,
    pauses: Vec<Pause>,
    /// True if the limit of resources was reached and reported.
    full: bool,
    /// True if the size limit was exceeded and reported.
    is_too_much: bool,
    /// Budget for the checks of nested templates.
    checks: Arc<Budget>,
}

/// Values of a resource's attributes, where these are not those of an object in the cloud.
enum Parent {
    /// Members in order, by short name.
    Group { members: Vec<String> },
    /// Members of a scaling group or of an instance group, oldest first, by short name.
    ScalingGroup { members: Vec<String> },
    /// Servers that have a member, by short name.
    Deployments { members: Vec<String> },
    /// Expression of each output, with full names.
    Nested { outputs: BTreeMap<String, Expr> },
    /// Availability zone of an `AWS::EC2::Instance`. It has no members; its attributes have Amazon's names.
    Instance { zone: Option<Expr> },
}

impl Composer<'_> {
    fn error(&mut self, code: &str, path: String, message: String) {
        self.diagnostics
            .push(Diagnostic::error(code, path, message));
    }

    /// Adds all resources of a template, or of a group.
    fn frame(&mut self, frame: &Frame<'_>, model: Model) {
        // The servers of deployments can be the members of a group.
        let is_last =
            |spec: &ResourceSpec| member_of_deployment_group(&spec.resource_type).is_some();
        let all = model.into_list();
        for (name, spec) in &all {
            let described = self.input.types.get(&spec.resource_type);
            if described.is_some_and(ResourceType::is_component) {
                self.components.insert(frame.full(name));
            }
            if spec.resource_type == LAUNCH_CONFIGURATION {
                let properties = spec.properties.clone();
                self.launches.insert(frame.full(name), properties);
            }
        }
        let (last, first): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, spec)| is_last(spec));
        for (name, spec) in first.into_iter().chain(last) {
            self.resource(frame, &name, spec);
        }
    }

    /// Adds one resource of any type. The names in `spec` are those of the frame.
    fn resource(&mut self, frame: &Frame<'_>, name: &str, spec: ResourceSpec) {
        if self.is_too_much {
            return;
        }
        let full = frame.full(name);
        let written = &spec.resource_type;
        match self
            .input
            .merged
            .aliases
            .resolve(&full, written, &frame.itself)
        {
            Target::Type(target) if target == GROUP => self.group(frame, name, spec),
            Target::Type(target) if target == SCALING_GROUP => {
                self.scaling_group(frame, name, spec);
            }
            Target::Type(target) if target == INSTANCE_GROUP => {
                self.instance_group(frame, name, spec);
            }
            Target::Type(target) if target == CHAIN => self.chain(frame, name, spec),
            Target::Type(target) if let Some(member) = member_of_deployment_group(&target) => {
                self.deployments(frame, name, spec, member);
            }
            Target::Type(target) if let Some(native) = native_type(&target) => {
                self.translated(frame, name, spec, native);
            }
            Target::File { name: file, from } => self.nested(frame, name, spec, &file, from),
            Target::Type(target) => {
                let spec = frame.global(ResourceSpec {
                    resource_type: target,
                    ..spec
                });
                self.add(full, spec);
            }
        }
    }

    /// Reports, once, that the size limit was exceeded at this path.
    fn too_much(&mut self, path: String) {
        if !std::mem::replace(&mut self.is_too_much, true) {
            self.diagnostics.push(hot::expr::budget_exceeded(path));
        }
    }

    /// True if another copy of this size fits within the limit.
    fn has_room_for(&self, weight: usize) -> bool {
        let budget = self.input.scope.budget();
        budget.is_none_or(|budget| budget.take(weight))
    }

    fn add(&mut self, name: String, spec: ResourceSpec) {
        // A definition's own text is copied for each member.
        let is_member = name.contains('/');
        let weight = || spec.properties.values().map(weight_of).sum();
        if is_member && !self.has_room_for(weight()) {
            return self.too_much(format!("resources.{}", drawn(&name)));
        }
        if self.resources.len() < RESOURCES_MAX {
            self.resources.push((name, spec));
        } else if !self.full {
            self.full = true;
            let message = format!(
                "with all members there are more than {RESOURCES_MAX} resources; divide the template into several deployments"
            );
            let path = format!("resources.{}", drawn(&name));
            self.error("too-many-resources", path, message);
        }
    }

    /// Adds a parent after its members, which begin at index `first`. The names in `waits` are full names.
    fn parent(
        &mut self,
        name: String,
        spec: ResourceSpec,
        waits: Vec<String>,
        parent: Parent,
        first: usize,
    ) {
        let start = format!("{name}/");
        let members = self.resources[first..]
            .iter()
            .map(|(member, _)| member)
            // Members of members are required by their own parent.
            .filter(|member| {
                member
                    .strip_prefix(&start)
                    .is_some_and(|rest| !rest.contains('/'))
            })
            .cloned();
        let requires = waits.into_iter().chain(members).collect();
        self.parents.insert(name.clone(), parent);
        self.add(name, ResourceSpec { requires, ..spec });
    }

    /// Full names of the resources that the members of a resource wait for: explicit ones, and references in its
    /// properties, except those to components.
    fn waits_for(&self, frame: &Frame<'_>, spec: &ResourceSpec) -> Vec<String> {
        let mentioned = spec.properties.values().flat_map(|value| {
            frame
                .global_expr(value)
                .resources()
                .into_iter()
                .filter(|name| !self.components.contains(*name))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        let mut seen = BTreeSet::new();
        frame
            .inherits
            .iter()
            .cloned()
            .chain(spec.requires.iter().map(|name| frame.full(name)))
            .chain(mentioned)
            .filter(|name| seen.insert(name.clone()))
            .collect()
    }

    /// True if `frame` can contain another level. Reports a problem otherwise.
    fn may_nest(&mut self, frame: &Frame<'_>, name: &str) -> bool {
        if frame.depth < DEPTH_MAX {
            return true;
        }
        let message = format!(
            "`{name}` is nested too deep: groups and nested templates may be nested {DEPTH_MAX} levels deep"
        );
        let path = format!("resources.{}", frame.full(name));
        self.error("nested-too-deep", path, message);
        false
    }

    /// Value with the known parameters resolved.
    fn simplified(&mut self, frame: &Frame<'_>, value: &Expr, path: &dyn Fn() -> String) -> Expr {
        match value.simplify(frame.scope) {
            Ok(simple) => simple,
            Err(Unresolved::Invalid(message)) => {
                self.error("function-arguments", path(), message);
                value.clone()
            }
            Err(Unresolved::TooMuch) => {
                self.too_much(path());
                value.clone()
            }
            Err(_) => value.clone(),
        }
    }
}

/// A template with its files, before flattening.
pub(crate) struct Checked {
    pub merged: Merged,
    /// Values of the template's parameters, including those of environments.
    pub parameters: BTreeMap<String, Value>,
    /// `parameters` with the known pseudo parameters, for a scope.
    pub known: BTreeMap<String, Value>,
    /// Problems of the template itself, of its environments and of the pins in it and beside it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks shared by validation and planning.
pub(crate) fn check(
    document: &Document,
    bundle: &Bundle,
    types: &Registry,
    cloud: &CloudFacts,
    given: &BTreeMap<String, Value>,
    deployed: &Deployed,
) -> Checked {
    let template = document.template();
    let merged = Merged::of(bundle, template).with_kept(&deployed.stored_hidden);
    let parameters = merged.parameters(template, given);
    // Nested templates are described like built-in types; later stages process their members.
    let described = types_for(types, bundle, &merged, document);
    let mut known = parameters.clone();
    known.extend(deployed.pseudo.clone());
    let mut diagnostics = validate_with(document, &described, cloud, &known);
    if document.is_readable() {
        diagnostics.extend(merged.diagnostics.iter().cloned());
        diagnostics.extend(merged.undeclared(template));
        diagnostics.extend(merged.overridden(template, given));
        diagnostics.extend(pins(document, bundle).problems);
    }
    Checked {
        merged,
        parameters,
        known,
        diagnostics,
    }
}

/// All problems of a template, of its files, and of their combination. The template's problems come first, in the order
/// of the text.
pub fn validate(
    document: &Document,
    bundle: &Bundle,
    types: &Registry,
    cloud: &CloudFacts,
    parameters: &BTreeMap<String, Value>,
) -> Vec<Diagnostic> {
    let template = document.template();
    let Checked {
        merged,
        known,
        mut diagnostics,
        ..
    } = check(
        document,
        bundle,
        types,
        cloud,
        parameters,
        &Deployed::default(),
    );
    let is_looked_into = template.resources.iter().any(|resource| {
        let written = &resource.resource_type;
        is_parent(written)
            || native_type(written).is_some()
            || signals::concerns(written)
            || services::missing_for(written, cloud).is_some()
    });
    if document.is_readable() && (is_looked_into || !merged.aliases.is_empty()) {
        let scope = Known::of(template, &known)
            .with_files(bundle, None)
            .with_zones(cloud.zone_names());
        let (model, _) = Model::of(template, &scope);
        let input = CompositionInput {
            document,
            bundle,
            merged: &merged,
            types,
            cloud,
            deployed: &Deployed::default(),
            scope: &scope,
        };
        let mut flat = flatten(&input, model, BTreeMap::new());
        let mut found = std::mem::take(&mut flat.diagnostics);
        found.extend(services::missing(&flat.model, cloud));
        let outputs = template.outputs.iter().map(|output| &output.value);
        let deployed = BTreeMap::new();
        signals::fetch_over_ssh(&mut flat.model, &deployed, types, cloud);
        found.extend(signals::unreachable(&flat.model, outputs, &deployed, cloud));
        for mut one in found {
            flat.locate(&mut one);
            if !diagnostics.contains(&one) {
                diagnostics.push(one);
            }
        }
        if let Some(budget) = scope.budget() {
            budget.report(&mut diagnostics);
        }
    }
    diagnostic::sort(&mut diagnostics);
    diagnostics
}

/// Types available to a template: the known ones, and a description of each nested template and alias that it uses, so
/// that forms treat all types alike.
pub fn described<'t>(
    types: &'t Registry,
    bundle: &Bundle,
    document: &Document,
) -> Cow<'t, Registry> {
    let merged = Merged::of(bundle, document.template());
    types_for(types, bundle, &merged, document)
}

/// Types for a template that can use nested templates.
fn types_for<'t>(
    types: &'t Registry,
    bundle: &Bundle,
    merged: &Merged,
    document: &Document,
) -> Cow<'t, Registry> {
    overlay(types, bundle, merged, document.template(), None, &[])
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
