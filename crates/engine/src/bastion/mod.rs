//! The bastion: its server, the security group that protects it, and our own source address.
//!
//! - [`Bastion`]: the facts, from the deployment's resources. Pure, except for the query of the kernel for our address.
//! - [`route`]: the connection path to a server, through the bastion. Pure.
//! - [`Rule`]: the rule that lets our address in, for as long as it has a user.

mod route;
mod rule;

pub(crate) use route::{key_pair, route};
pub(crate) use rule::{Rule, RuleUser, Users};

use std::net::{IpAddr, SocketAddr, UdpSocket};

use hot::expr::{Expr, Scope};
use planner::workflow::Origin;
use serde_json::Value;

use crate::resources::{Addresses, ResourceTable};

/// The facts that opening and closing a bastion need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bastion {
    /// The server's resource name.
    pub server: String,
    /// The server's public address.
    pub address: Option<String>,
    /// The cloud's id of the security group that gets the rule.
    pub group: Option<String>,
}

/// The place where SSH enters a deployment's network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrance {
    /// The bastion's resource name.
    pub server: String,
    /// The bastion's public address.
    pub address: String,
    /// The cloud's id of the security group that gets the rule.
    pub group: String,
    /// Our own address, which the rule lets in.
    pub from: IpAddr,
}

const GROUP: &str = "OS::Neutron::SecurityGroup";

impl Bastion {
    /// The bastion of a deployment: the step's resource, or else the marked server.
    pub fn of(known: &ResourceTable, scope: &dyn Scope, named: Option<&str>) -> Option<Bastion> {
        let entries = known.all();
        let is_server = |name: &&str| {
            entries
                .get(*name)
                .is_some_and(|entry| entry.spec.resource_type == "OS::Nova::Server")
        };
        let marked = || {
            entries
                .iter()
                .find(|(_, entry)| entry.spec.marks.bastion)
                .map(|(name, _)| name.as_str())
        };
        let server = named.filter(is_server).or_else(marked)?.to_owned();

        // The group that a pass created for this server; else the first group in the properties of its ports or of the
        // server.
        let derived = entries.iter().find(|(name, entry)| {
            let serves = matches!(&entry.spec.origin, Origin::Derived { serves: Some(serves), .. } if *serves == server);
            entry.spec.resource_type == GROUP && (serves || **name == format!("{server}_access"))
        });
        let group = derived
            .and_then(|(_, entry)| id(entry.reference.as_ref()?))
            .or_else(|| {
                let server = entries.get(&server)?;
                let networks = server
                    .spec
                    .properties
                    .get("networks")?
                    .resolve(scope)
                    .ok()?;
                let ports: Vec<&Value> = networks
                    .as_array()?
                    .iter()
                    .filter_map(|network| network.get("port"))
                    .collect();
                let port = entries.values().find(|entry| {
                    entry
                        .reference
                        .as_ref()
                        .is_some_and(|id| ports.contains(&id))
                });
                let of_port = port.and_then(|port| port.spec.properties.get("security_groups"));
                let groups: &Expr =
                    of_port.or_else(|| server.spec.properties.get("security_groups"))?;
                id(groups.resolve(scope).ok()?.as_array()?.first()?)
            });
        // A bastion with a port in the external network itself has no other address.
        let addresses = Addresses::of(known, scope, &server);
        let address = addresses.best().map(str::to_owned);
        Some(Bastion {
            server,
            address,
            group,
        })
    }

    /// The facts for opening it. Our own address is the one in the settings, else the detected one.
    ///
    /// # Errors
    /// If it has no address or no group, or our address cannot be detected. The text is for users.
    pub fn entrance(&self, configured: Option<IpAddr>) -> Result<Entrance, String> {
        let server = &self.server;
        let group = self.group.clone();
        let group =
            group.ok_or_else(|| format!("the bastion `{server}` has no security group to open"))?;
        let address = self.address.clone();
        let address =
            address.ok_or_else(|| format!("the bastion `{server}` has no public address"))?;
        let from = match configured {
            Some(from) => from,
            None => address_towards(&address).map_err(|error| {
                format!("from which address {address} is reached cannot be detected ({error}); set STACKLOOM_ORCHESTRATOR_ADDRESS")
            })?,
        };
        Ok(Entrance {
            server: server.clone(),
            address,
            group,
            from,
        })
    }
}

fn id(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The source address of packets from this machine to `bastion`.
///
/// It comes from this machine's routing table; no packet is sent. Behind NAT it is the wrong address, so there is a
/// setting for it.
fn address_towards(bastion: &str) -> std::io::Result<IpAddr> {
    let to: IpAddr = bastion.parse().map_err(std::io::Error::other)?;
    let any: SocketAddr = if to.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        ([0u16; 8], 0).into()
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect((to, 22))?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_address_towards_localhost_is_localhost() {
        assert_eq!(
            address_towards("127.0.0.1").unwrap(),
            IpAddr::from([127, 0, 0, 1])
        );
        assert!(address_towards("nowhere").is_err());
    }
}
