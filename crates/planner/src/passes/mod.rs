//! Passes: resources that users need not draw.
//!
//! Each pass is a pure function on a [`Model`] and reports its decisions; [`run`] defines their order. Passes add
//! ordinary resources with a reason ([`Origin::Derived`]), and set properties of drawn resources (a server's ports, a
//! port's groups). No pass changes a value that a user drew explicitly. A new pass is a file and an entry in `PASSES`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::{
    cloud::CloudFacts,
    graph::{self, target},
    workflow::{Origin, ResourceSpec},
};
use hot::{
    diagnostic::Diagnostic,
    expr::{Expr, Function, Scope, Unresolved},
    template::{DeletionPolicy, Resource, Template},
};
use types::{
    FLOATING_IP, FLOATING_IP_ASSOCIATION, PORT, Registry, ResourceType, SERVER, SUBNET,
    catalog::CatalogItem,
};

mod access;
mod bastion;
mod consumers;
mod dependents;
mod floating_ip;
mod inputs;
mod key;
mod names;
mod ports;
mod reachability;
mod router;
mod subnets;

pub(crate) use dependents::Dependents;

/// Input of passes, without the model.
pub struct PassContext<'a> {
    /// Resource types, including those of the catalogue.
    pub types: &'a Registry,
    /// Facts about the cloud.
    pub cloud: &'a CloudFacts,
}

type Pass = fn(&mut Model, &PassContext<'_>) -> Vec<Diagnostic>;

/// Passes in order. Each uses the results of the previous ones.
const PASSES: [Pass; 10] = [
    names::pass,
    inputs::pass,
    consumers::pass,
    subnets::pass,
    ports::pass,
    bastion::pass,
    router::pass,
    access::pass,
    floating_ip::pass,
    key::pass,
];

/// Passes that set the values without which drawn software does not work: options and secrets of connections.
const SOFTWARE_PASSES: [Pass; 2] = [inputs::pass, consumers::pass];

/// Runs all passes, then fills every spec's `requires`.
pub fn run(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    run_all(&PASSES, model, context)
}

/// Runs only the passes for the values of drawn software, then fills every spec's `requires`.
pub fn run_for_software(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    run_all(&SOFTWARE_PASSES, model, context)
}

fn run_all(passes: &[Pass], model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for one in passes.iter().flat_map(|pass| pass(model, context)) {
        // Two passes can report the same problem.
        if !diagnostics.contains(&one) {
            diagnostics.push(one);
        }
    }
    model.fill_requires(graph::Rules::Plan, context.types);
    diagnostics
}

/// The resources of a template in its order, followed by resources that passes added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    resources: Vec<(String, ResourceSpec)>,
    index: HashMap<String, usize>,
    /// Servers on which software that is removed runs once more. They stay accessible.
    pub(crate) last_runs: BTreeSet<String>,
}

