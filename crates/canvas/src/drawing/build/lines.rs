//! Lines for routers, for servers' additional interfaces, and for each reference that is not visible otherwise.

use std::collections::{BTreeSet, HashMap};

use super::{Builder, external_network};
use crate::drawing::{Edge, EdgeKind, INTERNET, refs};

impl<'a> Builder<'a> {
    /// Adds the lines of routers and of servers' additional interfaces. Returns the parts that these lines represent.
    pub(super) fn add_network_edges(&mut self) -> BTreeSet<String> {
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

    /// Adds a line for each reference between nodes that is not visible otherwise.
    pub(super) fn add_references(&mut self) {
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
                    // Several servers can use one group or key. Its tag is on the first of them, and a line to that
                    // server would say that the servers talk to each other.
                    let is_shared = name != to && self.is_used_part(name);
                    let shown = is_shared || from == to || inside(&from, &to) || inside(&to, &from);
                    let twin = joined.contains(&(to.clone(), from.clone())) && !relation;
                    // References between ghosts would make the drawing confusing.
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
