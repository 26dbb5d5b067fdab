//! Removes leftovers of an aborted measurement, by their names.

use openstack::network::{Entity, FloatingIp, Network, Port, Router, SecurityGroup, Subnet};
use openstack::{Error, Session};

/// Prefix of the names of our deployments and networks.
pub const OURS: &str = "bench-ours";
/// Prefix of the names of stacks and of Heat's resources.
pub const HEATS: &str = "bench-heat";

/// Removes all resources of the project with these names, and those that depend on them.
pub async fn sweep(session: &Session) -> Result<(), Error> {
    let (compute, network) = (session.compute(), session.network());
    let mut servers = Vec::new();
    for server in compute.server_list(&[]).await? {
        if is_ours(&server.name) {
            gone(compute.server_delete(&server.id).await.map(drop))?;
            servers.push(server.id);
        }
    }
    for id in servers {
        while let Some(server) = session.poller().server(&id).await? {
            if server.status == "DELETED" {
                break;
            }
        }
    }
    let networks = named::<Network>(session).await?;
    let mut ports: Vec<Port> = Vec::new();
    for one in &networks {
        ports.extend(network.list::<Port>(&[("network_id", &one.id)]).await?);
    }
    for address in network.list::<FloatingIp>(&[]).await? {
        let leads_here = ports
            .iter()
            .any(|port| address.port_id.as_ref() == Some(&port.id));
        let is_marked = address
            .description
            .as_deref()
            .is_some_and(|text| text.starts_with("stackloom:"));
        if leads_here || (is_marked && address.port_id.is_none()) {
            gone(network.delete::<FloatingIp>(&address.id).await)?;
        }
    }
    for port in &ports {
        let owner = port.device_owner.as_deref().unwrap_or_default();
        match (owner, port.device_id.as_deref()) {
            ("network:router_interface", Some(router)) => {
                gone(network.router_remove_port(router, &port.id).await)?;
            }
            (owner, _) if owner.starts_with("network:") => {}
            _ => gone(network.delete::<Port>(&port.id).await)?,
        }
    }
    for router in named::<Router>(session).await? {
        gone(network.delete::<Router>(&router.id).await)?;
    }
    for subnet in named::<Subnet>(session).await? {
        gone(network.delete::<Subnet>(&subnet.id).await)?;
    }
    for one in networks {
        gone(network.delete::<Network>(&one.id).await)?;
    }
    for group in named::<SecurityGroup>(session).await? {
        gone(network.delete::<SecurityGroup>(&group.id).await)?;
    }
    for key in compute.key_pair_list().await? {
        if is_ours(&key.name) {
            gone(compute.key_pair_delete(&key.name).await)?;
        }
    }
    Ok(())
}

fn is_ours(name: &str) -> bool {
    [OURS, HEATS].iter().any(|prefix| name.starts_with(prefix))
}

async fn named<E: Entity>(session: &Session) -> Result<Vec<E>, Error> {
    let mut found = session.network().list::<E>(&[]).await?;
    found.retain(|entity| entity.name().is_some_and(is_ours));
    Ok(found)
}

fn gone(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}