impl Model {
    /// A template's resources with the values of `scope` inserted. The scope must not contain secrets.
    pub fn of(template: &Template, scope: &dyn Scope) -> (Model, Vec<Diagnostic>) {
        let mut model = Model::default();
        let mut diagnostics = Vec::new();
        let mut is_too_much = false;
        for resource in &template.resources {
            if resource.is_on(scope) == Some(false) {
                continue;
            }
            let depends_on = resource.depends_on.iter();
            let depends_on: Vec<String> = depends_on.map(|(name, _)| name.clone()).collect();
            let mut properties = BTreeMap::new();
            for property in &resource.properties {
                // A group's definition is checked once for each member.
                if resource.resource_type == hot::template::members::GROUP
                    && property.name == "resource_def"
                {
                    properties.insert(property.name.clone(), property.value.clone());
                    continue;
                }
                let value = property.value.simplify(scope).unwrap_or_else(|problem| {
                    let path =
                        || format!("resources.{}.properties.{}", resource.name, property.name);
                    match problem {
                        Unresolved::Invalid(message) => {
                            let one = Diagnostic::error("function-arguments", path(), message);
                            diagnostics.push(one);
                        }
                        Unresolved::TooMuch if !is_too_much => {
                            is_too_much = true;
                            diagnostics.push(hot::expr::budget_exceeded(path()));
                        }
                        _ => {}
                    }
                    property.value.clone()
                });
                // A value that was left unchanged because it is too large can name files that exist.
                let missing = (!is_too_much).then(|| missing_files(&value));
                for file in missing.into_iter().flatten() {
                    let path = format!("resources.{}.properties.{}", resource.name, property.name);
                    let message = format!(
                        "the file `{}` is included and was not given: add it beside the template",
                        yaql::shown(file)
                    );
                    diagnostics.push(Diagnostic::error("file-missing", path, message));
                }
                // An external resource waits for nothing, so its properties with references are left out.
                let orders = resource.external_id.is_some() && !value.resources().is_empty();
                if !value.is_null() && !orders {
                    properties.insert(property.name.clone(), value);
                }
            }
            model.insert(
                resource.name.clone(),
                ResourceSpec {
                    resource_type: resource.resource_type.clone(),
                    properties,
                    marks: resource.marks.clone(),
                    origin: Origin::Drawn,
                    requires: depends_on
                        .iter()
                        .cloned()
                        .chain(mentioned_in_metadata(resource, scope))
                        .collect(),
                    depends_on,
                    deletion_policy: resource.deletion(scope),
                    external_id: resource
                        .external_id
                        .as_ref()
                        .map(|id| id.simplify(scope).unwrap_or_else(|_| id.clone())),
                    version: None,
                },
            );
        }
        (model, diagnostics)
    }

    /// A model of given resources.
    pub(crate) fn from_resources(resources: Vec<(String, ResourceSpec)>) -> Model {
        let mut model = Model::default();
        for (name, spec) in resources {
            model.insert(name, spec);
        }
        model
    }

    /// All resources, in order.
    pub(crate) fn into_list(self) -> Vec<(String, ResourceSpec)> {
        self.resources
    }

    fn insert(&mut self, name: String, spec: ResourceSpec) {
        self.index.insert(name.clone(), self.resources.len());
        self.resources.push((name, spec));
    }

    /// A resource by name.
    pub fn get(&self, name: &str) -> Option<&ResourceSpec> {
        self.index.get(name).map(|index| &self.resources[*index].1)
    }

    /// Records the version of the catalogue item of each component.
    pub(crate) fn set_versions(&mut self, types: &Registry) {
        for (_, spec) in &mut self.resources {
            let described = types.get(&spec.resource_type);
            let item = described.and_then(|described| described.component.as_ref());
            spec.version = item.map(|item| item.version.clone());
        }
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut ResourceSpec> {
        self.index
            .get(name)
            .map(|index| &mut self.resources[*index].1)
    }

    /// All resources, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ResourceSpec)> {
        self.resources
            .iter()
            .map(|(name, spec)| (name.as_str(), spec))
    }

    /// All resources of one type, in order.
    pub fn of_type(&self, resource_type: &str) -> impl Iterator<Item = (&str, &ResourceSpec)> {
        self.iter()
            .filter(move |(_, spec)| spec.resource_type == resource_type)
    }

    /// The resources by name, for a workflow.
    pub fn into_resources(self) -> BTreeMap<String, ResourceSpec> {
        self.resources.into_iter().collect()
    }

    /// Adds a derived resource with the name `wanted`, or `wanted` with a number if that name is taken.
    fn derive(&mut self, wanted: &str, made: Derived<'_>) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2;
        while self.index.contains_key(&name) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        let spec = ResourceSpec {
            resource_type: made.resource_type.to_owned(),
            properties: made
                .properties
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            marks: Default::default(),
            origin: Origin::Derived {
                pass: made.pass.to_owned(),
                why: made.why,
                serves: made.serves.map(str::to_owned),
            },
            requires: Vec::new(),
            depends_on: Vec::new(),
            deletion_policy: DeletionPolicy::default(),
            external_id: None,
            version: None,
        };
        self.insert(name.clone(), spec);
        name
    }

