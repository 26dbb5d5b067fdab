//! What must exist before what.
//!
//! References say most of it. The rest is Heat's: things that Neutron needs and no property names,
//! such as the router interface behind a floating IP. All look-ups go through maps that are built
//! once, so a template of thousands of resources is ordered in near-linear time.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::{
    expr::Expr,
    types::{FLOATING_IP, FLOATING_IP_ASSOCIATION, PORT, ROUTER, ROUTER_INTERFACE, SERVER, SUBNET},
};

/// A resource as far as its order goes.
pub(crate) struct Node<'a> {
    pub name: &'a str,
    pub resource_type: &'a str,
    pub properties: Vec<(&'a str, &'a Expr)>,
    pub depends_on: Vec<&'a str>,
}

impl<'a> Node<'a> {
    fn property(&self, name: &str) -> Option<&'a Expr> {
        self.properties
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }

    /// The resource that a property names.
    fn reference(&self, name: &str) -> Option<&'a str> {
        self.property(name).and_then(target)
    }
}

/// The resource that a plain reference names.
pub(crate) fn target(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::GetResource(name) => Some(name),
        _ => None,
    }
}

/// For each node, in the given order, the names of those that must exist before it; no doubles.
/// Names of nothing are left out.
pub(crate) fn requirements<'a>(nodes: &[Node<'a>]) -> Vec<Vec<&'a str>> {
    let known: HashMap<&str, usize> = nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (node.name, index))
        .collect();
    let implicit = Implicit::of(nodes);
    nodes
        .iter()
        .map(|node| {
            let mut seen = HashSet::new();
            let mut names = Vec::new();
            let explicit = node
                .properties
                .iter()
                .flat_map(|(_, value)| value.resources())
                .chain(node.depends_on.iter().copied());
            for name in explicit.chain(implicit.of_node(node, nodes, &known)) {
                if name != node.name && known.contains_key(name) && seen.insert(name) {
                    // The name's own node lives as long as all of them.
                    names.push(nodes[known[name]].name);
                }
            }
            names
        })
        .collect()
}

/// Maps for the rules that no property states.
struct Implicit<'a> {
    /// Network to its subnets.
    subnets: HashMap<&'a str, Vec<&'a str>>,
    /// Subnet to the interfaces in it.
    interfaces: HashMap<&'a str, Vec<&'a str>>,
    /// Outside network (as JSON) to the routers with a gateway in it.
    gateways: HashMap<String, Vec<&'a str>>,
}

