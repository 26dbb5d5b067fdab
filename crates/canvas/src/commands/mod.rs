//! What a gesture means.
//!
//! A drop, a connection, a deletion: each is a pure function from the drawing and the gesture to a
//! [`Proposal`] (edits of the template, places, what is selected then) or a [`Refusal`] with a reason
//! for the person. The page asks while the pointer still moves, so that one sees what a drop would do
//! before it is done; nothing changes until [`crate::editor::Editor::apply`] takes the proposal.

mod clipboard;
mod connect;
mod delete;
mod drop;
mod duplicate;
mod names;
mod shift;
mod twin;

pub use clipboard::{copy, paste};
pub use connect::{can_connect, connect};
pub use delete::{Along, Deletion, delete};
pub use drop::{add, drop_item};
pub use duplicate::duplicate;
pub use names::{free_cidr, unique_name};
pub use shift::{nudge, shift};

use hot::{
    document::Edit,
    template::{Resource, Template},
};
use planner::cloud::CloudFacts;
use types::{PropertyKind, Registry};

use crate::{drawing::Drawing, layout::Place};

/// What the commands read.
#[derive(Clone, Copy)]
pub struct Desk<'a> {
    /// The document.
    pub text: &'a str,
    /// The document's model.
    pub template: &'a Template,
    /// As it is on the canvas.
    pub drawing: &'a Drawing,
    /// Resource types, those of the catalogue included.
    pub types: &'a Registry,
    /// What the cloud has.
    pub cloud: &'a CloudFacts,
}

/// What a gesture would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposal {
    /// What it is called in the history, and shown while dragging: `Add a server to front`.
    pub label: String,
    /// In this order.
    pub edits: Vec<Edit>,
    /// New places; the others stay.
    pub places: Vec<(String, Place)>,
    /// What is selected afterwards; nothing changes where empty.
    pub select: Vec<String>,
    /// The node that lights up while dragging.
    pub target: Option<String>,
}

/// Why a gesture does nothing, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Refusal {
    fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// What can be added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// A network with a subnet.
    Network,
    /// A router with a way out.
    Router,
    /// A server that shall have a public address.
    PublicServer,
    /// A server that others reach through the bastion.
    PrivateServer,
    /// A catalogue item, by its type.
    Component(String),
    /// Any other type.
    Other(String),
}

impl Desk<'_> {
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

    /// Whether a reference in this property of this type may lead to a resource of type `to`.
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

    /// Properties of `from_type` that may name a resource of `to_type`: the name, and whether it takes a list.
    fn reference_properties(&self, from_type: &str, to_type: &str) -> Vec<(String, Takes)> {
        let Some(described) = self.types.get(from_type) else {
            return Vec::new();
        };
        described
            .properties
            .iter()
            .filter_map(|property| {
                let list_of = match &property.kind {
                    PropertyKind::List { of: Some(of) } => of.reference.as_ref(),
                    _ => None,
                };
                let reference = property.reference.as_ref().or(list_of)?;
                let takes = if matches!(property.kind, PropertyKind::List { .. }) {
                    Takes::Many
                } else {
                    Takes::One
                };
                self.fits(to_type, &reference.to)
                    .then(|| (property.name.clone(), takes))
            })
            .collect()
    }
}

/// How many references a property takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    One,
    Many,
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

/// How many items a list property has now.
fn list_length(resource: &Resource, property: &str) -> usize {
    match resource.property(property) {
        Some(hot::expr::Expr::List(items)) => items.len(),
        _ => 0,
    }
}

/// An edit that appends to a list property, or makes the list.
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

/// The first subnet of a network, or the edit that adds one and its name.
fn subnet_for(desk: &Desk<'_>, network: &str, edits: &mut Vec<Edit>) -> String {
    if let Some(subnet) = crate::drawing::subnets_of(desk.template, network).next() {
        return subnet.name.clone();
    }
    let name = unique_name(desk.template, &format!("{network}_subnet"));
    edits.push(Edit::AddResource {
        name: name.clone(),
        resource_type: types::SUBNET.to_owned(),
        properties: serde_json::json!({ "network": get_resource(network), "cidr": free_cidr(desk.template) }),
    });
    name
}

#[cfg(test)]
mod tests;
