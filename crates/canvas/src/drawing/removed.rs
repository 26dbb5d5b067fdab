//! Resources of an older version that are no longer there, as ghosts in the drawing of the newer one.

use std::collections::HashSet;

use super::{Drawing, Edge, Index, Node, NodeKind, Part, REMOVED};
use crate::geometry::CanvasVector;

impl Drawing {
    /// Adds the resources of an older version's drawing that this one does not have, as ghosts.
    ///
    /// A node keeps its old position in the network that contained it. Software and volumes of a server that is still
    /// there are tags, because rows of the server may have taken their place.
    pub fn add_removed(&mut self, old: &Drawing) {
        let is_gone = |name: &str| self.owner(name).is_none();
        let gone_part = |part: &Part| {
            let is_removed = part.ghost.is_none() && is_gone(&part.name);
            is_removed.then(|| Part {
                ghost: Some(REMOVED.to_owned()),
                ..part.clone()
            })
        };
        let drawn = old.nodes.iter().filter(|node| node.ghost.is_none());
        let mut nodes: Vec<Node> = Vec::new();
        let mut parts: Vec<(usize, Part)> = Vec::new();
        for node in drawn.filter(|node| !node.resource_type.is_empty()) {
            if !is_gone(&node.name) {
                if let Some(at) = self.number(&node.name) {
                    let gone = node.parts.iter().filter_map(gone_part);
                    parts.extend(gone.map(|part| (at, part)));
                }
                continue;
            }
            let parent = node.parent.as_deref();
            let at = parent.and_then(|parent| self.number(parent));
            match (at, parent) {
                (Some(at), _) if node.kind == NodeKind::Chip => parts.push((at, tag(node))),
                // The parent is in a folded network.
                (None, Some(parent)) if !is_gone(parent) => {}
                _ => nodes.push(Node {
                    parts: node.parts.iter().filter_map(gone_part).collect(),
                    ghost: Some(REMOVED.to_owned()),
                    rect: node.rect.moved(self.way_of_parent(old, node)),
                    ..node.clone()
                }),
            }
        }
        let added: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let known: HashSet<&str> = self.edges.iter().map(|edge| edge.id.as_str()).collect();
        let lines: Vec<Edge> = old
            .edges
            .iter()
            .filter(|edge| {
                let ends = [edge.from.as_str(), edge.to.as_str()];
                let is_drawn = |end: &str| added.contains(end) || self.node(end).is_some();
                let is_of_removed = ends.iter().any(|end| added.contains(end))
                    || edge.resource.as_deref().is_some_and(is_gone);
                !edge.ghost
                    && is_of_removed
                    && !known.contains(edge.id.as_str())
                    && ends.into_iter().all(is_drawn)
            })
            .map(|edge| Edge {
                ghost: true,
                ..edge.clone()
            })
            .collect();
        if nodes.is_empty() && parts.is_empty() && lines.is_empty() {
            return;
        }
        for (at, part) in parts {
            if let Some(node) = self.nodes.get_mut(at) {
                node.parts.push(part);
            }
        }
        self.nodes.extend(nodes);
        self.nodes.sort_by_key(|node| node.kind.layer());
        self.edges.extend(lines);
        self.index = Index::of(&self.nodes, &self.edges);
        self.index.place(&self.nodes);
    }

    /// Distance by which the innermost node around `node` that is still there has moved.
    fn way_of_parent(&self, old: &Drawing, node: &Node) -> CanvasVector {
        let around = |node: &Node| old.node(node.parent.as_deref()?);
        let mut parents = std::iter::successors(around(node), |node| around(node));
        let moved = parents.find_map(|parent| {
            let now = self.node(&parent.name)?;
            Some(now.rect.corner().since(parent.rect.corner()))
        });
        moved.unwrap_or_default()
    }
}

/// The tag of a row that was removed from its server.
fn tag(row: &Node) -> Part {
    Part {
        name: row.name.clone(),
        resource_type: row.resource_type.clone(),
        title: row.title.clone(),
        category: row.category,
        label: row.name.clone(),
        ghost: Some(REMOVED.to_owned()),
        off: None,
    }
}

#[cfg(test)]
mod tests {
    use hot::document::Document;

    use super::*;
    use crate::{
        drawing::{
            draw,
            tests::{TWO_TIER, registry},
        },
        layout::Places,
        selection::Selection,
    };

    fn drawn(text: &str, places: &Places) -> Drawing {
        draw(Document::parse(text).template(), None, &registry(), places)
    }

    /// The two-tier template without some of its resources.
    fn without(names: &[&str]) -> Drawing {
        let edit = hot::document::Edit::RemoveResources {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            keep: Vec::new(),
        };
        let document = Document::parse(TWO_TIER)
            .edit(&edit)
            .expect("they are there");
        let mut places = drawn(TWO_TIER, &Places::new()).places();
        // The network has moved since.
        for name in ["front", "edge", "web"] {
            if let Some(place) = places.get_mut(name) {
                place.x += 800.0;
            }
        }
        let mut drawing = drawn(document.text(), &places);
        drawing.add_removed(&drawn(TWO_TIER, &Places::new()));
        drawing
    }

    #[test]
    fn a_removed_server_is_a_ghost_in_its_network() {
        let drawing = without(&["web", "web_port", "nginx"]);
        let server = drawing.node("web").expect("the ghost");
        assert!(server.is_removed());
        assert_eq!(server.parent.as_deref(), Some("front"));
        let old = drawn(TWO_TIER, &Places::new());
        let before = old.node("web").expect("the server").rect;
        let way = CanvasVector { dx: 800.0, dy: 0.0 };
        assert_eq!(server.rect, before.moved(way), "it moves with its network");
        assert!(drawing.node("nginx").expect("its software").is_removed());
        let relation = drawing.edges().iter().find(|line| line.to == "nginx");
        assert!(relation.expect("the line to it").ghost);
        let hit = drawing
            .hit(server.rect.centre())
            .map(|node| node.name.as_str());
        assert_ne!(hit, Some("web"), "nothing can be dropped on it");
        assert!(!drawing.places().contains_key("web"), "it has no place");
    }

    #[test]
    fn removed_resources_stay_selected() {
        let all = ["web", "web_port", "nginx", "front_subnet", "edge"];
        let gone = &all[..4];
        let mut selection = Selection::of(all.map(str::to_owned));
        let drawing = without(gone);
        selection.retain(|name| drawing.shows(name));
        for name in ["web", "nginx", "front_subnet", "edge"] {
            assert!(selection.contains(name), "{name}");
        }
        let relation = drawing.edges().iter().find(|line| line.to == "nginx");
        assert!(drawing.shows(&relation.expect("the line to it").id));
        assert!(!drawing.shows("nothing"));
    }

    #[test]
    fn parts_and_software_of_a_server_that_stays_are_tags() {
        let drawing = without(&["nginx", "front_subnet"]);
        let removed = |name: &str| {
            let parts = drawing.node(name).expect("a node").parts.iter();
            let parts = parts.filter(|part| part.ghost.is_some());
            parts.map(|part| part.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(removed("web"), ["nginx"]);
        assert_eq!(removed("front"), ["front_subnet"]);
    }

    #[test]
    fn a_version_without_removed_resources_adds_nothing() {
        let mut drawing = drawn(TWO_TIER, &Places::new());
        let old = drawing.clone();
        drawing.add_removed(&old);
        assert_eq!(drawing, old);
    }
}
