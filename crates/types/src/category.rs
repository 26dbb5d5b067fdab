//! Where the palette shows a type, and how the canvas draws it.

use serde::{Deserialize, Serialize};

/// Where a type stands in the palette.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Servers and what belongs to them.
    Compute,
    /// Networks, subnets, ports, routers, addresses.
    Network,
    /// Security groups, keys, secrets.
    Security,
    /// Volumes and objects.
    Storage,
    /// What runs on servers.
    Software,
    /// Helpers of the language.
    #[default]
    Orchestration,
}

/// How the canvas draws a resource of a type (see the design of the canvas in `canvas::drawing`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A tinted frame that others stand in: a network.
    Frame,
    /// A card: a server, and all types without a drawing of their own.
    #[default]
    Card,
    /// A small round node: a router.
    Node,
    /// A row inside its host: software.
    Chip,
    /// A pin, line, badge or row of another: ports, subnets, interfaces, addresses, rules, keys.
    Part,
}
