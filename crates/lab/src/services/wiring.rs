//! The wiring of a model: the required interfaces, routes, name servers, packet filters and address translation.
//!
//! IPv4 only: IPv6 subnets, addresses, routes and rules are data without wiring.
//!
//! A pure function of the model. The substrate compares its result with the current state and applies the differences,
//! so the type of the change does not matter: a rule, a member of a group, a floating IP.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use crate::kit::ip;
use crate::kit::ip::Cidr;
use crate::kit::record::Attributes;
use crate::services::Model;
use crate::services::load_balancer::haproxy::{configuration, enabled_children};
use crate::services::load_balancer::{ProvisioningStatus, Resource, ResourceType};
use crate::services::network::port::{Port, ROUTER_GATEWAY, ROUTER_INTERFACE};
use crate::services::network::security_group_rule::{Direction, EtherType, SecurityGroupRule};
use crate::wiring::{
    BalancerWiring, Filter, FilterRule, FilterRules, Gateway, HostRoute, Interface, PortForward,
    Remote, RouterWiring, ServerWiring, Wiring,
};

/// The wiring of this model.
pub fn wiring(model: &Model) -> Wiring {
    let members = members(model);
    let mut wiring = Wiring {
        networks: model
            .networks
            .iter()
            .map(|network| network.id.clone())
            .collect(),
        ..Wiring::default()
    };
    for server in model.servers.iter() {
        let ports: Vec<&Port> = server
            .ports
            .iter()
            .filter_map(|id| model.ports.get(id))
            .collect();
        wiring
            .servers
            .insert(server.id.clone(), server_wiring(model, &members, &ports));
    }
    for balancer in model.children_of("", ResourceType::LoadBalancer) {
        if let Some(wired) = balancer_wiring(model, &members, balancer) {
            wiring.balancers.insert(balancer.id.clone(), wired);
        }
    }
    for router in model.routers.iter() {
        let legs = |owner: &'static str| {
            let ports = model.ports.having(&format!("device:{}", router.id));
            ports.filter(move |port| port.device_owner == owner)
        };
        let inside: Vec<Interface> = legs(ROUTER_INTERFACE)
            .map(|port| nic(model, port))
            .collect();
        let outside = legs(ROUTER_GATEWAY).next().map(|port| Gateway {
            nic: nic(model, port),
            gateway: first_subnet(model, port).and_then(|subnet| ip::v4(subnet.gateway_ip?)),
            snat: router
                .external_gateway_info
                .as_ref()
                .is_some_and(|gateway| gateway.enable_snat),
            floating: model
                .floating_ips
                .having(&format!("router:{}", router.id))
                .filter_map(|row| Some((row.floating_ip_address, row.fixed_ip_address?)))
                .collect(),
            forwards: forwards(model, &router.id),
        });
        if outside.is_some() || !inside.is_empty() {
            wiring.routers.insert(
                router.id.clone(),
                RouterWiring {
                    outside,
                    inside,
                    routes: of_v4(&router.routes).collect(),
                },
            );
        }
    }
    wiring
}

/// The port forwardings of a router. Protocols other than TCP and UDP are stored without effect.
fn forwards(model: &Model, router: &str) -> Vec<PortForward> {
    let rows = model.floating_ips.having(&format!("router:{router}"));
    rows.flat_map(|row| row.port_forwardings.iter().map(move |one| (row, one)))
        .filter(|(_, one)| ["tcp", "udp"].contains(&one.protocol.as_str()))
        .map(|(row, one)| PortForward {
            address: row.floating_ip_address,
            protocol: one.protocol.clone(),
            port: one.external_port,
            to: (one.internal_ip_address, one.internal_port),
        })
        .collect()
}

/// The fixed addresses of each security group's members.
fn members(model: &Model) -> BTreeMap<&str, BTreeSet<Ipv4Addr>> {
    let mut members: BTreeMap<&str, BTreeSet<Ipv4Addr>> = BTreeMap::new();
    for port in model.ports.iter() {
        for group in &port.security_groups {
            members
                .entry(group)
                .or_default()
                .extend(port.v4().map(|(_, address)| address));
        }
    }
    members
}

