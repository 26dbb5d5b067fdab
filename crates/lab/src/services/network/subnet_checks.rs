//! Checks of a subnet's request body: pools, name servers, routes, modes.

use std::net::IpAddr;

use serde_json::Value;

use crate::kit::ip;
use crate::kit::ip::{Cidr, Pool};
use crate::kit::refusal::Refusal;
use crate::services::network::body::{Body, bare};
use crate::wiring::HostRoute;

/// The modes of an IPv6 subnet.
const MODES: [&str; 3] = ["slaac", "dhcpv6-stateful", "dhcpv6-stateless"];

/// Checks the gateway. It can be outside of the range, but not its network or broadcast address.
pub(crate) fn gateway_fits(cidr: &Cidr, gateway: Option<IpAddr>) -> Result<(), Refusal> {
    if let Some(gateway) = gateway {
        is_of(cidr.version(), "gateway_ip", ip::version(gateway), &gateway)?;
    }
    let end = gateway.is_some_and(|gateway| cidr.contains(gateway) && !cidr.has_host(gateway));
    if end {
        Err(Refusal::invalid_operation("Gateway is not valid on subnet"))
    } else {
        Ok(())
    }
}

/// Checks that an address has the subnet's IP version.
pub(crate) fn is_of(
    ip_version: u8,
    name: &str,
    version: u8,
    address: &dyn std::fmt::Display,
) -> Result<(), Refusal> {
    if version == ip_version {
        Ok(())
    } else {
        Err(Refusal::invalid_operation(format_args!(
            "{name} '{address}' does not match the ip_version '{ip_version}'"
        )))
    }
}

pub(crate) fn routes_are_of(ip_version: u8, routes: &[HostRoute]) -> Result<(), Refusal> {
    routes.iter().try_for_each(|route| {
        let (hop, range) = (route.nexthop, route.destination);
        is_of(ip_version, "nexthop", ip::version(hop), &hop)?;
        is_of(ip_version, "destination", range.version(), &range)
    })
}

pub(crate) fn mode(attributes: &mut Body, name: &str) -> Result<Option<String>, Refusal> {
    let mode = attributes.text(name)?;
    match mode {
        Some(other) if !MODES.contains(&other.as_str()) => Err(Refusal::invalid_input(
            name,
            format!("{other} is not in valid_values"),
        )),
        mode => Ok(mode),
    }
}

/// Neutron's checks of `ipv6_ra_mode` and `ipv6_address_mode`, in this order.
pub(crate) fn modes_fit(
    cidr: &Cidr,
    enable_dhcp: bool,
    modes: [(&str, &Option<String>); 2],
) -> Result<(), Refusal> {
    let ipv6_modes = || {
        modes
            .iter()
            .filter_map(|(name, mode)| Some((*name, mode.as_deref()?)))
    };
    if let Some((name, _)) = ipv6_modes().next().filter(|_| cidr.version() == 4) {
        return Err(Refusal::invalid_operation(format_args!(
            "{name} is not valid when ip_version is 4"
        )));
    }
    if ipv6_modes().next().is_some() && !enable_dhcp {
        return Err(Refusal::invalid_operation(
            "ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False",
        ));
    }
    if let [(_, Some(ra)), (_, Some(address))] = modes
        && ra != address
    {
        return Err(Refusal::invalid_operation(format_args!(
            "ipv6_ra_mode set to '{ra}' with ipv6_address_mode set to '{address}' is not valid. If both attributes are set, they must be \
             the same value"
        )));
    }
    let is_automatic = ipv6_modes().any(|(_, mode)| mode != "dhcpv6-stateful");
    if is_automatic && cidr.prefix() != 64 {
        return Err(Refusal::invalid_operation(format_args!(
            "Invalid CIDR {cidr} for IPv6 address mode. OpenStack uses the EUI-64 address format, which requires the prefix to be /64"
        )));
    }
    Ok(())
}

