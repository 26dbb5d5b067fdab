//! Nodes and edges: the parts of a drawing.

use hot::template::Marks;
use types::Category;

use crate::geometry::Rect;

/// The name of the node that stands for the world outside; no resource can be called so.
pub const INTERNET: &str = "@internet";

/// How a node is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A network: a tinted frame around its servers.
    Frame,
    /// A server's card, with its software in rows.
    Server,
    /// A small round node.
    Router,
    /// The world outside.
    Internet,
    /// Software, a row in its server.
    Chip,
    /// Anything else.
    Card,
}

/// A tag on the node that it serves.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The resource.
    pub name: String,
    /// Its type.
    pub resource_type: String,
    /// Its type, for people.
    pub title: String,
    /// Its hue.
    pub category: Category,
    /// What the tag says, such as a subnet's CIDR.
    pub label: String,
    /// A pass adds it, for this reason.
    pub ghost: Option<String>,
    /// The condition that leaves it out.
    pub off: Option<String>,
}

/// Something within a group or a nested template.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The whole name, such as `group/0` or `web/server`.
    pub name: String,
    /// Its type.
    pub resource_type: String,
    /// Its type, for people.
    pub title: String,
    /// Its hue.
    pub category: Category,
}

/// Something that stands on the canvas.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The resource, or [`INTERNET`].
    pub name: String,
    /// How it is drawn.
    pub kind: NodeKind,
    /// Its type; empty for the Internet.
    pub resource_type: String,
    /// Its type, for people.
    pub title: String,
    /// Its hue.
    pub category: Category,
    /// The node that it stands in.
    pub parent: Option<String>,
    /// What a person wants to see of it: image and flavor, a port, networks outside.
    pub detail: Vec<String>,
    /// Its tags, in the order of the text.
    pub parts: Vec<Part>,
    /// Public, bastion.
    pub marks: Marks,
    /// How many members it has: a group, or a nested template.
    pub members: Option<usize>,
    /// They and what they hold, where a plan knows it.
    pub inside: Vec<Member>,
    /// The condition that leaves it out of what is deployed.
    pub off: Option<String>,
    /// A pass adds it, for this reason.
    pub ghost: Option<String>,
    /// Where it stands.
    pub rect: Rect,
}

/// What a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// A server's second, third ... network.
    Interface,
    /// A router in a network.
    RouterInterface,
    /// A router's way out.
    Gateway,
    /// A component that uses another.
    Relation,
    /// Any other reference.
    Reference,
    /// `depends_on`.
    Order,
}

/// A line between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Unique in the drawing.
    pub id: String,
    /// A node's name.
    pub from: String,
    /// A node's name.
    pub to: String,
    /// What it means.
    pub kind: EdgeKind,
    /// What it says, such as the requirement's name.
    pub label: String,
    /// The resource that it stands for, if it has one of its own.
    pub resource: Option<String>,
    /// A pass adds it.
    pub ghost: bool,
}
