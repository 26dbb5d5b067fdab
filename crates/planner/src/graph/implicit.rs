//! Heat's implicit order: dependencies that no property names.
//!
//! | waits | for |
//! | --- | --- |
//! | server | every subnet of its networks; all subnets where an entry names no network (for example a port) |
//! | port | every subnet of its network |
//! | router, router gateway | the subnets of the external network; the gateway also for its router's interfaces |
//! | floating IP | routers and gateways on its network; interfaces on its port's subnets |
//! | association, port forwarding | interfaces on the subnet of their port's first address |
//! | extra routes | interfaces of their router (`ExtraRoute`: its gateway too) |
//! | gateway attachment (AWS) | route tables of the same network |
//!
//! Two values are equal if Heat finds them equal before anything exists: a reference counts as the resource's name, an
//! attribute as unknown. Source: `add_dependencies` of Heat's resources, confirmed by running it.
//!
//! [`Rules::Plan`] adds dependencies required by Neutron: for a port without fixed addresses Heat reads the subnets
//! from the cloud, and finds none while the network does not exist, so it can create a floating IP before the required
//! router interface. It also leaves out dependencies that are unnecessary with our own ports: a server waits for the
//! subnets of its own networks, not for all subnets.

use std::{borrow::Cow, collections::HashMap};

use serde_json::Value;

use super::{Node, Rules, target};
use hot::expr::{Expr, Scope};

/// Values before anything exists: an id is the resource's name, an attribute is unknown.
struct Before;

impl Scope for Before {
    fn parameter(&self, _: &str) -> Option<Value> {
        None
    }
    fn reference(&self, resource: &str) -> Option<Value> {
        Some(resource.into())
    }
    fn attribute(&self, _: &str, _: &str) -> Option<Value> {
        Some(Value::Null)
    }
}

/// Value of a property before anything exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key<'a> {
    /// The property is not given.
    Absent,
    /// The value becomes known only later.
    Unknown,
    Is(Cow<'a, str>),
}

impl<'a> Key<'a> {
    fn of(value: Option<&'a Expr>) -> Key<'a> {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Key::Absent;
        };
        match value {
            Expr::GetResource(name) => Key::Is(Cow::Borrowed(name)),
            Expr::Literal(literal) => match literal.as_str() {
                Some("") => Key::Unknown,
                Some(text) => Key::Is(Cow::Borrowed(text)),
                None => Key::Is(Cow::Owned(literal.to_string())),
            },
            other => match other.resolve(&Before) {
                Ok(Value::String(text)) if !text.is_empty() => Key::Is(Cow::Owned(text)),
                Ok(Value::Null | Value::String(_)) => Key::Unknown,
                Ok(value) => Key::Is(Cow::Owned(value.to_string())),
                Err(_) => Key::Is(Cow::Owned(other.to_json().to_string())),
            },
        }
    }

    /// Treats an unknown value as absent, for pairs of properties of which Heat uses one.
    fn or_absent(self) -> Key<'a> {
        match self {
            Key::Unknown => Key::Absent,
            key => key,
        }
    }

    fn is_known(&self) -> bool {
        matches!(self, Key::Is(_))
    }
}

type Index<'a> = HashMap<Key<'a>, Vec<&'a str>>;

/// Indexes that are built once, so that ordering thousands of resources takes near-linear time.
pub(super) struct Implicit<'a> {
    rules: Rules,
    subnets: Vec<&'a str>,
    /// Subnets by network.
    subnets_of: Index<'a>,
    /// Router interfaces by subnet. Interfaces given by a port are under `Absent`.
    interfaces_on: Index<'a>,
    /// Router interfaces by router.
    interfaces_of: Index<'a>,
    /// Routers and gateways by external network.
    gateways_to: Index<'a>,
    /// Gateways by router.
    gateways_of: Index<'a>,
    /// AWS route tables by network.
    route_tables_of: Index<'a>,
}

impl<'a> Node<'a> {
    /// First value among a property's name and its former names.
    fn key(&self, names: &[&str]) -> Key<'a> {
        let given = names.iter().find_map(|name| self.property(name));
        Key::of(given)
    }

    /// External network of a router.
    fn outside(&self) -> Option<Key<'a>> {
        let info = self.property("external_gateway_info")?;
        matches!(info, Expr::Map(_)).then(|| Key::of(info.get("network")))
    }
}

fn present(resource_type: &str) -> Cow<'_, str> {
    match resource_type.strip_prefix("OS::Quantum::") {
        Some(rest) => Cow::Owned(format!("OS::Neutron::{rest}")),
        None => Cow::Borrowed(resource_type),
    }
}

