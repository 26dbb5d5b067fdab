//! Nodes and edges: the parts of a drawing.

use hot::template::Marks;
use serde::{Deserialize, Serialize};
use types::Category;

use crate::geometry::Rect;

/// Name of the node for the Internet. No resource can have this name.
pub const INTERNET: &str = "@internet";

/// Reason of the ghosts of resources that an older version has.
pub const REMOVED: &str = "removed since the older version";

/// Kind of a node, which decides its drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NodeKind {
    /// A network: a tinted frame around its servers.
    Frame,
    /// A server's card, with its software in rows.
    Server,
    /// A small round node.
    Router,
    /// The Internet.
    Internet,
    /// Software, a row in its server's card.
    Chip,
    /// A card for any other resource.
    Card,
}

impl NodeKind {
    /// Layer of the node: parents are below their children.
    pub(crate) fn layer(self) -> u8 {
        match self {
            NodeKind::Frame => 0,
            NodeKind::Chip => 2,
            _ => 1,
        }
    }
}

/// A tag on a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Name of the resource.
    pub name: String,
    /// Resource type.
    pub resource_type: String,
    /// Title of the type, for users.
    pub title: String,
    /// Category, which decides the hue.
    pub category: Category,
    /// Text of the tag, such as a subnet's CIDR.
    pub label: String,
    /// Reason, if a pass adds the resource.
    pub ghost: Option<String>,
    /// Condition, if it is false.
    pub off: Option<String>,
}

/// A resource within a group or a nested template.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Full name, such as `group/0` or `web/server`.
    pub name: String,
    /// Resource type.
    pub resource_type: String,
    /// Title of the type, for users.
    pub title: String,
    /// Category, which decides the hue.
    pub category: Category,
}

/// A node on the canvas.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name of the resource, or [`INTERNET`].
    pub name: String,
    /// Kind of node.
    pub kind: NodeKind,
    /// Resource type. Empty for the Internet.
    pub resource_type: String,
    /// Title of the type, for users.
    pub title: String,
    /// Category, which decides the hue.
    pub category: Category,
    /// Node that contains this one.
    pub parent: Option<String>,
    /// Important values: image and flavor, a port, external networks.
    pub detail: Vec<String>,
    /// Tags, in the order of the text.
    pub parts: Vec<Part>,
    /// Marks: public, bastion.
    pub marks: Marks,
    /// Number of members, for a group, a nested template or a folded frame.
    pub members: Option<usize>,
    /// Contents at any depth, if a plan has them.
    pub inside: Vec<Member>,
    /// Condition, if it is false and the node is not deployed.
    pub off: Option<String>,
    /// Reason, if a pass adds the resource.
    pub ghost: Option<String>,
    /// True for a folded frame, which is a card.
    pub is_folded: bool,
    /// Position and size.
    pub rect: Rect,
}

impl Node {
    /// True for a ghost of a resource that an older version has. Nothing can be done with it.
    pub fn is_removed(&self) -> bool {
        self.ghost.as_deref() == Some(REMOVED)
    }

    /// True if the position is stored. A chip is in a row of its server, and ghosts are placed in each drawing.
    pub fn has_place(&self) -> bool {
        self.kind != NodeKind::Chip && self.ghost.is_none()
    }

    /// True for a network, folded or not.
    pub fn is_network(&self) -> bool {
        self.kind == NodeKind::Frame || self.is_folded
    }
}

/// Meaning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// An additional network of a server.
    Interface,
    /// A router's interface in a network.
    RouterInterface,
    /// A router's external gateway.
    Gateway,
    /// A component that uses another one.
    Relation,
    /// Any other reference.
    Reference,
    /// `depends_on`.
    Order,
}

/// A line between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Id, unique in the drawing.
    pub id: String,
    /// Name of the first node.
    pub from: String,
    /// Name of the second node.
    pub to: String,
    /// Meaning.
    pub kind: EdgeKind,
    /// Label, such as the requirement's name.
    pub label: String,
    /// Resource that the line represents, if it has a separate one.
    pub resource: Option<String>,
    /// True if a pass adds the line.
    pub ghost: bool,
}

impl Edge {
    /// Name of the second node, for users.
    pub fn end_name(&self) -> &str {
        match self.to.as_str() {
            INTERNET => "the Internet",
            name => name,
        }
    }
}
