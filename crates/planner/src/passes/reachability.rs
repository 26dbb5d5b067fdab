//! Reachability: a server's networks, the routers in them, and the routers' external networks.
//!
//! A network is identified by its resource, or by the name of an existing network in the cloud. The routers of existing
//! networks are unknown here, so connections through them are assumed to work.

use super::*;
use types::{ROUTER, ROUTER_GATEWAY, ROUTER_INTERFACE};

/// Key of the router that a pass will add if there is none.
const FUTURE_ROUTER: &str = "+";

/// Networks and routers, by their keys.
pub(super) struct Reachability {
    /// Routers by network.
    routers: BTreeMap<String, BTreeSet<String>>,
    /// Router for networks without one.
    default: String,
}

/// Key of a reference or a name. Equal keys identify the same object.
pub(super) fn key(value: &Expr) -> Option<String> {
    match (target(value), value.as_str()) {
        (Some(name), _) => Some(name.to_owned()),
        (None, Some(text)) if !text.is_empty() => Some(format!("={text}")),
        _ => None,
    }
}

impl Reachability {
    pub(super) fn of(model: &Model) -> Reachability {
        let mut routers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let within = |spec: &ResourceSpec| spec.properties.get("network").and_then(key);
        for (_, spec) in model.of_type(ROUTER_INTERFACE) {
            let of = |property: &str| spec.properties.get(property);
            let through = of("subnet").or_else(|| of("port")).and_then(target);
            let network = through.and_then(|name| within(model.get(name)?));
            if let (Some(network), Some(router)) = (network, of("router").and_then(key)) {
                routers.entry(network).or_default().insert(router);
            }
        }
        let drawn = || model.of_type(ROUTER).map(|(name, _)| name);
        let default = drawn()
            .find(|router| outside_of(model, router).is_some())
            .or_else(|| drawn().next())
            .unwrap_or(FUTURE_ROUTER);
        Reachability {
            routers,
            default: default.to_owned(),
        }
    }

    /// Present and future routers in a network. `None` if they are unknown.
    fn routers_in(&self, network: &str) -> Option<BTreeSet<String>> {
        match self.routers.get(network) {
            Some(routers) => Some(routers.clone()),
            None if network.starts_with('=') => None,
            None => Some(BTreeSet::from([self.default.clone()])),
        }
    }

    /// The external network of the router in a network.
    pub(super) fn gateway_network<'m>(&self, model: &'m Model, network: &str) -> Option<&'m Expr> {
        let routers = self.routers.get(network)?;
        routers.iter().find_map(|router| outside_of(model, router))
    }

    /// True if one server reaches the SSH address of the other one, which is its address in its first network.
    pub(super) fn reaches(&self, model: &Model, from: &str, to: &str) -> bool {
        let (from, to) = (networks_of(model, from), networks_of(model, to));
        let Some(Some(to)) = to.first() else {
            return true;
        };
        from.iter().any(|from| {
            let Some(from) = from else { return true };
            from == to
                || match (self.routers_in(from), self.routers_in(to)) {
                    (Some(one), Some(other)) => !one.is_disjoint(&other),
                    _ => true,
                }
        })
    }
}

/// A server's networks, in order. `None` for entries that cannot be evaluated.
pub(super) fn networks_of(model: &Model, server: &str) -> Vec<Option<String>> {
    let Some(spec) = model.get(server) else {
        return Vec::new();
    };
    list(spec, "networks")
        .iter()
        .map(|entry| network_of(model, entry).and_then(key))
        .collect()
}

/// The network of an entry, given directly or by its port.
pub(super) fn network_of<'m>(model: &'m Model, entry: &'m Expr) -> Option<&'m Expr> {
    let port = entry.get("port").and_then(target);
    match port {
        Some(port) => model.get(port)?.properties.get("network"),
        None => entry.get("network").or_else(|| entry.get("uuid")),
    }
}

/// The external network of a router, from its own gateway property or a separate gateway resource.
pub(super) fn outside_of<'m>(model: &'m Model, router: &str) -> Option<&'m Expr> {
    let own = model
        .get(router)
        .filter(|spec| spec.resource_type == ROUTER)
        .and_then(|spec| spec.properties.get("external_gateway_info")?.get("network"));
    own.or_else(|| {
        let mut apart = model.of_type(ROUTER_GATEWAY);
        apart.find_map(|(_, spec)| {
            let of = spec.properties.get("router_id").and_then(target);
            spec.properties
                .get("network")
                .filter(|_| of == Some(router))
        })
    })
}

/// True if the cloud lists the network as external: a server in it needs no router.
fn is_outside(context: &PassContext<'_>, network: &Expr) -> bool {
    let known = context
        .cloud
        .external_networks
        .as_deref()
        .unwrap_or_default();
    let name = network.as_str();
    known
        .iter()
        .any(|one| Some(one.name.as_str()) == name || Some(one.id.as_str()) == name)
}

/// Servers with an address in an external network.
pub(super) fn servers_in_external_networks(
    model: &Model,
    context: &PassContext<'_>,
) -> BTreeSet<String> {
    let is_there = |spec: &ResourceSpec| {
        let mut entries = list(spec, "networks").iter();
        entries.any(|entry| {
            network_of(model, entry).is_some_and(|network| is_outside(context, network))
        })
    };
    model
        .of_type(SERVER)
        .filter(|(_, spec)| is_there(spec))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// True if a subnet is IPv6.
pub(super) fn is_v6(subnet: &ResourceSpec) -> bool {
    let version = subnet.properties.get("ip_version").and_then(Expr::as_data);
    let version = version.and_then(|version| match version {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    });
    let range = subnet.properties.get("cidr").and_then(Expr::as_str);
    version == Some(6) || range.is_some_and(|range| range.contains(':'))
}
