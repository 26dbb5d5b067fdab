//! Connects servers that are public, or that install software, to an external network. So are servers whose signals are
//! fetched over SSH, if they are in another network than the bastion.
//!
//! Each of their drawn networks without a route to an external network gets an interface of a router with a gateway: a
//! drawn router if there is one, otherwise a new one. The routers of existing networks are not changed.

use super::*;
use crate::range;
use ipnet::IpNet;
use types::{ROUTER, ROUTER_INTERFACE};

const NAME: &str = "router";

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let bastion = the_bastion(model, &ssh_hosts(model, context)).map(str::to_owned);
    let mut hosts = software_hosts(model, context);
    hosts.extend(far_signalling_servers(model, bastion.as_deref()));
    let mut servers = public_servers(model);
    servers.extend(bastion);
    servers.extend(hosts.iter().cloned());
    let outside = reachability::servers_in_external_networks(model, context);
    servers.retain(|server| !outside.contains(server));
    let by_network = subnets_by_network(model);
    let (interfaces, through_ports) = interfaces(model);
    let mut done: BTreeSet<String> = BTreeSet::new();
    for server in servers {
        let Some(spec) = model.get(&server) else {
            continue;
        };
        let ports: Vec<String> = ports_of(spec).map(str::to_owned).collect();
        // One connected network is enough, except for software: its server is reached in its first network.
        let reachability = reachability::Reachability::of(model);
        let mut networks = reachability::networks_of(model, &server)
            .into_iter()
            .flatten();
        let has_way = !hosts.contains(&server)
            && networks.any(|one| reachability.gateway_network(model, &one).is_some());
        for port in ports {
            let subnets = subnets_of_port(model, &port, &by_network);
            let network = model
                .get(&port)
                .and_then(|spec| target(spec.properties.get("network")?))
                .map(str::to_owned);
            // IPv4 subnets come first, because floating IPs are IPv4.
            let of_v4 = |subnet: &&String| !model.get(subnet).is_some_and(reachability::is_v6);
            let Some(subnet) = subnets.iter().find(of_v4).or_else(|| subnets.first()) else {
                continue;
            };
            if !done.insert(network.clone().unwrap_or_else(|| subnet.clone())) {
                continue;
            }
            let served = subnets.iter().find_map(|subnet| interfaces.get(subnet));
            let by_port = network.is_some_and(|network| through_ports.contains(&network));
            match served {
                Some(router) => diagnostics.extend(with_gateway(model, context, router)),
                None if by_port || has_way => {}
                None => {
                    let range = model.get(subnet).and_then(range::of_subnet);
                    let (router, found) = router_with_gateway(model, context, &server, range);
                    diagnostics.extend(found);
                    let Some(router) = router else {
                        return diagnostics;
                    };
                    model.derive(
                        &format!("{subnet}_interface"),
                        Derived {
                            pass: NAME,
                            resource_type: ROUTER_INTERFACE,
                            why: format!("`{server}` needs an external network"),
                            serves: Some(subnet),
                            properties: vec![
                                ("router", Expr::reference(router)),
                                ("subnet", Expr::reference(subnet)),
                            ],
                        },
                    );
                }
            }
        }
    }
    diagnostics
}

/// Servers whose signals are fetched over SSH and whose first network is none of the bastion's.
fn far_signalling_servers(model: &Model, bastion: Option<&str>) -> Vec<String> {
    let Some(bastion) = bastion else {
        return Vec::new();
    };
    let near = reachability::networks_of(model, bastion);
    let is_far = |server: &&str| {
        let networks = reachability::networks_of(model, server);
        networks.first().is_some_and(|first| !near.contains(first))
    };
    let far = signalling_servers(model).filter(is_far);
    far.map(str::to_owned).collect()
}

/// Routers by subnet, and networks with a router port.
fn interfaces(model: &Model) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let (mut by_subnet, mut through_ports) = (BTreeMap::new(), BTreeSet::new());
    for (_, spec) in model.of_type(ROUTER_INTERFACE) {
        let of = |property: &str| spec.properties.get(property).and_then(target);
        if let (Some(router), Some(subnet)) = (of("router"), of("subnet")) {
            by_subnet.insert(subnet.to_owned(), router.to_owned());
        } else if let Some(subnet) = of("subnet") {
            // The external network of an existing router is unknown.
            by_subnet.insert(subnet.to_owned(), String::new());
        }
        if let Some(network) =
            of("port").and_then(|port| target(model.get(port)?.properties.get("network")?))
        {
            through_ports.insert(network.to_owned());
        }
    }
    (by_subnet, through_ports)
}