impl<'a> Implicit<'a> {
    pub(super) fn of(nodes: &[Node<'a>], rules: Rules) -> Implicit<'a> {
        let mut implicit = Implicit {
            rules,
            subnets: Vec::new(),
            subnets_of: Index::new(),
            interfaces_on: Index::new(),
            interfaces_of: Index::new(),
            gateways_to: Index::new(),
            gateways_of: Index::new(),
            route_tables_of: Index::new(),
        };
        for node in nodes {
            match present(node.resource_type).as_ref() {
                types::SUBNET => {
                    put(
                        &mut implicit.subnets_of,
                        node.name,
                        node.key(&["network", "network_id"]),
                    );
                    implicit.subnets.push(node.name);
                }
                types::ROUTER_INTERFACE => {
                    let subnet = node.key(&["subnet", "subnet_id"]).or_absent();
                    put(&mut implicit.interfaces_on, node.name, subnet);
                    put(
                        &mut implicit.interfaces_of,
                        node.name,
                        node.key(&["router", "router_id"]),
                    );
                }
                types::ROUTER => {
                    if let Some(outside) = node.outside() {
                        put(&mut implicit.gateways_to, node.name, outside);
                    }
                }
                types::ROUTER_GATEWAY => {
                    put(
                        &mut implicit.gateways_to,
                        node.name,
                        node.key(&["network", "network_id"]),
                    );
                    put(
                        &mut implicit.gateways_of,
                        node.name,
                        node.key(&["router_id"]),
                    );
                }
                types::AWS_ROUTE_TABLE => {
                    put(
                        &mut implicit.route_tables_of,
                        node.name,
                        node.key(&["VpcId"]),
                    );
                }
                _ => {}
            }
        }
        implicit
    }

    /// Positions of the nodes that `node` waits for, beyond those in `explicit`.
    pub(super) fn of_node(
        &self,
        node: &Node<'a>,
        explicit: &[usize],
        nodes: &[Node<'a>],
        known: &HashMap<&str, usize>,
    ) -> Vec<&'a str> {
        let ports = || {
            explicit
                .iter()
                .map(|index| &nodes[*index])
                .filter(|node| present(node.resource_type) == types::PORT)
        };
        match present(node.resource_type).as_ref() {
            types::SERVER => self.of_server(node, nodes, known),
            types::PORT => get(&self.subnets_of, &node.key(&["network", "network_id"])).to_vec(),
            types::ROUTER => match node.outside() {
                Some(outside) => get(&self.subnets_of, &outside).to_vec(),
                None => Vec::new(),
            },
            types::ROUTER_GATEWAY => [
                get(&self.interfaces_of, &node.key(&["router_id"])),
                get(&self.subnets_of, &node.key(&["network", "network_id"])),
            ]
            .concat(),
            types::FLOATING_IP => {
                let outside = node.key(&["floating_network", "floating_network_id"]);
                let mut names = get(&self.gateways_to, &outside).to_vec();
                for port in ports() {
                    names.extend(self.interfaces_of_port(port, usize::MAX));
                }
                names
            }
            types::FLOATING_IP_ASSOCIATION | types::FLOATING_IP_PORT_FORWARD => ports()
                .flat_map(|port| self.interfaces_of_port(port, 1))
                .collect(),
            types::EXTRA_ROUTE => {
                let router = node.key(&["router_id"]);
                [
                    get(&self.interfaces_of, &router),
                    get(&self.gateways_of, &router),
                ]
                .concat()
            }
            types::EXTRA_ROUTE_SET => get(&self.interfaces_of, &node.key(&["router"])).to_vec(),
            types::AWS_GATEWAY_ATTACHMENT => {
                get(&self.route_tables_of, &node.key(&["VpcId"])).to_vec()
            }
            _ => Vec::new(),
        }
    }

    fn of_server(
        &self,
        server: &Node<'a>,
        nodes: &[Node<'a>],
        known: &HashMap<&str, usize>,
    ) -> Vec<&'a str> {
        let Some(Expr::List(entries)) = server.property("networks") else {
            return Vec::new();
        };
        let mut networks = Vec::with_capacity(entries.len());
        for entry in entries.iter().filter(|entry| matches!(entry, Expr::Map(_))) {
            let derived = |port: &str| known.get(port).is_some_and(|index| nodes[*index].derived);
            if self.rules == Rules::Plan && entry.get("port").and_then(target).is_some_and(derived)
            {
                // The port itself waits for the subnets of its network.
                continue;
            }
            let network = Key::of(entry.get("network").or_else(|| entry.get("uuid")));
            if !network.is_known() {
                return self.subnets.clone();
            }
            networks.push(network);
        }
        if networks.is_empty() {
            return Vec::new();
        }
        networks.extend([Key::Absent, Key::Unknown]);
        networks
            .iter()
            .flat_map(|network| get(&self.subnets_of, network))
            .copied()
            .collect()
    }

    /// Router interfaces on the subnets of a port's first `addresses` addresses.
    fn interfaces_of_port(&self, port: &Node<'a>, addresses: usize) -> Vec<&'a str> {
        let given = match port.property("fixed_ips") {
            Some(Expr::List(given)) => given.as_slice(),
            _ => &[],
        };
        let mut subnets: Vec<Key<'a>> = given
            .iter()
            .take(addresses)
            .map(|address| Key::of(address.get("subnet").or_else(|| address.get("subnet_id"))))
            .map(Key::or_absent)
            .collect();
        // An interface given by a port can be on any subnet.
        if given.is_empty() && addresses > 1 {
            subnets.push(Key::Absent);
        }
        if self.rules == Rules::Plan && !subnets.iter().any(Key::is_known) {
            let network = port.key(&["network", "network_id"]);
            let of_network = get(&self.subnets_of, &network).iter().copied();
            subnets.extend(of_network.map(|subnet| Key::Is(Cow::Borrowed(subnet))));
        }
        subnets
            .iter()
            .flat_map(|subnet| get(&self.interfaces_on, subnet))
            .copied()
            .collect()
    }
}

fn put<'a>(index: &mut Index<'a>, name: &'a str, key: Key<'a>) {
    index.entry(key).or_default().push(name);
}

fn get<'i, 'a>(index: &'i Index<'a>, key: &Key<'a>) -> &'i [&'a str] {
    index.get(key).map(Vec::as_slice).unwrap_or_default()
}
