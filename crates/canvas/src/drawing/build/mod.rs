//! Builds nodes, edges and parts from resources.
//!
//! In four steps: collect entries (drawn resources, then derived ones), decide the kind of each, attach parts to their
//! owners, then draw a line for every reference that is not visible by containment.

use std::collections::{BTreeSet, HashMap, HashSet};

use hot::{
    expr::Expr,
    template::{Marks, Resource, Template},
};
use planner::preview::{Ghost, Planned, Preview};
use serde_json::Value;
use types::{Category, Registry, Shape};

use super::{Edge, Node, refs};

mod lines;
mod nodes;
mod parts;

/// A resource, drawn or derived.
struct Entry<'a> {
    name: &'a str,
    resource_type: &'a str,
    properties: Vec<(&'a str, &'a Expr)>,
    depends_on: Vec<&'a str>,
    marks: Marks,
    /// Reason of the pass, and the resource that needs this one.
    ghost: Option<(&'a str, Option<&'a str>)>,
    /// Condition, if it is false.
    off: Option<String>,
}

impl<'a> Entry<'a> {
    fn property(&self, name: &str) -> Option<&'a Expr> {
        self.properties
            .iter()
            .find(|(property, _)| *property == name)
            .map(|(_, value)| *value)
    }

    fn named(&self, properties: &[&str]) -> Option<&'a str> {
        properties
            .iter()
            .find_map(|name| self.property(name).and_then(refs::plain_reference))
    }
}

type Built = (Vec<Node>, Vec<Edge>, HashMap<String, String>);

pub(super) fn build(
    template: &Template,
    preview: Option<&Preview>,
    sound: Option<&Preview>,
    types: &Registry,
) -> Built {
    let entries = collect_entries(template, preview, sound);
    let mut builder = Builder {
        types,
        template,
        members: members(preview),
        by_name: HashMap::new(),
        hung: HashMap::new(),
        entries,
        nodes: Vec::new(),
        edges: Vec::new(),
        owners: HashMap::new(),
    };
    builder.by_name = builder
        .entries
        .iter()
        .enumerate()
        .map(|(at, entry)| (entry.name, at))
        .collect();
    builder.hung = builder.hung();
    builder.add_nodes();
    builder.add_internet();
    let edge_parts = builder.add_network_edges();
    builder.add_parts(&edge_parts);
    builder.add_references();
    (builder.nodes, builder.edges, builder.owners)
}

fn collect_entries<'a>(
    template: &'a Template,
    preview: Option<&'a Preview>,
    sound: Option<&'a Preview>,
) -> Vec<Entry<'a>> {
    let planned = preview.map(|preview| {
        let names = preview.resources.iter().map(|one| one.name.as_str());
        names.collect::<HashSet<_>>()
    });
    // Without a plan (the text cannot be parsed) no resource is treated as left out.
    let planned = planned.filter(|planned| !planned.is_empty());
    let mut seen = BTreeSet::new();
    let mut entries = Vec::new();
    for resource in &template.resources {
        if seen.insert(resource.name.as_str()) {
            entries.push(Entry {
                name: &resource.name,
                resource_type: &resource.resource_type,
                properties: resource
                    .properties
                    .iter()
                    .map(|property| (property.name.as_str(), &property.value))
                    .collect(),
                depends_on: resource
                    .depends_on
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .collect(),
                marks: resource.marks.clone(),
                ghost: None,
                off: planned
                    .as_ref()
                    .filter(|planned| !planned.contains(resource.name.as_str()))
                    .and_then(|_| condition_of(resource)),
            });
        }
    }
    let outdated = sound
        .map(|sound| outdated(sound, &seen))
        .unwrap_or_default();
    for (name, ghost) in sound
        .and_then(|sound| sound.ghosts.as_ref())
        .into_iter()
        .flatten()
    {
        if outdated.contains(name.as_str()) {
            continue;
        }
        let serves = ghost.serves.as_deref();
        // Derived resources of a member are not drawn, since the member is not drawn either: the parent represents
        // both.
        let of_member = |name: &str| name.contains('/');
        if of_member(name) || serves.is_some_and(of_member) {
            continue;
        }
        if seen.insert(name) {
            entries.push(Entry {
                name,
                resource_type: &ghost.resource_type,
                properties: ghost
                    .properties
                    .iter()
                    .map(|(name, value)| (name.as_str(), value))
                    .collect(),
                depends_on: Vec::new(),
                marks: ghost.marks.clone(),
                ghost: Some((&ghost.why, serves)),
                off: None,
            });
        }
    }
    entries
}