fn server_wiring(
    model: &Model,
    members: &BTreeMap<&str, BTreeSet<Ipv4Addr>>,
    ports: &[&Port],
) -> ServerWiring {
    let subnets = || {
        let addresses = ports.iter().flat_map(|port| &port.fixed_ips);
        addresses.filter_map(|ip| model.subnets.get(&ip.subnet_id))
    };
    let mut name_servers: Vec<Ipv4Addr> = Vec::new();
    let dns_servers = subnets().flat_map(|subnet| &subnet.dns_nameservers);
    for server in dns_servers.filter_map(|server| ip::v4(*server)) {
        if !name_servers.contains(&server) {
            name_servers.push(server);
        }
    }
    ServerWiring {
        nics: ports.iter().map(|port| nic(model, port)).collect(),
        gateway: subnets().find_map(|subnet| ip::v4(subnet.gateway_ip?)),
        routes: subnets()
            .flat_map(|subnet| of_v4(&subnet.host_routes))
            .collect(),
        name_servers,
        filters: ports
            .iter()
            .map(|port| filter(model, members, port))
            .collect(),
    }
}

fn balancer_wiring(
    model: &Model,
    members: &BTreeMap<&str, BTreeSet<Ipv4Addr>>,
    balancer: &Resource,
) -> Option<BalancerWiring> {
    if balancer.status == ProvisioningStatus::PendingDelete {
        return None;
    }
    let port = model.ports.get(balancer.text("vip_port_id"))?;
    let mut host = server_wiring(model, members, &[port]);
    let mut ingress = Vec::new();
    for listener in enabled_children(model, &balancer.id, ResourceType::Listener) {
        let port = listener
            .number("protocol_port")
            .and_then(|port| u16::try_from(port).ok());
        let allowed = listener
            .fields
            .get("allowed_cidrs")
            .and_then(|all| all.as_array());
        let ranges = allowed
            .into_iter()
            .flatten()
            .filter_map(|range| range.as_str());
        let mut remotes: Vec<Remote> = ranges
            .filter_map(|range| range.parse::<Cidr>().ok())
            .map(|range| Remote::Range(range.to_string()))
            .collect();
        if allowed.is_none() {
            remotes.push(Remote::Anyone);
        }
        ingress.extend(remotes.into_iter().map(|remote| FilterRule {
            protocol: Some("tcp".into()),
            min: port,
            max: port,
            remote,
        }));
    }
    let anything = FilterRule {
        protocol: None,
        min: None,
        max: None,
        remote: Remote::Anyone,
    };
    host.filters = vec![Some(FilterRules {
        ingress,
        egress: vec![anything],
    })];
    Some(BalancerWiring {
        host,
        configuration: configuration(model, balancer),
    })
}

fn nic(model: &Model, port: &Port) -> Interface {
    let prefix = |subnet: &str| {
        model
            .subnets
            .get(subnet)
            .map_or(32, |subnet| subnet.cidr.prefix())
    };
    Interface {
        network_id: port.network_id.clone(),
        mac: port.mac_address.clone(),
        addresses: port
            .v4()
            .map(|(ip, address)| (address, prefix(&ip.subnet_id)))
            .collect(),
        pairs: port.v4_pairs(),
    }
}

fn first_subnet<'a>(
    model: &'a Model,
    port: &Port,
) -> Option<&'a crate::services::network::subnet::Subnet> {
    let (ip, _) = port.v4().next()?;
    model.subnets.get(&ip.subnet_id)
}

fn of_v4(routes: &[HostRoute]) -> impl Iterator<Item = HostRoute> {
    let of_v4 = |route: &&HostRoute| route.destination.version() == 4;
    routes.iter().filter(of_v4).cloned()
}

fn filter(model: &Model, members: &BTreeMap<&str, BTreeSet<Ipv4Addr>>, port: &Port) -> Filter {
    if !port.port_security_enabled {
        return None;
    }
    let of = |direction: Direction| {
        let rules = model.security_group_rules.iter().filter(|rule| {
            rule.direction == direction
                && rule.ethertype == EtherType::IPv4
                && port.security_groups.contains(&rule.security_group_id)
        });
        let rules: BTreeSet<FilterRule> = rules.map(|rule| filter_rule(members, rule)).collect();
        rules.into_iter().collect()
    };
    Some(FilterRules {
        ingress: of(Direction::Ingress),
        egress: of(Direction::Egress),
    })
}

fn filter_rule(
    members: &BTreeMap<&str, BTreeSet<Ipv4Addr>>,
    rule: &SecurityGroupRule,
) -> FilterRule {
    let remote = match (&rule.remote_ip_prefix, &rule.remote_group_id) {
        (Some(range), _) if range.prefix() > 0 => Remote::Range(Cidr::to_string(range)),
        (_, Some(group)) => {
            Remote::Members(members.get(group.as_str()).cloned().unwrap_or_default())
        }
        _ => Remote::Anyone,
    };
    FilterRule {
        protocol: rule.protocol.clone(),
        min: rule.port_range_min,
        max: rule.port_range_max,
        remote,
    }
}