impl<'a> Implicit<'a> {
    fn of(nodes: &[Node<'a>]) -> Implicit<'a> {
        let mut implicit = Implicit {
            subnets: HashMap::new(),
            interfaces: HashMap::new(),
            gateways: HashMap::new(),
        };
        for node in nodes {
            match node.resource_type {
                SUBNET => {
                    if let Some(network) = node.reference("network") {
                        implicit.subnets.entry(network).or_default().push(node.name);
                    }
                }
                ROUTER_INTERFACE => {
                    if let Some(subnet) = node.reference("subnet") {
                        implicit
                            .interfaces
                            .entry(subnet)
                            .or_default()
                            .push(node.name);
                    }
                }
                ROUTER => {
                    if let Some(network) = node
                        .property("external_gateway_info")
                        .and_then(|info| info.get("network"))
                    {
                        implicit
                            .gateways
                            .entry(network.to_json().to_string())
                            .or_default()
                            .push(node.name);
                    }
                }
                _ => {}
            }
        }
        implicit
    }

    fn subnets(&self, network: Option<&str>) -> Vec<&'a str> {
        network
            .and_then(|network| self.subnets.get(network))
            .cloned()
            .unwrap_or_default()
    }

    /// Interfaces on the subnets that a port has addresses of.
    fn interfaces_of_port(
        &self,
        port: &str,
        nodes: &[Node<'a>],
        known: &HashMap<&str, usize>,
    ) -> Vec<&'a str> {
        let Some(port) = known.get(port).map(|index| &nodes[*index]) else {
            return Vec::new();
        };
        let mut subnets: Vec<&str> = Vec::new();
        if let Some(Expr::List(addresses)) = port.property("fixed_ips") {
            subnets.extend(
                addresses
                    .iter()
                    .filter_map(|address| address.get("subnet"))
                    .filter_map(target),
            );
        }
        if subnets.is_empty() {
            subnets = self.subnets(port.reference("network"));
        }
        subnets
            .into_iter()
            .filter_map(|subnet| self.interfaces.get(subnet))
            .flatten()
            .copied()
            .collect()
    }

    fn of_node(
        &self,
        node: &Node<'a>,
        nodes: &[Node<'a>],
        known: &HashMap<&str, usize>,
    ) -> Vec<&'a str> {
        match node.resource_type {
            // Without a subnet there is no address to give.
            SERVER => match node.property("networks") {
                Some(Expr::List(networks)) => networks
                    .iter()
                    .flat_map(|entry| {
                        self.subnets(
                            entry
                                .get("network")
                                .or_else(|| entry.get("uuid"))
                                .and_then(target),
                        )
                    })
                    .collect(),
                _ => Vec::new(),
            },
            PORT => self.subnets(node.reference("network")),
            ROUTER => {
                let network = node
                    .property("external_gateway_info")
                    .and_then(|info| info.get("network"));
                self.subnets(network.and_then(target))
            }
            // Neutron refuses a floating IP that no router carries.
            FLOATING_IP => {
                let mut names = Vec::new();
                if let Some(network) = node.property("floating_network") {
                    names.extend(
                        self.gateways
                            .get(&network.to_json().to_string())
                            .into_iter()
                            .flatten()
                            .copied(),
                    );
                }
                if let Some(port) = node.reference("port_id") {
                    names.extend(self.interfaces_of_port(port, nodes, known));
                }
                names
            }
            FLOATING_IP_ASSOCIATION => node
                .reference("port_id")
                .map(|port| self.interfaces_of_port(port, nodes, known))
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// Names in an order in which each comes after all that it requires, else in the given order. The
/// error is one circle, in its order.
pub(crate) fn order<'a>(
    names: &[&'a str],
    requires: &[Vec<&'a str>],
) -> Result<Vec<usize>, Vec<&'a str>> {
    let index: HashMap<&str, usize> = names
        .iter()
        .enumerate()
        .map(|(index, name)| (*name, index))
        .collect();
    let mut waiting: Vec<usize> = vec![0; names.len()];
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
    for (node, required) in requires.iter().enumerate() {
        for name in required {
            if let Some(&on) = index.get(name) {
                waiting[node] += 1;
                dependents[on].push(node);
            }
        }
    }
    let mut ready: VecDeque<usize> = (0..names.len())
        .filter(|node| waiting[*node] == 0)
        .collect();
    let mut order = Vec::with_capacity(names.len());
    while let Some(node) = ready.pop_front() {
        order.push(node);
        for &dependent in &dependents[node] {
            waiting[dependent] -= 1;
            if waiting[dependent] == 0 {
                ready.push_back(dependent);
            }
        }
    }
    if order.len() == names.len() {
        return Ok(order);
    }
    Err(circle(names, requires, &index, &waiting))
}

/// From a node that never became ready, follow one that it waits for until one comes twice.
fn circle<'a>(
    names: &[&'a str],
    requires: &[Vec<&'a str>],
    index: &HashMap<&str, usize>,
    waiting: &[usize],
) -> Vec<&'a str> {
    let mut at = waiting.iter().position(|count| *count > 0).unwrap_or(0);
    let mut path: Vec<usize> = Vec::new();
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    while !seen.contains_key(&at) {
        seen.insert(at, path.len());
        path.push(at);
        let next = requires[at]
            .iter()
            .filter_map(|name| index.get(name))
            .find(|next| waiting[**next] > 0);
        match next {
            Some(next) => at = *next,
            None => break,
        }
    }
    let start = seen.get(&at).copied().unwrap_or(0);
    path[start..].iter().map(|node| names[*node]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_comes_first() {
        let names = ["server", "port", "net"];
        assert_eq!(
            order(&names, &[vec!["port"], vec!["net"], vec![]]),
            Ok(vec![2, 1, 0])
        );
    }

    #[test]
    fn a_circle_is_named_in_its_order() {
        let names = ["z", "a", "b", "c"];
        assert_eq!(
            order(&names, &[vec!["a"], vec!["b"], vec!["c"], vec!["a"]]),
            Err(vec!["a", "b", "c"])
        );
    }
}
