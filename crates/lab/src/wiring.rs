//! The required interfaces, routes, name servers, packet filters and address translation, as data.
//!
//! The services compute them from the model ([`crate::services`]); the substrate applies them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

use crate::kit::ip::Cidr;

/// The required state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wiring {
    /// Ids of all networks.
    pub networks: BTreeSet<String>,
    /// Servers by id.
    pub servers: BTreeMap<String, ServerWiring>,
    /// Load balancers by id.
    pub balancers: BTreeMap<String, BalancerWiring>,
    /// Routers by id, without those that have no interface.
    pub routers: BTreeMap<String, RouterWiring>,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The id of the Neutron network.
    pub network_id: String,
    /// The MAC address.
    pub mac: String,
    /// Addresses with their prefix lengths.
    pub addresses: Vec<(Ipv4Addr, u8)>,
    /// Further addresses and ranges that packets may come from: the port's allowed address pairs.
    pub pairs: Vec<String>,
}

/// The network configuration of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerWiring {
    /// The interfaces in order.
    pub nics: Vec<Interface>,
    /// The default gateway: that of the first subnet with one.
    pub gateway: Option<Ipv4Addr>,
    /// Additional routes.
    pub routes: Vec<HostRoute>,
    /// The name servers of the subnets. If empty, the lab's own are used.
    pub name_servers: Vec<Ipv4Addr>,
    /// One filter per interface, in the same order.
    pub filters: Vec<Filter>,
}

/// The filter of an interface. `None` allows all traffic.
pub type Filter = Option<FilterRules>;

/// Allowed traffic. All other traffic is dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterRules {
    /// Traffic to the server.
    pub ingress: Vec<FilterRule>,
    /// Traffic from the server.
    pub egress: Vec<FilterRule>,
}

/// A rule for allowed traffic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilterRule {
    /// The protocol's name or number. `None` is any protocol.
    pub protocol: Option<String>,
    /// The first port, or the ICMP type.
    pub min: Option<u16>,
    /// The last port, or the ICMP code.
    pub max: Option<u16>,
    /// The remote addresses.
    pub remote: Remote,
}

/// The remote addresses of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remote {
    /// Any address.
    Anyone,
    /// A CIDR range.
    Range(String),
    /// The current member addresses of a security group. Can be empty.
    Members(BTreeSet<Ipv4Addr>),
}

/// The configuration of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BalancerWiring {
    /// Interface of the load balancer in the VIP's network. Only listener ports are allowed.
    pub host: ServerWiring,
    /// The configuration of HAProxy.
    pub configuration: String,
}

/// The network configuration of a router.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouterWiring {
    /// The interface in the external network.
    pub outside: Option<Gateway>,
    /// The interfaces in projects' networks.
    pub inside: Vec<Interface>,
    /// Additional routes.
    pub routes: Vec<HostRoute>,
}

/// A router's interface in the external network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// The interface.
    pub nic: Interface,
    /// The gateway of the external network.
    pub gateway: Option<Ipv4Addr>,
    /// Whether the source address of outgoing packets is translated to the router's.
    pub snat: bool,
    /// Floating IPs with their fixed addresses.
    pub floating: Vec<(Ipv4Addr, Ipv4Addr)>,
    /// Port forwardings of floating IPs.
    pub forwards: Vec<PortForward>,
}

/// A port forwarding from a public to a fixed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortForward {
    /// The public address.
    pub address: Ipv4Addr,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// The public port.
    pub port: u16,
    /// The fixed address and port.
    pub to: (Ipv4Addr, u16),
}

/// An additional route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRoute {
    /// The destination range.
    pub destination: Cidr,
    /// The next hop.
    pub nexthop: IpAddr,
}
