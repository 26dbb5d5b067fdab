//! Category of a type in the palette, and shape on the canvas.

use serde::{Deserialize, Serialize};

/// Category of a type in the palette.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Servers and related resources.
    Compute,
    /// Networks, subnets, ports, routers, floating IPs.
    Network,
    /// Security groups, keys, secrets.
    Security,
    /// Volumes and objects.
    Storage,
    /// Software on servers.
    Software,
    /// Helpers of the template language.
    #[default]
    Orchestration,
}

/// Shape of a resource on the canvas (see `canvas::drawing`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A tinted frame around other resources: a network.
    Frame,
    /// A card: a server, and all types without their own shape.
    #[default]
    Card,
    /// A small round node: a router.
    Node,
    /// A row inside its host: software.
    Chip,
    /// A pin, line, badge or row of another resource: ports, subnets, interfaces, addresses, rules, keys.
    Part,
}
