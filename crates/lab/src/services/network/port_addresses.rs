//! Allocation of addresses to ports.
//!
//! In a subnet with automatic addresses (`Subnet::is_automatic`) every port of the network except router interfaces has
//! one, which cannot be chosen.

use std::net::IpAddr;

use serde_json::Value;

use crate::kit::ip::{eui64, next_free};
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::network::body::bare;
use crate::services::network::port::{AllocationRequest, FixedIp, ROUTER_INTERFACE, address_key};
use crate::services::network::subnet::Subnet;

fn exhausted(network_id: &str) -> Refusal {
    Refusal::conflict(
        "IpAddressGenerationFailure",
        format!("No more IP addresses available on network {network_id}."),
    )
}

impl Model {
    /// Allocates addresses on a network: the requested ones (`[{subnet_id?, ip_address?}]`), else one of each family
    /// from the first subnet with free addresses. Ports other than router interfaces also get an address of each
    /// automatic subnet.
    pub fn allocate(
        &mut self,
        network_id: &str,
        wanted: Option<Value>,
        allocation: AllocationRequest<'_>,
    ) -> Result<Vec<FixedIp>, Refusal> {
        let network = self.networks.get(network_id);
        let ids: Vec<String> = network.map(|row| row.subnets.clone()).unwrap_or_default();
        let mut given = match wanted {
            None => self.usual_addresses(network_id, &ids)?,
            Some(Value::Array(wanted)) => {
                self.wanted_addresses(network_id, &ids, &wanted, allocation)?
            }
            Some(other) => {
                return Err(Refusal::invalid_input(
                    "fixed_ips",
                    format!("Invalid data format for fixed IP: '{}'", bare(&other)),
                ));
            }
        };
        if allocation.device_owner != ROUTER_INTERFACE {
            let subnets = ids.iter().filter_map(|id| self.subnets.get(id));
            let automatic = subnets.filter(|subnet| subnet.is_automatic());
            given.extend(automatic.map(|subnet| FixedIp {
                subnet_id: subnet.id.clone(),
                ip_address: eui64(&subnet.cidr, allocation.mac),
            }));
        }
        Ok(given)
    }

    /// An address of each IP version with a subnet that allocates addresses.
    fn usual_addresses(
        &mut self,
        network_id: &str,
        subnets: &[String],
    ) -> Result<Vec<FixedIp>, Refusal> {
        let mut given = Vec::new();
        for version in [4, 6] {
            let hands_out = |id: &&String| {
                let subnet = self.subnets.get(id);
                subnet.is_some_and(|one| one.ip_version == version && !one.is_automatic())
            };
            let subnets: Vec<&String> = subnets.iter().filter(hands_out).collect();
            if subnets.is_empty() {
                continue;
            }
            let found = subnets.into_iter().find_map(|subnet_id| {
                let ip_address = self.next_address(subnet_id, &[])?;
                Some(FixedIp {
                    subnet_id: subnet_id.clone(),
                    ip_address,
                })
            });
            given.push(found.ok_or_else(|| exhausted(network_id))?);
        }
        Ok(given)
    }

    fn wanted_addresses(
        &mut self,
        network_id: &str,
        subnets: &[String],
        wanted: &[Value],
        allocation: AllocationRequest<'_>,
    ) -> Result<Vec<FixedIp>, Refusal> {
        let is_leg = allocation.device_owner == ROUTER_INTERFACE;
        let mut given: Vec<FixedIp> = Vec::new();
        for entry in wanted {
            let (subnet_id, address) = self.wanted_address(network_id, subnets, entry)?;
            let subnet_id = subnet_id.ok_or_else(|| exhausted(network_id))?;
            let subnet = self.subnets.get(&subnet_id);
            let is_automatic = subnet.is_some_and(Subnet::is_automatic) && !is_leg;
            let so_far: Vec<IpAddr> = given.iter().map(|ip| ip.ip_address).collect();
            let mine =
                |address: IpAddr| allocation.current.iter().any(|ip| ip.ip_address == address);
            let ip_address = match address {
                // The port's automatic address is added later.
                None if is_automatic => continue,
                Some(address) if is_automatic && mine(address) => continue,
                Some(address) if is_automatic => {
                    return Err(Refusal::new(
                        400,
                        "AllocationOnAutoAddressSubnet",
                        format!(
                            "IPv6 address {address} cannot be directly assigned to a port on subnet {subnet_id} as the subnet is configured \
                             for automatic addresses"
                        ),
                    ));
                }
                None => self
                    .next_address(&subnet_id, &so_far)
                    .ok_or_else(|| exhausted(network_id))?,
                Some(address) => {
                    let is_theirs =
                        self.ports.has(&address_key(&subnet_id, address)) && !mine(address);
                    if is_theirs || so_far.contains(&address) {
                        return Err(Refusal::conflict(
                            "IpAddressAlreadyAllocated",
                            format!("IP address {address} already allocated in subnet {subnet_id}"),
                        ));
                    }
                    address
                }
            };
            given.push(FixedIp {
                subnet_id,
                ip_address,
            });
        }
        Ok(given)
    }

