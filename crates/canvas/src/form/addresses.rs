//! Addresses in the range of a subnet, to propose for its gateway and its pools. IPv4 only.

use std::net::Ipv4Addr;

/// Addresses at the start of a range that a pool leaves to routers and fixed addresses.
const RESERVED: u32 = 10;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// The network's own address.
    first: u32,
    /// The broadcast address.
    last: u32,
}

/// A part of a range that can be given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pool {
    pub label: &'static str,
    pub start: String,
    pub end: String,
}

impl Range {
    /// Parses `10.0.0.0/24`. `None` for other texts, and for ranges without room for a pool.
    pub fn parse(cidr: &str) -> Option<Range> {
        let (address, length) = cidr.split_once('/')?;
        let address: Ipv4Addr = address.parse().ok()?;
        let length: u32 = length.parse().ok()?;
        if !(1..=28).contains(&length) {
            return None;
        }
        let hosts = u32::MAX >> length;
        let first = u32::from(address) & !hosts;
        Some(Range {
            first,
            last: first | hosts,
        })
    }

    /// Usual addresses of a gateway: the first and the last one.
    pub fn gateways(self) -> Vec<String> {
        vec![text(self.first + 1), text(self.last - 1)]
    }

    /// Usual pools.
    pub fn pools(self) -> Vec<Pool> {
        let middle = self.first + (self.last - self.first) / 2 + 1;
        let pool = |label, start, end| Pool {
            label,
            start: text(start),
            end: text(end),
        };
        vec![
            pool(
                "All but the first ten",
                self.first + RESERVED + 1,
                self.last - 1,
            ),
            pool("Lower half", self.first + RESERVED + 1, middle - 1),
            pool("Upper half", middle, self.last - 1),
        ]
    }
}

fn text(address: u32) -> String {
    Ipv4Addr::from(address).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_and_pools_are_in_the_range() {
        let range = Range::parse("10.0.3.0/24").expect("a range");
        assert_eq!(range.gateways(), ["10.0.3.1", "10.0.3.254"]);
        let pools: Vec<_> = range
            .pools()
            .into_iter()
            .map(|pool| format!("{} {}", pool.start, pool.end))
            .collect();
        assert_eq!(
            pools,
            [
                "10.0.3.11 10.0.3.254",
                "10.0.3.11 10.0.3.127",
                "10.0.3.128 10.0.3.254"
            ]
        );
    }

    #[test]
    fn other_texts_and_small_ranges_have_no_proposals() {
        for text in ["10.0.0.0", "10.0.0.0/30", "10.0.0.0/0", "fd00::/64", "x/24"] {
            assert_eq!(Range::parse(text), None, "{text}");
        }
    }
}
