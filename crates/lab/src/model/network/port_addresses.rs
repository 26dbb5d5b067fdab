//! Addresses of ports: which are free, which are asked for, and which of them a port gets.

use std::net::Ipv4Addr;

use serde_json::Value;

use super::attributes::bare;
use super::ip::next_free;
use super::port::{FixedIp, address_word};
use crate::model::Model;
use crate::model::refusal::Refusal;

impl Model {
    /// Find addresses on a network: those asked for (`[{subnet_id?, ip_address?}]`), else one from the first subnet with
    /// room. `mine` are addresses that the port has already and may keep.
    pub fn allocate(
        &mut self,
        network_id: &str,
        wanted: Option<Value>,
        mine: &[FixedIp],
    ) -> Result<Vec<FixedIp>, Refusal> {
        let network = self.networks.get(network_id);
        let ids: Vec<String> = network.map(|row| row.subnets.clone()).unwrap_or_default();
        let exhausted = || {
            Refusal::conflict(
                "IpAddressGenerationFailure",
                format!("No more IP addresses available on network {network_id}."),
            )
        };
        let Some(wanted) = wanted else {
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            let found = ids.into_iter().find_map(|subnet_id| {
                let ip_address = self.next_address(&subnet_id, &[])?;
                Some(FixedIp {
                    subnet_id,
                    ip_address,
                })
            });
            return Ok(vec![found.ok_or_else(exhausted)?]);
        };
        let Value::Array(wanted) = wanted else {
            return Err(Refusal::invalid_input(
                "fixed_ips",
                format!("Invalid data format for fixed IP: '{}'", bare(&wanted)),
            ));
        };
        let mut given: Vec<FixedIp> = Vec::new();
        for entry in wanted {
            let (subnet_id, address) = self.wanted_address(network_id, &ids, &entry)?;
            let subnet_id = subnet_id.ok_or_else(exhausted)?;
            let so_far: Vec<Ipv4Addr> = given.iter().map(|ip| ip.ip_address).collect();
            let ip_address = match address {
                None => self
                    .next_address(&subnet_id, &so_far)
                    .ok_or_else(exhausted)?,
                Some(address) => {
                    let kept = mine.iter().any(|ip| ip.ip_address == address);
                    let taken = self.ports.has(&address_word(&subnet_id, address)) && !kept;
                    if taken || so_far.contains(&address) {
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

    /// What one entry of `fixed_ips` asks for: the subnet, and the address if it names one that the subnet has. No subnet when
    /// the network has none at all.
    fn wanted_address(
        &self,
        network_id: &str,
        subnets: &[String],
        entry: &Value,
    ) -> Result<(Option<String>, Option<Ipv4Addr>), Refusal> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let address: Option<Ipv4Addr> = match text("ip_address") {
            None => None,
            Some(address) => Some(address.parse().map_err(|_| {
                Refusal::invalid_input(
                    "fixed_ips",
                    format!("'{address}' is not a valid IP address"),
                )
            })?),
        };
        let has = |id: &String, address: Ipv4Addr| {
            let subnet = self.subnets.get(id);
            subnet.is_some_and(|subnet| subnet.cidr.has_host(address))
        };
        let invalid = |kind: &'static str, sentence: String| Refusal::new(400, kind, sentence);
        let subnet = match (text("subnet_id"), address) {
            (Some(id), _) if self.subnets.get(id).is_none() => {
                return Err(super::subnet::not_found(id));
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

    /// Addresses may be free again: the search for the next free one begins there.
    pub(super) fn released(&mut self, addresses: &[FixedIp]) {
        for ip in addresses {
            if let Some(from) = self.free_from.get_mut(&ip.subnet_id) {
                *from = ip.ip_address.min(*from);
            }
        }
    }

    /// The lowest free address of a subnet, leaving out these.
    fn next_address(&mut self, subnet_id: &str, given: &[Ipv4Addr]) -> Option<Ipv4Addr> {
        let subnet = self.subnets.get(subnet_id)?;
        let from = self.free_from.get(subnet_id).copied();
        let taken = |address: Ipv4Addr| {
            given.contains(&address) || self.ports.has(&address_word(subnet_id, address))
        };
        let pools = &subnet.allocation_pools;
        // The hint fits pools in ascending order; for others the second look finds what the first one left out.
        let found = next_free(pools, from, taken).or_else(|| next_free(pools, None, taken))?;
        if given.is_empty() {
            self.free_from.insert(subnet_id.to_owned(), found);
        }
        Some(found)
    }
}