/// CIDRs of the subnets of each router.
fn ranges_by_router(model: &Model) -> BTreeMap<String, Vec<IpNet>> {
    let mut ranges: BTreeMap<String, Vec<IpNet>> = BTreeMap::new();
    for (_, spec) in model.of_type(ROUTER_INTERFACE) {
        let of = |property: &str| spec.properties.get(property).and_then(target);
        let range = of("subnet").and_then(|subnet| range::of_subnet(model.get(subnet)?));
        if let (Some(router), Some(range)) = (of("router"), range) {
            ranges.entry(router.to_owned()).or_default().push(range);
        }
    }
    ranges
}

/// Adds a gateway to a drawn router without one.
fn with_gateway(model: &mut Model, context: &PassContext<'_>, router: &str) -> Vec<Diagnostic> {
    let needs_one = model.get(router).is_some_and(|spec| {
        spec.resource_type == ROUTER && !spec.properties.contains_key("external_gateway_info")
    }) && reachability::outside_of(model, router).is_none();
    if !needs_one {
        return Vec::new();
    }
    let (network, mut diagnostics) = external_network(model, context, router);
    if let (Some(network), Some(spec)) = (network, model.get_mut(router)) {
        spec.properties.insert(
            "external_gateway_info".to_owned(),
            map([("network", network)]),
        );
        let message =
            format!("`{router}` gets an external gateway, because servers behind it need one");
        diagnostics.push(Diagnostic::info(
            "gateway-added",
            format!("resources.{router}"),
            message,
        ));
    }
    diagnostics
}

fn router_with_gateway(
    model: &mut Model,
    context: &PassContext<'_>,
    server: &str,
    range: Option<IpNet>,
) -> (Option<String>, Vec<Diagnostic>) {
    // A router in a network with an overlapping range cannot be in this network too.
    let ranges = ranges_by_router(model);
    let is_free = |router: &str| {
        let there = ranges.get(router).map(Vec::as_slice).unwrap_or_default();
        !range.is_some_and(|range| there.iter().any(|one| range::overlap(one, &range)))
    };
    let routers: Vec<(String, bool)> = model
        .of_type(ROUTER)
        .filter(|(name, _)| is_free(name))
        .map(|(name, spec)| {
            let leads = spec.properties.contains_key("external_gateway_info")
                || reachability::outside_of(model, name).is_some();
            (name.to_owned(), leads)
        })
        .collect();
    if let Some((router, _)) = routers.iter().find(|(_, gateway)| *gateway) {
        return (Some(router.clone()), Vec::new());
    }
    if let Some((router, _)) = routers.first() {
        let diagnostics = with_gateway(model, context, router);
        return (Some(router.clone()), diagnostics);
    }
    let (network, diagnostics) = external_network(model, context, server);
    let Some(network) = network else {
        return (None, diagnostics);
    };
    let router = model.derive(
        "router",
        Derived {
            pass: NAME,
            resource_type: ROUTER,
            why: format!("`{server}` needs an external network"),
            serves: Some(server),
            properties: vec![("external_gateway_info", map([("network", network)]))],
        },
    );
    (Some(router), diagnostics)
}

/// External network: the one that the template uses elsewhere, otherwise the cloud's.
pub(super) fn external_network(
    model: &Model,
    context: &PassContext<'_>,
    at: &str,
) -> (Option<Expr>, Vec<Diagnostic>) {
    let path = format!("resources.{at}");
    let gateway = model
        .of_type(ROUTER)
        .find_map(|(name, _)| reachability::outside_of(model, name));
    let floating = || {
        model
            .of_type(FLOATING_IP)
            .find_map(|(_, spec)| spec.properties.get("floating_network"))
    };
    if let Some(network) = gateway.or_else(floating) {
        return (Some(network.clone()), Vec::new());
    }
    match context.cloud.external_networks.as_deref() {
        Some([only]) => (Some(Expr::text(&only.name)), Vec::new()),
        Some([first, ..]) => {
            let message = format!(
                "the cloud has several external networks; `{}` is used: draw a router to choose",
                first.name
            );
            (
                Some(Expr::text(&first.name)),
                vec![Diagnostic::warning(
                    "external-network-picked",
                    path,
                    message,
                )],
            )
        }
        Some([]) => {
            let message =
                format!("`{at}` needs an external network, but the cloud offers this project none");
            (
                None,
                vec![Diagnostic::error("external-network-unknown", path, message)],
            )
        }
        None => {
            let message = format!(
                "`{at}` needs an external network, and those of the cloud are not known; draw a router with a gateway"
            );
            (
                None,
                vec![Diagnostic::error("external-network-unknown", path, message)],
            )
        }
    }
}
