//! Nodes for resources, with their kinds and texts.

use hot::{
    expr::Expr,
    template::{
        Marks,
        members::{CHAIN, GROUP, SCALING_GROUP},
    },
};
use types::{Category, Shape};

use super::{Builder, Entry, external_network};
use crate::drawing::{INTERNET, Member, Node, NodeKind, refs};
use crate::geometry::Rect;

const VOLUME: &str = "OS::Cinder::Volume";

impl<'a> Builder<'a> {
    /// The kind of a node, or `None` for a part that has an owner.
    pub(super) fn kind(&self, entry: &Entry<'a>) -> Option<NodeKind> {
        Some(match self.shape(entry.resource_type) {
            Shape::Frame => NodeKind::Frame,
            Shape::Node => NodeKind::Router,
            Shape::Chip if self.host(entry).is_some() => NodeKind::Chip,
            Shape::Part if self.owner(entry.name).is_some() => return None,
            Shape::Card if self.hung.contains_key(entry.name) => NodeKind::Chip,
            Shape::Card if entry.resource_type == types::SERVER => NodeKind::Server,
            _ => NodeKind::Card,
        })
    }

    pub(super) fn add_nodes(&mut self) {
        let mut nodes = Vec::new();
        for entry in &self.entries {
            let Some(kind) = self.kind(entry) else {
                continue;
            };
            // A resource that a pass adds for all servers (the deployment's key) has no separate position, and the secret
            // of a connection is behind the line that is drawn.
            let is_hidden = self.shape(entry.resource_type) == Shape::Part
                || entry.resource_type == types::RANDOM_STRING;
            if entry.ghost.is_some() && is_hidden {
                continue;
            }
            let parent = match kind {
                NodeKind::Chip => {
                    let hung = || self.hung.get(entry.name).copied();
                    self.host(entry).or_else(hung).map(str::to_owned)
                }
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
                inside: self.inside(entry),
                off: entry.off.clone(),
                ghost: entry.ghost.map(|(why, _)| why.to_owned()),
                is_folded: false,
                rect: Rect::default(),
            });
        }
        // Parents first, so that they are painted below their children.
        nodes.sort_by_key(|node| node.kind.layer());
        self.nodes = nodes;
    }

    /// Number of members of a group or nested template, without nested members.
    fn count(&self, entry: &Entry<'a>) -> Option<usize> {
        let start = entry.name.len() + 1;
        let members = self.members.get(entry.name).map(|members| {
            let own = members
                .iter()
                .filter(|member| !member.name[start..].contains('/'));
            own.count()
        });
        let written = entry.resource_type;
        let is_parent = matches!(written, GROUP | CHAIN);
        members.or_else(|| match entry.property("count") {
            Some(Expr::Literal(count)) if is_parent => count.as_u64().map(|count| count as usize),
            _ => None,
        })
    }

    /// The contents of a group or nested template, at any depth.
    fn inside(&self, entry: &Entry<'a>) -> Vec<Member> {
        let members = self.members.get(entry.name).into_iter().flatten();
        let members = members.map(|member| Member {
            name: member.name.clone(),
            title: self.title(&member.resource_type),
            category: self.category(&member.resource_type),
            resource_type: member.resource_type.clone(),
        });
        members.collect()
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
            NodeKind::Card if [GROUP, SCALING_GROUP].contains(&entry.resource_type) => {
                let definition = entry.property("resource_def");
                let definition = definition.or_else(|| entry.property("resource"));
                let of = definition.and_then(|definition| definition.get("type")?.as_str());
                of.map(|of| self.title(of)).into_iter().collect()
            }
            NodeKind::Chip | NodeKind::Card if entry.resource_type == VOLUME => {
                let size = say("size").map(|size| format!("{size} GB"));
                size.into_iter().collect()
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

    /// Adds the node for the Internet if a node has, or can get, a connection to it.
    pub(super) fn add_internet(&mut self) {
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
            inside: Vec::new(),
            off: None,
            ghost: None,
            is_folded: false,
            rect: Rect::default(),
        });
    }

    pub(super) fn has_node(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node.name == name)
    }
}