/// Resources of an earlier preview that are no longer in the template, and the ghosts that the passes added for them.
fn outdated<'a>(preview: &'a Preview, drawn: &BTreeSet<&str>) -> HashSet<&'a str> {
    let top = |name: &'a str| name.split_once('/').map_or(name, |(parent, _)| parent);
    let is_of = |outdated: &HashSet<&str>, ghost: &Ghost| {
        let named = ghost.properties.values().flat_map(Expr::resources);
        let mut all = named.chain(ghost.serves.as_deref());
        all.any(|name| outdated.contains(name))
    };
    let resources = preview.resources.iter();
    let mut outdated: HashSet<&str> = resources
        .filter(|one| !one.is_added)
        .map(|one| one.name.as_str())
        .filter(|name| !drawn.contains(top(name)))
        .collect();
    while !outdated.is_empty() {
        let ghosts = preview.ghosts.iter().flatten();
        let more: Vec<&str> = ghosts
            .filter(|(name, ghost)| !outdated.contains(name.as_str()) && is_of(&outdated, ghost))
            .map(|(name, _)| name.as_str())
            .collect();
        if more.is_empty() {
            break;
        }
        outdated.extend(more);
    }
    outdated
}

/// Name of a resource's condition, if there is one.
fn condition_of(resource: &Resource) -> Option<String> {
    Some(match resource.condition.as_ref()? {
        Expr::Literal(Value::String(name)) => name.clone(),
        Expr::Literal(other) => other.to_string(),
        Expr::GetParam(name, _) => name.clone(),
        _ => "its condition".to_owned(),
    })
}

/// Contents of each drawn parent, at any depth, in the order of the plan.
fn members(preview: Option<&Preview>) -> HashMap<&str, Vec<&Planned>> {
    let mut members: HashMap<&str, Vec<&Planned>> = HashMap::new();
    for resource in preview.iter().flat_map(|preview| &preview.resources) {
        if !resource.is_added
            && let Some((parent, _)) = resource.name.split_once('/')
        {
            members.entry(parent).or_default().push(resource);
        }
    }
    members
}

struct Builder<'a> {
    types: &'a Registry,
    template: &'a Template,
    /// Members by parent.
    members: HashMap<&'a str, Vec<&'a Planned>>,
    entries: Vec<Entry<'a>>,
    by_name: HashMap<&'a str, usize>,
    /// The server of each volume that is attached to exactly one.
    hung: HashMap<&'a str, &'a str>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// The owning node of each part.
    owners: HashMap<String, String>,
}

impl<'a> Builder<'a> {
    fn entry(&self, name: &str) -> Option<&Entry<'a>> {
        self.by_name.get(name).map(|at| &self.entries[*at])
    }

    fn shape(&self, resource_type: &str) -> Shape {
        if let Some(described) = self.types.get(resource_type) {
            return described.shape;
        }
        match resource_type {
            types::NET => Shape::Frame,
            types::ROUTER => Shape::Node,
            types::SUBNET | types::PORT | types::ROUTER_INTERFACE | types::FLOATING_IP => {
                Shape::Part
            }
            name if name.starts_with(types::CATALOG) => Shape::Chip,
            _ => Shape::Card,
        }
    }

    fn title(&self, resource_type: &str) -> String {
        match self.types.get(resource_type) {
            Some(described) => described.title.clone(),
            None => resource_type
                .rsplit("::")
                .next()
                .unwrap_or(resource_type)
                .to_owned(),
        }
    }

    fn category(&self, resource_type: &str) -> Category {
        if let Some(described) = self.types.get(resource_type) {
            return described.category;
        }
        match resource_type.split("::").nth(1) {
            Some("Nova") => Category::Compute,
            Some("Neutron" | "Octavia" | "Designate") => Category::Network,
            Some("Cinder" | "Swift" | "Manila" | "Trove") => Category::Storage,
            Some("Barbican" | "Keystone") => Category::Security,
            Some("Catalog") => Category::Software,
            _ => Category::Orchestration,
        }
    }
}

fn external_network<'a>(router: &Entry<'a>) -> Option<&'a Expr> {
    let gateway = router.property("external_gateway_info")?;
    refs::entry(gateway, "network").or_else(|| refs::entry(gateway, "network_id"))
}