    /// Adds addresses of a new automatic subnet to the existing ports.
    pub fn add_automatic_addresses(&mut self, subnet_id: &str) {
        let Some(subnet) = self.subnets.get(subnet_id) else {
            return;
        };
        let (cidr, network) = (subnet.cidr, format!("network:{}", subnet.network_id));
        let ports = self.ports.having(&network);
        let ports = ports.filter(|port| port.device_owner != ROUTER_INTERFACE);
        let ids: Vec<String> = ports.map(|port| port.id.clone()).collect();
        for id in ids {
            self.ports.change(&id, |port| {
                port.fixed_ips.push(FixedIp {
                    subnet_id: subnet_id.to_owned(),
                    ip_address: eui64(&cidr, &port.mac_address),
                });
                port.common.mark_updated();
            });
        }
    }

    /// Removes the addresses of an automatic subnet that is deleted.
    pub fn remove_automatic_addresses(&mut self, subnet_id: &str) {
        let ports = self.ports.having(&format!("subnet:{subnet_id}"));
        let ids: Vec<String> = ports.map(|port| port.id.clone()).collect();
        for id in ids {
            self.ports.change(&id, |port| {
                port.fixed_ips.retain(|ip| ip.subnet_id != subnet_id);
                port.common.mark_updated();
            });
        }
    }

    /// The subnet and address of one entry of `fixed_ips`. No subnet if the network has none. The address must be in
    /// the subnet.
    fn wanted_address(
        &self,
        network_id: &str,
        subnets: &[String],
        entry: &Value,
    ) -> Result<(Option<String>, Option<IpAddr>), Refusal> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let address: Option<IpAddr> = match text("ip_address") {
            None => None,
            Some(address) => Some(address.parse().map_err(|_| {
                Refusal::invalid_input(
                    "fixed_ips",
                    format!("'{address}' is not a valid IP address"),
                )
            })?),
        };
        let has = |id: &String, address: IpAddr| {
            let subnet = self.subnets.get(id);
            subnet.is_some_and(|subnet| subnet.cidr.has_host(address))
        };
        let invalid = |kind: &'static str, sentence: String| Refusal::new(400, kind, sentence);
        let subnet = match (text("subnet_id"), address) {
            (Some(id), _) if self.subnets.get(id).is_none() => {
                return Err(crate::services::network::subnet::SUBNET.not_found(id));
            }
            (Some(id), _) => Some(subnets.iter().find(|subnet| *subnet == id).ok_or_else(|| {
                invalid(
                    "InvalidInput",
                    format!("Invalid input for operation: Failed to create port on network {network_id}, because fixed_ips included invalid subnet {id}."),
                )
            })?),
            (None, Some(address)) => Some(subnets.iter().find(|id| has(id, address)).ok_or_else(|| {
                invalid(
                    "InvalidIpForNetwork",
                    format!("IP address {address} is not a valid IP for any of the subnets on the specified network."),
                )
            })?),
            (None, None) => {
                return Err(invalid(
                    "InvalidInput",
                    "Invalid input for operation: IP allocation requires subnet_id or ip_address.".into(),
                ));
            }
        };
        match (subnet, address) {
            (Some(subnet), Some(address)) if !has(subnet, address) => Err(invalid(
                "InvalidIpForSubnet",
                format!("IP address {address} is not a valid IP for the specified subnet."),
            )),
            (subnet, address) => Ok((subnet.cloned(), address)),
        }
    }

    /// Moves the start of the search for free addresses back to released ones.
    pub(crate) fn mark_released(&mut self, addresses: &[FixedIp]) {
        for ip in addresses {
            if let Some(from) = self.free_from.get_mut(&ip.subnet_id) {
                *from = ip.ip_address.min(*from);
            }
        }
    }

    /// The lowest free address of a subnet that is not in `given`.
    fn next_address(&mut self, subnet_id: &str, given: &[IpAddr]) -> Option<IpAddr> {
        let subnet = self.subnets.get(subnet_id)?;
        let from = self.free_from.get(subnet_id).copied();
        let taken = |address: IpAddr| {
            given.contains(&address) || self.ports.has(&address_key(subnet_id, address))
        };
        let pools = &subnet.allocation_pools;
        // The hint requires pools in ascending order. For others, a second search covers the skipped addresses.
        let found = next_free(pools, from, taken).or_else(|| next_free(pools, None, taken))?;
        if given.is_empty() {
            self.free_from.insert(subnet_id.to_owned(), found);
        }
        Some(found)
    }
}
