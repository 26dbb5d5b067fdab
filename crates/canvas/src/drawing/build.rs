//! From resources to nodes, edges and parts.
//!
//! In four steps: gather entries (drawn resources, then derived ones), decide the kind of each, hang
//! parts on their owners, then draw a line for every reference that containment does not show already.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use topology::{
    compose,
    expr::Expr,
    plan::Plan,
    template::Template,
    types::{Category, ReferenceRole, Registry, Shape},
    workflow::{Marks, Origin},
};

use super::{Edge, EdgeKind, INTERNET, Node, NodeKind, Part, refs, types};
use crate::geometry::Rect;

/// A resource, drawn or derived, in one form.
struct Entry<'a> {
    name: &'a str,
    resource_type: &'a str,
    properties: Vec<(&'a str, &'a Expr)>,
    depends_on: Vec<&'a str>,
    marks: Marks,
    /// The pass's reason, and what it serves.
    ghost: Option<(&'a str, Option<&'a str>)>,
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

pub(super) fn build(template: &Template, plan: Option<&Plan>, types: &Registry) -> Built {
    let entries = gather(template, plan);
    let mut builder = Builder {
        types,
        template,
        members: members(plan),
        by_name: HashMap::new(),
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
    builder.add_nodes();
    builder.add_internet();
    let edge_parts = builder.add_network_edges();
    builder.add_parts(&edge_parts);
    builder.add_references();
    (builder.nodes, builder.edges, builder.owners)
}

fn gather<'a>(template: &'a Template, plan: Option<&'a Plan>) -> Vec<Entry<'a>> {
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
            });
        }
    }
    let derived = plan
        .and_then(|plan| plan.workflow.as_ref())
        .map(|workflow| &workflow.resources);
    for (name, spec) in derived.into_iter().flatten() {
        let Origin::Derived { why, serves, .. } = &spec.origin else {
            continue;
        };
        // What serves a member is not drawn, as the member is not: the parent stands for both.
        let of_member = |name: &str| name.contains('/');
        if of_member(name) || serves.as_deref().is_some_and(of_member) {
            continue;
        }
        if seen.insert(name) {
            entries.push(Entry {
                name,
                resource_type: &spec.resource_type,
                properties: spec
                    .properties
                    .iter()
                    .map(|(name, value)| (name.as_str(), value))
                    .collect(),
                depends_on: Vec::new(),
                marks: spec.marks.clone(),
                ghost: Some((why, serves.as_deref())),
            });
        }
    }
    entries
}

/// How many members each parent has, members of members left out.
fn members(plan: Option<&Plan>) -> HashMap<&str, usize> {
    let mut members = HashMap::new();
    for change in plan.iter().flat_map(|plan| &plan.changes) {
        if change.origin == Origin::Drawn
            && let Some((parent, member)) = change.resource.split_once('/')
            && !member.contains('/')
        {
            *members.entry(parent).or_default() += 1;
        }
    }
    members
}

