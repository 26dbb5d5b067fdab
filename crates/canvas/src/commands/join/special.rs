//! Pairs that need more than one property: ports and addresses of servers, servers behind load balancers.

use hot::document::Edit;
use serde_json::{Value, json};
use types::Property;

use super::{End, Joined, attach, attached};
use crate::{
    commands::{CommandInput, Refusal, get_resource, property_path, unique_name},
    drawing::{Interface, interfaces, subnets_of},
};

const LOAD_BALANCER: &str = "OS::Octavia::LoadBalancer";
const LISTENER: &str = "OS::Octavia::Listener";
const POOL: &str = "OS::Octavia::Pool";

/// Port number of a pool member or listener, if nothing says more.
const PORT_NUMBER: u64 = 80;

/// The edits for a pair that the descriptions alone cannot join.
pub(super) fn join(
    input: &CommandInput<'_>,
    a: End<'_>,
    b: End<'_>,
) -> Result<Option<Joined>, Refusal> {
    for (server, other) in [(a, b), (b, a)] {
        if server.resource_type != types::SERVER {
            continue;
        }
        match other.resource_type {
            types::PORT => return plug(input, server, other).map(Some),
            types::FLOATING_IP => return address(input, server, other).map(Some),
            types::SECURITY_GROUP => return Ok(protect(input, server, other)),
            LOAD_BALANCER => return balance(input, server, other).map(Some),
            _ => {}
        }
    }
    Ok(None)
}

fn first_interface(input: &CommandInput<'_>, server: End<'_>) -> Option<Interface> {
    interfaces(input.template, server.resource?)
        .into_iter()
        .next()
}

/// Attaches a port to a server. It replaces a plain attachment to the same network.
fn plug(input: &CommandInput<'_>, server: End<'_>, port: End<'_>) -> Result<Joined, Refusal> {
    let own = match server.resource {
        Some(resource) => interfaces(input.template, resource),
        None => Vec::new(),
    };
    if own.iter().any(|one| one.port.as_deref() == Some(port.name)) {
        return Err(Refusal::because(format!(
            "{} has {} already",
            server.name, port.name
        )));
    }
    let network = crate::drawing::frame_of(input.template, port.name);
    let mut edits = Vec::new();
    let replaced = own.iter().find(|one| {
        one.port.is_none() && one.network.is_some() && (network.is_none() || one.network == network)
    });
    if network.is_none()
        && let Some(network) = replaced.and_then(|one| one.network.as_deref())
    {
        edits.push(Edit::Set {
            path: property_path(port.name, &["network"]),
            value: get_resource(network),
        });
    }
    let index = replaced.map_or(own.len(), |one| one.index).to_string();
    let item = json!({ "port": get_resource(port.name) });
    let has_list = server
        .resource
        .is_some_and(|resource| crate::commands::list_length(resource, "networks") > 0);
    edits.push(if has_list {
        Edit::Set {
            path: property_path(server.name, &["networks", &index]),
            value: item,
        }
    } else {
        Edit::Set {
            path: property_path(server.name, &["networks"]),
            value: json!([item]),
        }
    });
    Ok(Joined {
        edits,
        by: "port".to_owned(),
    })
}

/// Leads a floating IP to a server, by its first port. A plain attachment to a network gets a port.
fn address(
    input: &CommandInput<'_>,
    server: End<'_>,
    floating: End<'_>,
) -> Result<Joined, Refusal> {
    let Some(first) = first_interface(input, server) else {
        return Err(Refusal::because(format!(
            "{} is on no network yet. Connect it to one first",
            server.name
        )));
    };
    let mut edits = Vec::new();
    let port = match (first.port, first.network) {
        (Some(port), _) => port,
        (None, Some(network)) => {
            let name = unique_name(input.template, &format!("{}_port", server.name));
            edits.push(Edit::AddResource {
                name: name.clone(),
                resource_type: types::PORT.to_owned(),
                properties: json!({ "network": get_resource(&network) }),
            });
            edits.push(Edit::Set {
                path: property_path(server.name, &["networks", "0"]),
                value: json!({ "port": get_resource(&name) }),
            });
            name
        }
        (None, None) => {
            return Err(Refusal::because(format!(
                "The first network of {} is not drawn. Give the server a port and connect that",
                server.name
            )));
        }
    };
    if floating.refers("port_id", &port) {
        return Err(Refusal::because(format!(
            "{} leads to {} already",
            floating.name, server.name
        )));
    }
    edits.push(Edit::Set {
        path: property_path(floating.name, &["port_id"]),
        value: get_resource(&port),
    });
    Ok(Joined {
        edits,
        by: "floating IP".to_owned(),
    })
}

