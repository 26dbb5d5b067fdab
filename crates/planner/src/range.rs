//! IP address ranges and their overlaps.

use std::net::IpAddr;

use crate::workflow::ResourceSpec;
use hot::expr::Expr;

/// A CIDR such as `10.0.0.0/24`: the address bits, and the prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// The address, left-aligned in 128 bits, with the bits after the prefix set to zero.
    bits: u128,
    length: u8,
    is_v6: bool,
}

impl Range {
    /// True if the ranges have an address in common.
    pub(crate) fn overlaps(&self, other: &Range) -> bool {
        let length = self.length.min(other.length);
        self.is_v6 == other.is_v6 && cut(self.bits, length) == cut(other.bits, length)
    }
}

fn cut(bits: u128, length: u8) -> u128 {
    match length {
        0 => 0,
        length => bits >> (128 - u32::from(length)),
    }
}

/// Parses a CIDR. A single address is a range of one.
pub(crate) fn parse(text: &str) -> Option<Range> {
    let (address, length) = match text.trim().split_once('/') {
        Some((address, length)) => (address, Some(length.parse::<u8>().ok()?)),
        None => (text.trim(), None),
    };
    let (bits, whole, is_v6) = match address.parse().ok()? {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32, false),
        IpAddr::V6(address) => (u128::from(address), 128, true),
    };
    let length = length.unwrap_or(whole);
    (length <= whole).then_some(Range {
        bits,
        length,
        is_v6,
    })
}

/// CIDR of a subnet, if it is known. A subnet from a pool has none, and does not overlap other subnets of the pool.
pub(crate) fn of_subnet(subnet: &ResourceSpec) -> Option<Range> {
    parse(subnet.properties.get("cidr").and_then(Expr::as_str)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges_are_found() {
        let overlap = |one: &str, other: &str| {
            let (one, other) = (parse(one).unwrap(), parse(other).unwrap());
            assert_eq!(one.overlaps(&other), other.overlaps(&one));
            one.overlaps(&other)
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