struct Builder<'a> {
    types: &'a Registry,
    template: &'a Template,
    /// By parent.
    members: HashMap<&'a str, usize>,
    entries: Vec<Entry<'a>>,
    by_name: HashMap<&'a str, usize>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Part to node.
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

    /// The kind of a node, or `None` for a part that has an owner.
    fn kind(&self, entry: &Entry<'a>) -> Option<NodeKind> {
        Some(match self.shape(entry.resource_type) {
            Shape::Frame => NodeKind::Frame,
            Shape::Node => NodeKind::Router,
            Shape::Chip if self.host(entry).is_some() => NodeKind::Chip,
            Shape::Part if self.owner(entry.name).is_some() => return None,
            Shape::Card if entry.resource_type == types::SERVER => NodeKind::Server,
            _ => NodeKind::Card,
        })
    }

    fn host(&self, entry: &Entry<'a>) -> Option<&'a str> {
        let host = entry.named(&["host"])?;
        (self.entry(host)?.resource_type == types::SERVER).then_some(host)
    }

    /// The node that a part belongs to: the one that it names, or else the first that names it. A chain
    /// of parts (address, port, server) is followed to its end; a circle of parts has no owner.
    fn owner(&self, part: &str) -> Option<&'a str> {
        let mut at = self.entry(part)?;
        let mut seen = BTreeSet::from([at.name]);
        loop {
            let next = self.serves(at)?;
            let next = self.entry(next)?;
            if self.shape(next.resource_type) != Shape::Part {
                return Some(next.name);
            }
            if !seen.insert(next.name) {
                return None;
            }
            at = next;
        }
    }

    fn serves(&self, part: &Entry<'a>) -> Option<&'a str> {
        if let Some((_, Some(serves))) = part.ghost
            && let Some(entry) = self.entry(serves)
        {
            return Some(entry.name);
        }
        let users_first = matches!(
            part.resource_type,
            types::PORT | types::SECURITY_GROUP | types::KEY_PAIR
        );
        let user = || {
            // A server before anything else that names it.
            let users = || {
                self.entries.iter().filter(|user| {
                    user.name != part.name
                        && user
                            .properties
                            .iter()
                            .any(|(_, value)| value.resources().contains(&part.name))
                })
            };
            users()
                .find(|user| user.resource_type == types::SERVER)
                .or_else(|| users().next())
                .map(|user| user.name)
        };
        let named = || self.first_reference(part);
        if users_first {
            user().or_else(named)
        } else {
            named().or_else(user)
        }
    }

    /// The first reference that nests, or else the first at all.
    fn first_reference(&self, entry: &Entry<'a>) -> Option<&'a str> {
        let described = self.types.get(entry.resource_type);
        let nests = |property: &str| {
            described.is_some_and(|described| {
                described.properties.iter().any(|one| {
                    one.name == property
                        && one
                            .reference
                            .as_ref()
                            .is_some_and(|reference| reference.role == ReferenceRole::Nests)
                })
            })
        };
        let known = |expr: &'a Expr| {
            expr.resources()
                .into_iter()
                .find(|name| self.by_name.contains_key(name) && *name != entry.name)
        };
        let find = |wanted: bool| {
            entry
                .properties
                .iter()
                .filter(|(name, _)| nests(name) == wanted)
                .find_map(|(_, value)| known(value))
        };
        entry
            .named(&["router", "router_id"])
            .filter(|name| self.by_name.contains_key(name))
            .or_else(|| find(true))
            .or_else(|| find(false))
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

    fn add_nodes(&mut self) {
        let mut nodes = Vec::new();
        for entry in &self.entries {
            let Some(kind) = self.kind(entry) else {
                continue;
            };
            // What a pass adds for all servers at once (the deployment's key) has no place of its own.
            if entry.ghost.is_some() && self.shape(entry.resource_type) == Shape::Part {
                continue;
            }
            let parent = match kind {
                NodeKind::Chip => self.host(entry).map(str::to_owned),
                NodeKind::Server => self.first_network(entry),
                _ => None,
            };
            nodes.push(Node {
                name: entry.name.to_owned(),
                kind,
                resource_type: entry.resource_type.to_owned(),
                title: self.title(entry.resource_type),
                category: self.category(entry.resource_type),
                parent,
                detail: self.detail(entry, kind),
                parts: Vec::new(),
                marks: entry.marks.clone(),
                members: self.count(entry),
                ghost: entry.ghost.map(|(why, _)| why.to_owned()),
                rect: Rect::default(),
            });
        }
        // Parents first, so that painting in order paints them beneath.
        nodes.sort_by_key(|node| match node.kind {
            NodeKind::Frame => 0,
            NodeKind::Chip => 2,
            _ => 1,
        });
        self.nodes = nodes;
    }

    /// How many members a group or nested template has.
    fn count(&self, entry: &Entry<'a>) -> Option<usize> {
        let members = self.members.get(entry.name).copied();
        let written = entry.resource_type;
        let is_parent = matches!(written, compose::GROUP | compose::CHAIN);
        members.or_else(|| match entry.property("count") {
            Some(Expr::Literal(count)) if is_parent => count.as_u64().map(|count| count as usize),
            _ => None,
        })
    }

    fn first_network(&self, server: &Entry<'a>) -> Option<String> {
        let resource = self.template.resource(server.name)?;
        let network = refs::interfaces(self.template, resource)
            .into_iter()
            .next()?
            .network?;
        let frame = self.entry(&network)?;
        (self.shape(frame.resource_type) == Shape::Frame).then_some(network)
    }

    fn detail(&self, entry: &Entry<'a>, kind: NodeKind) -> Vec<String> {
        let say = |property: &str| entry.property(property).and_then(refs::shown);
        match kind {
            NodeKind::Server => [say("image"), say("flavor")]
                .into_iter()
                .flatten()
                .collect(),
            NodeKind::Card if entry.resource_type == compose::GROUP => {
                let definition = entry.property("resource_def");
                let of = definition.and_then(|definition| definition.get("type")?.as_str());
                of.map(|of| self.title(of)).into_iter().collect()
            }
            NodeKind::Chip | NodeKind::Card => self.ports(entry),
            _ => Vec::new(),
        }
    }

    /// `:80` for each port that a component listens on.
    fn ports(&self, entry: &Entry<'a>) -> Vec<String> {
        let Some(described) = self.types.get(entry.resource_type) else {
            return Vec::new();
        };
        let listens = described.component.iter().flat_map(|item| &item.listens);
        listens
            .filter_map(|listen| {
                let given = entry.property(&listen.port).and_then(refs::shown);
                let default = || {
                    let input = described
                        .properties
                        .iter()
                        .find(|property| property.name == listen.port)?;
                    refs::shown(&Expr::Literal(input.default.clone()?))
                };
                given.or_else(default).map(|port| format!(":{port}"))
            })
            .collect()
    }

    /// The world outside is drawn as soon as anything leads, or could lead, to it.
    fn add_internet(&mut self) {
        let leads_out = |entry: &Entry<'_>| {
            matches!(entry.resource_type, types::ROUTER | types::FLOATING_IP) || entry.marks.public
        };
        if !self.entries.iter().any(leads_out) {
            return;
        }
        let mut outside: Vec<String> = self
            .entries
            .iter()
            .filter_map(|entry| match entry.resource_type {
                types::ROUTER => external_network(entry).and_then(refs::shown),
                types::FLOATING_IP => entry.property("floating_network").and_then(refs::shown),
                _ => None,
            })
            .collect();
        outside.sort();
        outside.dedup();
        self.nodes.push(Node {
            name: INTERNET.to_owned(),
            kind: NodeKind::Internet,
            resource_type: String::new(),
            title: "Internet".to_owned(),
            category: Category::Network,
            parent: None,
            detail: outside,
            parts: Vec::new(),
            marks: Marks::default(),
            members: None,
            ghost: None,
            rect: Rect::default(),
        });
    }

    fn has_node(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node.name == name)
    }

    /// Lines of routers and of servers' further interfaces. Gives the parts that are drawn by them.
    fn add_network_edges(&mut self) -> BTreeSet<String> {
        let mut edges = Vec::new();
        let mut drawn = BTreeSet::new();
        for entry in &self.entries {
            let ghost = entry.ghost.is_some();
            match entry.resource_type {
                types::ROUTER => {
                    let Some(external) = external_network(entry) else {
                        continue;
                    };
                    let to = refs::plain_reference(external)
                        .filter(|name| self.has_node(name))
                        .unwrap_or(INTERNET);
                    edges.push(Edge {
                        id: format!("gateway:{}", entry.name),
                        from: entry.name.to_owned(),
                        to: to.to_owned(),
                        kind: EdgeKind::Gateway,
                        label: refs::shown(external).unwrap_or_default(),
                        resource: None,
                        ghost,
                    });
                }
                types::ROUTER_INTERFACE => {
                    let router = entry
                        .named(&["router", "router_id"])
                        .filter(|name| self.has_node(name));
                    let place = entry
                        .named(&["subnet", "subnet_id"])
                        .or_else(|| entry.named(&["port", "port_id"]));
                    let frame = place
                        .and_then(|name| self.frame_of(name))
                        .filter(|name| self.has_node(name));
                    let (Some(router), Some(frame)) = (router, frame) else {
                        continue;
                    };
                    self.owners.insert(entry.name.to_owned(), router.to_owned());
                    drawn.insert(entry.name.to_owned());
                    edges.push(Edge {
                        id: format!("interface:{}", entry.name),
                        from: router.to_owned(),
                        to: frame,
                        kind: EdgeKind::RouterInterface,
                        label: String::new(),
                        resource: Some(entry.name.to_owned()),
                        ghost,
                    });
                }
                types::SERVER => {
                    let Some(resource) = self.template.resource(entry.name) else {
                        continue;
                    };
                    for interface in refs::interfaces(self.template, resource)
                        .into_iter()
                        .skip(1)
                    {
                        let Some(to) = interface.network.filter(|name| self.has_node(name)) else {
                            continue;
                        };
                        edges.push(Edge {
                            id: format!("network:{}:{}", entry.name, interface.index),
                            from: entry.name.to_owned(),
                            to,
                            kind: EdgeKind::Interface,
                            label: interface.address.unwrap_or_default(),
                            resource: None,
                            ghost,
                        });
                    }
                }
                _ => {}
            }
        }
        self.edges = edges;
        drawn
    }

    /// The network of a subnet or port, drawn or derived.
    fn frame_of(&self, name: &str) -> Option<String> {
        refs::frame_of(self.template, name).or_else(|| {
            let entry = self.entry(name).filter(|entry| entry.ghost.is_some())?;
            entry.named(&["network", "network_id"]).map(str::to_owned)
        })
    }

    fn add_parts(&mut self, drawn_as_edges: &BTreeSet<String>) {
        let mut parts: BTreeMap<String, Vec<Part>> = BTreeMap::new();
        for entry in &self.entries {
            if drawn_as_edges.contains(entry.name) || self.kind(entry).is_some() {
                continue;
            }
            let Some(owner) = self.owner(entry.name) else {
                continue;
            };
            self.owners.insert(entry.name.to_owned(), owner.to_owned());
            parts.entry(owner.to_owned()).or_default().push(Part {
                name: entry.name.to_owned(),
                resource_type: entry.resource_type.to_owned(),
                title: self.title(entry.resource_type),
                category: self.category(entry.resource_type),
                label: part_label(entry),
                ghost: entry.ghost.map(|(why, _)| why.to_owned()),
            });
        }
        for node in &mut self.nodes {
            node.parts = parts.remove(&node.name).unwrap_or_default();
        }
    }

    /// A line for each reference between nodes that nothing shows yet.
    fn add_references(&mut self) {
        let mut edges: Vec<Edge> = Vec::new();
        let parents: HashMap<&str, Option<&str>> = self
            .nodes
            .iter()
            .map(|node| (node.name.as_str(), node.parent.as_deref()))
            .collect();
        let root = |name: &str| -> Option<String> {
            if parents.contains_key(name) {
                Some(name.to_owned())
            } else {
                self.owners.get(name).cloned()
            }
        };
        let inside = |inner: &str, outer: &str| {
            let mut at = parents.get(inner).copied().flatten();
            while let Some(parent) = at {
                if parent == outer {
                    return true;
                }
                at = parents.get(parent).copied().flatten();
            }
            false
        };
        let mut joined: BTreeSet<(String, String)> = self
            .edges
            .iter()
            .map(|edge| (edge.from.clone(), edge.to.clone()))
            .collect();
        for entry in &self.entries {
            let Some(from) = root(entry.name) else {
                continue;
            };
            let component = self
                .types
                .get(entry.resource_type)
                .and_then(|described| described.component.as_ref());
            for (property, value) in &entry.properties {
                let relation = component
                    .is_some_and(|item| item.requires.iter().any(|one| one.name == *property));
                for name in value.resources() {
                    let Some(to) = root(name) else { continue };
                    let shown = from == to || inside(&from, &to) || inside(&to, &from);
                    let twin = joined.contains(&(to.clone(), from.clone())) && !relation;
                    // What the passes add among themselves would only hide what is drawn.
                    if shown
                        || twin
                        || entry.ghost.is_some()
                        || !joined.insert((from.clone(), to.clone()))
                    {
                        continue;
                    }
                    edges.push(Edge {
                        id: format!(
                            "{}:{from}:{to}",
                            if relation { "relation" } else { "reference" }
                        ),
                        from: from.clone(),
                        to,
                        kind: if relation {
                            EdgeKind::Relation
                        } else {
                            EdgeKind::Reference
                        },
                        label: (*property).to_owned(),
                        resource: None,
                        ghost: false,
                    });
                }
            }
            for name in &entry.depends_on {
                let Some(to) = root(name) else { continue };
                if from != to && joined.insert((from.clone(), to.clone())) {
                    edges.push(Edge {
                        id: format!("order:{from}:{to}"),
                        from: from.clone(),
                        to,
                        kind: EdgeKind::Order,
                        label: "depends on".to_owned(),
                        resource: None,
                        ghost: false,
                    });
                }
            }
        }
        self.edges.append(&mut edges);
    }
}

fn external_network<'a>(router: &Entry<'a>) -> Option<&'a Expr> {
    let gateway = router.property("external_gateway_info")?;
    refs::entry(gateway, "network").or_else(|| refs::entry(gateway, "network_id"))
}

fn part_label(entry: &Entry<'_>) -> String {
    let say = |property: &str| entry.property(property).and_then(refs::shown);
    match entry.resource_type {
        types::SUBNET => say("cidr").or_else(|| say("name")),
        types::FLOATING_IP => say("floating_ip_address"),
        _ => say("name"),
    }
    .unwrap_or_else(|| entry.name.to_owned())
}
