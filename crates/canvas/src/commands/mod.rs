//! Commands: the meaning of gestures.
//!
//! Each command (drop, connect, delete ...) is a pure function. It takes the drawing and the gesture and returns a
//! [`Proposal`] (edits of the template, positions, the selection afterwards) or a [`Refusal`] with the reason. The page
//! calls it while the pointer still moves, so that users see the effect before the drop. Nothing changes until
//! [`crate::editor::Editor::apply`] is called with the proposal.

mod add_to;
mod arrange;
mod clipboard;
mod connect;
mod delete;
mod disconnect;
mod drop;
mod duplicate;
mod join;
mod names;
mod onto;
mod reconnect;
mod shift;
mod twin;
mod usual;

pub use add_to::add_to;
pub use arrange::{Alignment, Axis, Tidying, align, distribute, tidy};
pub use clipboard::{copy, paste};
pub use connect::{can_connect, connect};
pub use delete::{DeletedDependent, Deletion, delete};
pub use disconnect::{Connection, connection, disconnect};
pub use drop::add;
pub use duplicate::{connect_twins, duplicate};
pub use names::{free_cidr, free_cidrs, unique_name};
pub use onto::drop_item;
pub use reconnect::{LineEnd, has_movable_start, other_ends, reconnect};
pub use shift::{nudge, shift};
pub use usual::{Recent, usual_flavor, usual_image};

use hot::{
    document::Edit,
    template::{Resource, Template},
};
use planner::cloud::CloudFacts;
use types::Registry;

use crate::{
    drawing::{Drawing, Node, NodeKind},
    geometry::CanvasVector,
    layout::Place,
};

/// The input of all commands.
#[derive(Clone, Copy)]
pub struct CommandInput<'a> {
    /// The document.
    pub text: &'a str,
    /// The document's model.
    pub template: &'a Template,
    /// The drawing on the canvas.
    pub drawing: &'a Drawing,
    /// Resource types, including those of the catalogue.
    pub types: &'a Registry,
    /// The facts of the cloud: flavors, images, networks.
    pub cloud: &'a CloudFacts,
    /// The user's last choices.
    pub recent: &'a Recent,
}

/// The effect of a gesture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposal {
    /// Label in the history and during the drag: `Add a server to front`.
    pub label: String,
    /// Edits of the template, in this order.
    pub edits: Vec<Edit>,
    /// New positions. Other nodes keep theirs.
    pub places: Vec<(String, Place)>,
    /// Selection afterwards. Empty for no change.
    pub select: Vec<String>,
    /// The node that is highlighted during the drag.
    pub target: Option<String>,
}

/// The reason why a gesture is refused, one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Refusal {
    fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Item that can be added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// A network with a subnet.
    Network,
    /// A router with an external gateway.
    Router,
    /// A server with a public address.
    PublicServer,
    /// A server without a public address, reached through the bastion.
    PrivateServer,
    /// A catalogue item, by its type.
    Component(String),
    /// A resource of any other type.
    Other(String),
}

impl Item {
    /// Key of the item, unique among all.
    pub fn key(&self) -> &str {
        match self {
            Item::Network => "network",
            Item::Router => "router",
            Item::PublicServer => "public-server",
            Item::PrivateServer => "private-server",
            Item::Component(resource_type) | Item::Other(resource_type) => resource_type,
        }
    }
}

impl CommandInput<'_> {
    fn resource(&self, name: &str) -> Option<&Resource> {
        self.template.resource(name)
    }

    fn title(&self, resource_type: &str) -> String {
        self.types.get(resource_type).map_or_else(
            || {
                resource_type
                    .rsplit("::")
                    .next()
                    .unwrap_or(resource_type)
                    .to_owned()
            },
            |described| described.title.clone(),
        )
    }

    /// True if a reference in this property can target a resource of type `to_type`.
    fn fits(&self, to_type: &str, allowed: &[String]) -> bool {
        allowed
            .iter()
            .any(|one| match one.strip_prefix("component:") {
                Some(capability) => self
                    .types
                    .get(to_type)
                    .and_then(|described| described.component.as_ref())
                    .is_some_and(|item| {
                        item.provides
                            .iter()
                            .any(|provided| provided.name == capability)
                    }),
                None => one == to_type,
            })
    }
}

/// `["resources", name, "properties", ...]`.
fn property_path(resource: &str, rest: &[&str]) -> Vec<String> {
    ["resources", resource, "properties"]
        .iter()
        .chain(rest)
        .map(|part| (*part).to_owned())
        .collect()
}

fn get_resource(name: &str) -> serde_json::Value {
    serde_json::json!({ "get_resource": name })
}

/// Positions of moved nodes and their contents.
fn places(input: &CommandInput<'_>, nodes: &[&Node], offset: CanvasVector) -> Vec<(String, Place)> {
    let all = nodes
        .iter()
        .flat_map(|node| input.drawing.subtree(&node.name));
    all.filter(|node| node.kind != NodeKind::Chip)
        .map(|node| {
            (
                node.name.clone(),
                Place::at(node.rect.moved(offset).corner()),
            )
        })
        .collect()
}

/// Number of items in a list property.
fn list_length(resource: &Resource, property: &str) -> usize {
    match resource.property(property) {
        Some(hot::expr::Expr::List(items)) => items.len(),
        _ => 0,
    }
}

/// An edit that appends to a list property, or creates the list.
fn append(resource: &Resource, property: &str, value: serde_json::Value) -> Edit {
    match list_length(resource, property) {
        0 => Edit::Set {
            path: property_path(&resource.name, &[property]),
            value: serde_json::json!([value]),
        },
        length => Edit::Set {
            path: property_path(&resource.name, &[property, &length.to_string()]),
            value,
        },
    }
}

/// Name of a network's first subnet. If there is none, adds an edit that creates one.
fn subnet_for(input: &CommandInput<'_>, network: &str, edits: &mut Vec<Edit>) -> String {
    if let Some(subnet) = crate::drawing::subnets_of(input.template, network).next() {
        return subnet.name.clone();
    }
    let name = unique_name(input.template, &format!("{network}_subnet"));
    edits.push(Edit::AddResource {
        name: name.clone(),
        resource_type: types::SUBNET.to_owned(),
        properties: serde_json::json!({ "network": get_resource(network), "cidr": free_cidr(input.template) }),
    });
    name
}

#[cfg(test)]
mod tests;