    /// Sets `requires` of each resource, from references and Heat's implicit rules.
    pub(crate) fn fill_requires(&mut self, rules: graph::Rules, types: &Registry) {
        let required: Vec<Vec<String>> = {
            let nodes: Vec<graph::Node<'_>> =
                self.iter().map(|(name, spec)| node(name, spec)).collect();
            graph::requirements(&nodes, rules, types)
                .into_iter()
                .map(|names| names.into_iter().map(str::to_owned).collect())
                .collect()
        };
        for ((_, spec), requires) in self.resources.iter_mut().zip(required) {
            spec.requires = requires;
        }
    }
}

/// Files that a value includes and that are missing, so that their content could not be inserted.
fn missing_files(value: &Expr) -> Vec<&str> {
    let mut names = Vec::new();
    value.walk(&mut |expr| {
        if let Expr::Call {
            function: Function::GetFile,
            arguments,
        } = expr
        {
            names.extend(arguments.as_str());
        }
    });
    names
}

/// Resources that the metadata refers to. Branches of false conditions do not count.
fn mentioned_in_metadata(resource: &Resource, scope: &dyn Scope) -> Vec<String> {
    let Some(metadata) = &resource.metadata else {
        return Vec::new();
    };
    let simple = metadata.simplify(scope);
    let known = simple.as_ref().unwrap_or(metadata);
    known.resources().into_iter().map(str::to_owned).collect()
}

/// A resource as a node of the graph.
pub(crate) fn node<'a>(name: &'a str, spec: &'a ResourceSpec) -> graph::Node<'a> {
    graph::Node {
        name,
        resource_type: &spec.resource_type,
        properties: spec
            .properties
            .iter()
            .map(|(name, value)| (name.as_str(), value))
            .collect(),
        depends_on: spec.requires.iter().map(String::as_str).collect(),
        derived: matches!(spec.origin, Origin::Derived { .. }),
    }
}

/// A resource that a pass adds.
struct Derived<'a> {
    pass: &'a str,
    resource_type: &'a str,
    why: String,
    serves: Option<&'a str>,
    properties: Vec<(&'a str, Expr)>,
}

/// The catalogue item of a component.
fn component<'a>(context: &PassContext<'a>, spec: &ResourceSpec) -> Option<&'a CatalogItem> {
    context.types.get(&spec.resource_type)?.component.as_ref()
}

/// True for components and software deployments.
fn runs_on_server(context: &PassContext<'_>, spec: &ResourceSpec) -> bool {
    let described = context.types.get(&spec.resource_type);
    described.is_some_and(ResourceType::runs_on_server)
}

/// The server of software, if it is drawn.
fn host<'m>(model: &'m Model, spec: &'m ResourceSpec) -> Option<&'m str> {
    let host = spec.host()?;
    model
        .get(host)
        .filter(|server| server.resource_type == SERVER)
        .map(|_| host)
}

/// Servers with software, by name.
fn software_hosts(model: &Model, context: &PassContext<'_>) -> BTreeSet<String> {
    model
        .iter()
        .filter(|(_, spec)| runs_on_server(context, spec))
        .filter_map(|(_, spec)| host(model, spec))
        .map(str::to_owned)
        .chain(model.last_runs.iter().cloned())
        .collect()
}

/// Servers whose signals are fetched over SSH, by name.
fn signalling_servers(model: &Model) -> impl Iterator<Item = &str> {
    let servers = model.of_type(SERVER);
    servers
        .filter(|(_, spec)| spec.marks.signals_over_ssh)
        .map(|(name, _)| name)
}