/// Adds a security group to the server's first port: Nova ignores the groups of a server whose ports are drawn. `None`
/// if the port is not drawn, so that the group goes to the server.
fn protect(input: &CommandInput<'_>, server: End<'_>, group: End<'_>) -> Option<Joined> {
    let port = first_interface(input, server)?.port?;
    let port = input.resource(&port)?;
    if port
        .property("security_groups")
        .is_some_and(|groups| groups.resources().contains(&group.name))
    {
        return None;
    }
    Some(Joined {
        edits: vec![crate::commands::append(
            port,
            "security_groups",
            get_resource(group.name),
        )],
        by: format!("security_groups of {}", port.name),
    })
}

/// Adds a server to a load balancer's pool. A load balancer without a pool gets one, with a listener.
fn balance(
    input: &CommandInput<'_>,
    server: End<'_>,
    balancer: End<'_>,
) -> Result<Joined, Refusal> {
    let mut pools = pools(input, balancer);
    if let Some(done) = pools
        .iter()
        .find(|pool| attached(input, **pool, server).is_some())
    {
        return Err(Refusal::because(format!(
            "{} is a member of {} already",
            server.name, done.name
        )));
    }
    let mut edits = Vec::new();
    let subnet = first_interface(input, server)
        .and_then(|one| one.network)
        .and_then(|network| Some(subnets_of(input.template, &network).next()?.name.clone()));
    if balancer.value("vip_subnet").is_none()
        && let Some(subnet) = subnet
    {
        edits.push(Edit::Set {
            path: property_path(balancer.name, &["vip_subnet"]),
            value: get_resource(&subnet),
        });
    }
    let pool_name = unique_name(input.template, &format!("{}_pool", balancer.name));
    if pools.is_empty() {
        let listener = unique_name(input.template, &format!("{}_listener", balancer.name));
        edits.push(Edit::AddResource {
            name: listener.clone(),
            resource_type: LISTENER.to_owned(),
            properties: json!({
                "loadbalancer": get_resource(balancer.name),
                "protocol": "HTTP",
                "protocol_port": PORT_NUMBER,
            }),
        });
        edits.push(Edit::AddResource {
            name: pool_name.clone(),
            resource_type: POOL.to_owned(),
            properties: json!({
                "listener": get_resource(&listener),
                "lb_algorithm": "ROUND_ROBIN",
                "protocol": "HTTP",
            }),
        });
        pools.push(End {
            name: &pool_name,
            resource_type: POOL,
            resource: None,
        });
    }
    let member = attach(input, pools[0], server)?;
    edits.extend(member.into_iter().flat_map(|joined| joined.edits));
    Ok(Joined {
        edits,
        by: "pool member".to_owned(),
    })
}

/// Pools of a load balancer, directly or by a listener.
fn pools<'a>(input: &CommandInput<'a>, balancer: End<'_>) -> Vec<End<'a>> {
    let direct = super::parts(input, balancer);
    let of_listeners = direct
        .iter()
        .filter(|part| part.resource_type == LISTENER)
        .flat_map(|listener| super::parts(input, *listener));
    let of_listeners: Vec<End<'a>> = of_listeners.collect();
    direct
        .into_iter()
        .chain(of_listeners)
        .filter(|part| part.resource_type == POOL)
        .collect()
}

/// A usual value of a required property of an attachment: the port number of software on the server.
pub(super) fn usual(
    input: &CommandInput<'_>,
    property: &Property,
    ends: [End<'_>; 2],
) -> Option<Value> {
    if property.name != "protocol_port" {
        return None;
    }
    let server = ends.iter().find(|end| end.resource_type == types::SERVER)?;
    let listening = input.drawing.children(server.name).find_map(|row| {
        let port = row.detail.iter().find_map(|word| word.strip_prefix(':'))?;
        port.parse::<u64>().ok()
    });
    Some(json!(listening.unwrap_or(PORT_NUMBER)))
}
