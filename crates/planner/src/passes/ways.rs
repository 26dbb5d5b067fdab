//! Which way leads from a server: its networks, the routers that stand in them, and where those lead.
//!
//! A network is known by the resource that it is, or by the name under which the cloud has it already; of the latter
//! nobody says here which routers stand in it, so what hangs on them is taken to work.

use super::*;
use types::{ROUTER, ROUTER_GATEWAY, ROUTER_INTERFACE};

/// The router that a pass will make, where there is none.
const TO_COME: &str = "+";

/// Networks and routers, by their keys.
pub(super) struct Ways {
    /// Routers that stand in a network.
    routers: BTreeMap<String, BTreeSet<String>>,
    /// The router that networks without one will be joined to.
    default: String,
}

/// What a reference or a name stands for; two that are equal are the same thing.
pub(super) fn key(value: &Expr) -> Option<String> {
    match (target(value), value.as_str()) {
        (Some(name), _) => Some(name.to_owned()),
        (None, Some(text)) if !text.is_empty() => Some(format!("={text}")),
        _ => None,
    }
}

impl Ways {
    pub(super) fn of(model: &Model) -> Ways {
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
            .unwrap_or(TO_COME);
        Ways {
            routers,
            default: default.to_owned(),
        }
    }

    /// Routers that stand, or will stand, in a network; nothing where that is not known.
    fn routers_in(&self, network: &str) -> Option<BTreeSet<String>> {
        match self.routers.get(network) {
            Some(routers) => Some(routers.clone()),
            None if network.starts_with('=') => None,
            None => Some(BTreeSet::from([self.default.clone()])),
        }
    }

    /// The router in a network that leads outside, with where to.
    pub(super) fn way_outside<'m>(&self, model: &'m Model, network: &str) -> Option<&'m Expr> {
        let routers = self.routers.get(network)?;
        routers.iter().find_map(|router| outside_of(model, router))
    }

    /// Whether one server reaches the address by which another one is logged in to: that in its first network.
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

/// A server's networks, in their order; nothing for those that cannot be read.
pub(super) fn networks_of(model: &Model, server: &str) -> Vec<Option<String>> {
    let Some(spec) = model.get(server) else {
        return Vec::new();
    };
    list(spec, "networks")
        .iter()
        .map(|entry| network_of(model, entry).and_then(key))
        .collect()
}

/// The network of an entry, itself or by its port.
pub(super) fn network_of<'m>(model: &'m Model, entry: &'m Expr) -> Option<&'m Expr> {
    let port = entry.get("port").and_then(target);
    match port {
        Some(port) => model.get(port)?.properties.get("network"),
        None => entry.get("network").or_else(|| entry.get("uuid")),
    }
}

/// Where a router leads outside: by what it says itself, or by a gateway that is drawn on its own.
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

/// Whether the cloud says that a network is one to the outside: who is in it needs no other way.
pub(super) fn is_outside(context: &PassContext<'_>, network: &Expr) -> bool {
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

/// Servers that stand in a network to the outside themselves.
pub(super) fn stand_outside(model: &Model, context: &PassContext<'_>) -> BTreeSet<String> {
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

/// Whether a subnet has addresses of version 6.
pub(super) fn is_v6(subnet: &ResourceSpec) -> bool {
    let version = subnet.properties.get("ip_version").and_then(Expr::as_data);
    let version = version.and_then(|version| match version {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    });
    let range = subnet.properties.get("cidr").and_then(Expr::as_str);
    version == Some(6) || range.is_some_and(|range| range.contains(':'))
}