/// Servers that the engine logs in to, by name: those with software, and those whose signals are fetched over SSH.
fn ssh_hosts(model: &Model, context: &PassContext<'_>) -> BTreeSet<String> {
    let mut hosts = software_hosts(model, context);
    hosts.extend(signalling_servers(model).map(str::to_owned));
    hosts
}

/// The use of SSH, as the end of a reason: "the bastion, through which ...".
fn use_of_ssh(model: &Model, context: &PassContext<'_>) -> &'static str {
    if software_hosts(model, context).is_empty() {
        "signals are fetched"
    } else {
        "software is installed"
    }
}

/// The server that is marked as the bastion.
fn the_bastion<'m>(model: &'m Model, hosts: &BTreeSet<String>) -> Option<&'m str> {
    if hosts.is_empty() {
        return None;
    }
    model
        .of_type(SERVER)
        .find(|(_, spec)| spec.marks.bastion)
        .map(|(name, _)| name)
}

/// The literal items of a list property.
fn list<'m>(spec: &'m ResourceSpec, property: &str) -> &'m [Expr] {
    match spec.properties.get(property) {
        Some(Expr::List(items)) => items,
        _ => &[],
    }
}

/// Ports of a server, in the order of its networks. `ports::pass` has made them explicit.
fn ports_of(spec: &ResourceSpec) -> impl Iterator<Item = &str> {
    list(spec, "networks")
        .iter()
        .filter_map(|entry| target(entry.get("port")?))
}

/// Subnets by network, both by name.
fn subnets_by_network(model: &Model) -> BTreeMap<String, Vec<String>> {
    let mut subnets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, spec) in model.of_type(SUBNET) {
        if let Some(network) = spec.properties.get("network").and_then(target) {
            subnets
                .entry(network.to_owned())
                .or_default()
                .push(name.to_owned());
        }
    }
    subnets
}

/// Drawn subnets of a port's addresses.
fn subnets_of_port(
    model: &Model,
    port: &str,
    by_network: &BTreeMap<String, Vec<String>>,
) -> Vec<String> {
    let Some(spec) = model.get(port).filter(|spec| spec.resource_type == PORT) else {
        return Vec::new();
    };
    let fixed: Vec<String> = list(spec, "fixed_ips")
        .iter()
        .filter_map(|address| target(address.get("subnet")?))
        .map(str::to_owned)
        .collect();
    if !fixed.is_empty() {
        return fixed;
    }
    let network = spec.properties.get("network").and_then(target);
    network
        .and_then(|network| by_network.get(network))
        .cloned()
        .unwrap_or_default()
}

/// Servers with a drawn floating IP.
fn with_floating_ip(model: &Model) -> BTreeSet<String> {
    let served: BTreeSet<&str> = model
        .iter()
        .filter(|(_, spec)| {
            matches!(
                spec.resource_type.as_str(),
                FLOATING_IP | FLOATING_IP_ASSOCIATION
            )
        })
        .filter_map(|(_, spec)| target(spec.properties.get("port_id")?))
        .collect();
    model
        .of_type(SERVER)
        .filter(|(_, spec)| {
            ports_of(spec).any(|port| served.contains(port))
                || list(spec, "networks")
                    .iter()
                    .any(|entry| entry.get("floating_ip").is_some())
        })
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Public servers: marked ones, or those with a drawn floating IP.
fn public_servers(model: &Model) -> BTreeSet<String> {
    let mut public = with_floating_ip(model);
    public.extend(
        model
            .of_type(SERVER)
            .filter(|(_, spec)| spec.marks.public)
            .map(|(name, _)| name.to_owned()),
    );
    public
}

/// A map expression.
fn map(entries: impl IntoIterator<Item = (&'static str, Expr)>) -> Expr {
    Expr::Map(
        entries
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

fn literal(value: impl Into<Value>) -> Expr {
    Expr::Literal(value.into())
}

#[cfg(test)]
mod tests;