pub(crate) fn pools(
    value: Value,
    cidr: &Cidr,
    gateway: Option<IpAddr>,
) -> Result<Vec<Pool>, Refusal> {
    keys_are("allocation_pools", &value, ["start", "end"])?;
    let pools: Vec<Pool> = serde_json::from_value(value.clone()).map_err(|_| {
        Refusal::invalid_input(
            "allocation_pools",
            format!("Invalid data format for IP pool: '{value}'"),
        )
    })?;
    for (at, pool) in pools.iter().enumerate() {
        if pool.start > pool.end || ip::version(pool.start) != ip::version(pool.end) {
            return Err(Refusal::new(
                400,
                "InvalidAllocationPool",
                format!(
                    "The allocation pool {{'start': '{}', 'end': '{}'}} is not valid.",
                    pool.start, pool.end
                ),
            ));
        }
        if !cidr.contains(pool.start) || !cidr.contains(pool.end) {
            return Err(Refusal::new(
                400,
                "OutOfBoundsAllocationPool",
                format!(
                    "The allocation pool {}-{} spans beyond the subnet cidr {cidr}.",
                    pool.start, pool.end
                ),
            ));
        }
        if let Some(other) = pools[..at]
            .iter()
            .find(|other| other.start <= pool.end && pool.start <= other.end)
        {
            return Err(Refusal::conflict(
                "OverlappingAllocationPools",
                format!(
                    "Found overlapping allocation pools: {}-{} {}-{} for subnet {cidr}.",
                    other.start, other.end, pool.start, pool.end
                ),
            ));
        }
    }
    outside_of(gateway, &pools)?;
    Ok(pools)
}

/// Checks that the gateway's address is in no allocation pool.
pub(crate) fn outside_of(gateway: Option<IpAddr>, pools: &[Pool]) -> Result<(), Refusal> {
    let Some(gateway) = gateway else {
        return Ok(());
    };
    match pools.iter().find(|pool| pool.contains(gateway)) {
        None => Ok(()),
        Some(pool) => Err(Refusal::conflict(
            "GatewayConflictWithAllocationPools",
            format!(
                "Gateway ip {gateway} conflicts with allocation pool {}-{}.",
                pool.start, pool.end
            ),
        )),
    }
}

/// Checks that each object in a list has exactly these keys.
pub(crate) fn keys_are(attribute: &str, items: &Value, keys: [&str; 2]) -> Result<(), Refusal> {
    let objects = items.as_array().into_iter().flatten();
    for fields in objects.filter_map(Value::as_object) {
        if fields.len() != 2 || !keys.iter().all(|key| fields.contains_key(*key)) {
            let quoted: Vec<String> = fields.keys().map(|key| format!("'{key}'")).collect();
            return Err(Refusal::invalid_input(
                attribute,
                format!(
                    "Validation of dictionary's keys failed. Expected keys: {{'{}', '{}'}} Provided keys: {{{}}}",
                    keys[0],
                    keys[1],
                    quoted.join(", ")
                ),
            ));
        }
    }
    Ok(())
}

pub(crate) fn name_servers(ip_version: u8, value: Option<Value>) -> Result<Vec<IpAddr>, Refusal> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    const NAME: &str = "dns_nameservers";
    let mut servers = Vec::new();
    let listed = value.as_array().ok_or_else(|| {
        Refusal::invalid_input(
            NAME,
            format!("Invalid data format for nameserver: '{value}'"),
        )
    })?;
    for item in listed {
        let text = bare(item);
        let server: IpAddr = text.parse().map_err(|_| {
            Refusal::invalid_input(
                NAME,
                format!("'{text}' is not a valid nameserver. '{text}' is not a valid IP address"),
            )
        })?;
        is_of(ip_version, "dns_nameserver", ip::version(server), &server)?;
        if servers.contains(&server) {
            return Err(Refusal::invalid_input(
                NAME,
                format!("Duplicate nameserver '{text}'"),
            ));
        }
        servers.push(server);
    }
    Ok(servers)
}

/// Parses routes: a subnet's `host_routes`, a router's `routes`.
pub fn routes(attribute: &str, value: Option<Value>) -> Result<Vec<HostRoute>, Refusal> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    keys_are(attribute, &value, ["destination", "nexthop"])?;
    let listed = value.as_array().into_iter().flatten();
    let ranges = listed.filter_map(|route| route.get("destination")?.as_str());
    for range in ranges {
        if range.parse::<Cidr>().is_err() {
            return Err(Refusal::invalid_input(
                attribute,
                format!("'{range}' is not a valid CIDR"),
            ));
        }
    }
    serde_json::from_value(value.clone()).map_err(|_| {
        Refusal::invalid_input(
            attribute,
            format!("Invalid data format for hostroute: '{value}'"),
        )
    })
}
