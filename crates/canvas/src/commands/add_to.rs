//! Adds a resource that is connected to another one: a line that was dropped on an empty place.

use hot::document::Edit;

use super::{
    CommandInput, Item, Proposal, Refusal,
    drop::{add_at, place},
    join::{self, End},
};
use crate::{
    geometry::{CanvasPoint, Size},
    layout,
};

/// The proposal for adding an item at a point, connected to a resource.
///
/// # Errors
/// The reason why the item cannot be added there, or cannot be connected.
pub fn add_to(
    input: &CommandInput<'_>,
    item: &Item,
    from: &str,
    at: CanvasPoint,
) -> Result<Proposal, Refusal> {
    let onto = input.drawing.owner(from);
    let mut proposal = match item {
        Item::Network | Item::PublicServer | Item::PrivateServer => {
            add_at(input, item, onto, Some(at))?
        }
        _ => add_at(input, item, onto, None)?,
    };
    let Some(added) = proposal.edits.iter().find_map(|edit| match edit {
        Edit::AddResource {
            name,
            resource_type,
            ..
        } => Some((name.clone(), resource_type.clone())),
        _ => None,
    }) else {
        return Err(Refusal::because("Nothing new is needed for this"));
    };
    if proposal.target.is_none() {
        let end = End {
            name: &added.0,
            resource_type: &added.1,
            resource: None,
        };
        let from_end = End::of(input, from);
        let subnet = proposal.edits.iter().find_map(|edit| match edit {
            Edit::AddResource {
                name,
                resource_type,
                ..
            } if resource_type == types::SUBNET => Some(name.clone()),
            _ => None,
        });
        let joined = match (item, from_end) {
            (Item::Network, Some(server)) if server.resource_type == types::SERVER => {
                Some(join::put_on(server, &added.0)?)
            }
            (Item::Network, Some(router)) if router.resource_type == types::ROUTER => {
                subnet.map(|subnet| join::interface(input, router, &added.0, &subnet))
            }
            (_, Some(from)) => join::join(input, end, from)?,
            (_, None) => None,
        };
        let Some(joined) = joined else {
            return Err(Refusal::because(format!(
                "{} and {from} cannot be connected",
                input.title(&added.1)
            )));
        };
        proposal.edits.extend(joined.edits);
        proposal.edits = join::folded(proposal.edits);
        proposal.label = format!("{} to {from}", proposal.label);
    }
    if proposal.places.is_empty() {
        let size = Size::new(layout::CARD_WIDTH, layout::CARD_HEIGHT);
        proposal
            .places
            .extend(place(input, Some(at), size).map(|place| (added.0, place)));
    }
    proposal.target = None;
    Ok(proposal)
}
