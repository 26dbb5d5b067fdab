//! IP address ranges and their overlaps.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::workflow::ResourceSpec;
use hot::expr::Expr;

/// True if the ranges have an address in common.
pub(crate) fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(other) || other.contains(one)
}

/// Parses a CIDR such as `10.0.0.0/24`. A single address is a range of one.
pub(crate) fn parse(text: &str) -> Option<IpNet> {
    let text = text.trim();
    let range = text.parse().ok();
    range.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// CIDR of a subnet, if it is known. A subnet from a pool has none, and does not overlap other subnets of the pool.
pub(crate) fn of_subnet(subnet: &ResourceSpec) -> Option<IpNet> {
    parse(subnet.properties.get("cidr").and_then(Expr::as_str)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges_are_found() {
        let overlap = |one: &str, other: &str| {
            let (one, other) = (parse(one).unwrap(), parse(other).unwrap());
            assert_eq!(super::overlap(&one, &other), super::overlap(&other, &one));
            super::overlap(&one, &other)
        };
        assert!(overlap("10.0.0.0/24", "10.0.0.0/25"));
        assert!(overlap("10.0.0.0/8", "10.200.3.0/24"));
        assert!(overlap("0.0.0.0/0", "192.168.1.0/24"));
        assert!(overlap("10.0.0.7", "10.0.0.0/29"));
        assert!(overlap("fd00::/8", "fd12:3456::/32"));
        assert!(!overlap("10.0.0.0/24", "10.0.1.0/24"));
        assert!(!overlap("::/0", "10.0.0.0/8"));
        assert_eq!(parse("10.0.0.0/33"), None);
        assert_eq!(parse("web"), None);
    }
}
