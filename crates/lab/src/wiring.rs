//! The interfaces, routes, name servers, packet filters and address translation that have to exist, as data.
//!
//! The services compute it from the model ([`crate::services`]), the substrate makes it so.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

use crate::kit::ip::Cidr;

/// Everything that has to exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wiring {
    /// Ids of all networks.
    pub networks: BTreeSet<String>,
    /// By server id.
    pub servers: BTreeMap<String, ServerWiring>,
    /// By load balancer id.
    pub balancers: BTreeMap<String, BalancerWiring>,
    /// By router id; only routers with at least one leg.
    pub routers: BTreeMap<String, RouterWiring>,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Neutron network.
    pub network_id: String,
    /// Ethernet address.
    pub mac: String,
    /// Addresses with their prefix lengths.
    pub addresses: Vec<(Ipv4Addr, u8)>,
}

/// A server's side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerWiring {
    /// Interfaces, the first one first.
    pub nics: Vec<Nic>,
    /// Where the default route leads: the gateway of the first subnet that has one.
    pub gateway: Option<Ipv4Addr>,
    /// Further routes.
    pub routes: Vec<HostRoute>,
    /// From the subnets; the lab's own when empty.
    pub name_servers: Vec<Ipv4Addr>,
    /// One filter an interface, in the same order.
    pub filters: Vec<Filter>,
}

/// The filter of an interface. `None` lets everything through.
pub type Filter = Option<FilterRules>;

/// Allowed traffic; all else is dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterRules {
    /// To the server.
    pub ingress: Vec<FilterRule>,
    /// From the server.
    pub egress: Vec<FilterRule>,
}

/// One kind of traffic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilterRule {
    /// By name or number; none for any.
    pub protocol: Option<String>,
    /// Ports, or ICMP type and code.
    pub min: Option<u16>,
    /// See `min`.
    pub max: Option<u16>,
    /// Who is at the other end.
    pub remote: Remote,
}

/// The other end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remote {
    /// Anybody.
    Anyone,
    /// A range.
    Range(String),
    /// The members of a group, at this moment; may be none.
    Members(BTreeSet<Ipv4Addr>),
}

/// A load balancer's side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BalancerWiring {
    /// Its leg in the network of its address. What it listens on is let in, and nothing else.
    pub host: ServerWiring,
    /// HAProxy's.
    pub configuration: String,
}

/// A router's side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouterWiring {
    /// The leg outside.
    pub outside: Option<Outside>,
    /// Legs in projects' networks.
    pub inside: Vec<Nic>,
    /// Further routes.
    pub routes: Vec<HostRoute>,
}

/// A router's leg outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// The interface.
    pub nic: Nic,
    /// Where the outside begins.
    pub gateway: Option<Ipv4Addr>,
    /// Whether what goes out bears the router's address.
    pub snat: bool,
    /// Public address, and the fixed address that it leads to.
    pub floating: Vec<(Ipv4Addr, Ipv4Addr)>,
    /// Single ports of public addresses.
    pub forwards: Vec<Forward>,
}

/// A port of a public address that leads to a port of a fixed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// The public address.
    pub address: Ipv4Addr,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Its port.
    pub port: u16,
    /// The fixed address and port.
    pub to: (Ipv4Addr, u16),
}

/// A route that a subnet's servers get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRoute {
    /// Where to.
    pub destination: Cidr,
    /// By way of.
    pub nexthop: IpAddr,
}
