//! Another one of the same.

use std::collections::HashSet;

use super::{Desk, Proposal, twin};
use crate::{
    drawing::NodeKind,
    geometry::CanvasVector,
    layout::{self, Place},
};

/// What duplicating these resources would do: each gets a twin beside it, software comes along with its
/// server, and references among them lead to the twins. Ports are not shared: a server that was
/// attached through one is attached to the port's network.
pub fn duplicate(desk: &Desk<'_>, names: &[String]) -> Option<Proposal> {
    let wanted = twin::with_software(desk, names);
    let first = wanted.first()?;
    let all = wanted.iter().map(|resource| resource.name.as_str());
    let twins = twin::free_names(desk, all, twin::Keep::No);
    let mut proposal = Proposal {
        label: format!("Duplicate {}", first.name),
        ..Proposal::default()
    };
    for resource in &wanted {
        let name = &twins[resource.name.as_str()];
        proposal
            .edits
            .extend(twin::edits(resource, name, &twins, |properties| {
                twin::detach_ports(desk, resource, &HashSet::new(), properties);
            }));
        if let Some(node) = desk
            .drawing
            .node(&resource.name)
            .filter(|node| node.kind != NodeKind::Chip)
        {
            let beside = node.rect.moved(CanvasVector { dx: 24.0, dy: 24.0 });
            let taken: Vec<_> = match &node.parent {
                Some(parent) => desk
                    .drawing
                    .children(parent)
                    .map(|other| other.rect)
                    .collect(),
                None => desk
                    .drawing
                    .nodes()
                    .iter()
                    .filter(|other| other.parent.is_none())
                    .map(|other| other.rect)
                    .collect(),
            };
            proposal.places.push((
                name.clone(),
                Place::at(layout::free_spot(beside, &taken, 16.0)),
            ));
        }
    }
    proposal.select = names
        .iter()
        .filter_map(|name| twins.get(name.as_str()).cloned())
        .collect();
    Some(proposal)
}
