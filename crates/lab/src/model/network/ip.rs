//! IPv4 ranges, and which address comes next.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `10.0.0.0/24`. Host bits are cut off when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr {
    network: u32,
    prefix: u8,
}

impl Cidr {
    /// The range of this address with this prefix length (at most 32).
    pub fn new(address: Ipv4Addr, prefix: u8) -> Self {
        let prefix = prefix.min(32);
        Self {
            network: u32::from(address) & mask(prefix),
            prefix,
        }
    }

    /// The first address.
    pub fn network(&self) -> Ipv4Addr {
        self.network.into()
    }

    /// Bits of the network part.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// The last address.
    pub fn broadcast(&self) -> Ipv4Addr {
        (self.network | !mask(self.prefix)).into()
    }

    /// The n-th address, counted from the first.
    pub fn nth(&self, n: u32) -> Ipv4Addr {
        self.network.wrapping_add(n).into()
    }

    /// Whether the address lies inside.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        u32::from(address) & mask(self.prefix) == self.network
    }

    /// Whether the address lies inside and can be somebody's: neither the range's own nor that of all.
    pub fn has_host(&self, address: Ipv4Addr) -> bool {
        let ends = [self.network(), self.broadcast()];
        self.contains(address) && (self.prefix > 30 || !ends.contains(&address))
    }

    /// Whether the two share an address.
    pub fn overlaps(&self, other: &Cidr) -> bool {
        self.contains(other.network()) || other.contains(self.network())
    }
}

fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

/// The text is not `a.b.c.d/n`.
#[derive(Debug, thiserror::Error)]
#[error("not an IPv4 range")]
pub struct NotACidr;

impl FromStr for Cidr {
    type Err = NotACidr;

    fn from_str(text: &str) -> Result<Self, NotACidr> {
        let (address, prefix) = text.split_once('/').unwrap_or((text, "32"));
        let address: Ipv4Addr = address.parse().map_err(|_| NotACidr)?;
        let prefix: u8 = prefix.parse().map_err(|_| NotACidr)?;
        if prefix > 32 {
            return Err(NotACidr);
        }
        Ok(Self {
            network: u32::from(address) & mask(prefix),
            prefix,
        })
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network(), self.prefix)
    }
}

impl Serialize for Cidr {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cidr {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// A run of addresses, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// First.
    pub start: Ipv4Addr,
    /// Last.
    pub end: Ipv4Addr,
}

impl Pool {
    /// Whether the address lies inside.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.start <= address && address <= self.end
    }
}

/// The pools of a subnet that names none: all hosts but the gateway.
pub fn default_pools(cidr: &Cidr, gateway: Option<Ipv4Addr>) -> Vec<Pool> {
    let (first, last) = match cidr.prefix() {
        31 | 32 => (u32::from(cidr.network()), u32::from(cidr.broadcast())),
        _ => (
            u32::from(cidr.network()) + 1,
            u32::from(cidr.broadcast()) - 1,
        ),
    };
    let pool = |start: u32, end: u32| {
        (start <= end).then(|| Pool {
            start: start.into(),
            end: end.into(),
        })
    };
    match gateway
        .map(u32::from)
        .filter(|gateway| (first..=last).contains(gateway))
    {
        None => pool(first, last).into_iter().collect(),
        Some(gateway) => [
            gateway.checked_sub(1).and_then(|end| pool(first, end)),
            gateway.checked_add(1).and_then(|start| pool(start, last)),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

/// The lowest free address of the pools; `from` is one below which none is known to be free.
pub fn next_free(
    pools: &[Pool],
    from: Option<Ipv4Addr>,
    taken: impl Fn(Ipv4Addr) -> bool,
) -> Option<Ipv4Addr> {
    pools.iter().find_map(|pool| {
        let start = from.map_or(pool.start, |from| from.max(pool.start));
        (u32::from(start)..=u32::from(pool.end))
            .map(Ipv4Addr::from)
            .find(|address| !taken(*address))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_pools(cidr: &str, gateway: Option<&str>, expected: &str) {
        let gateway = gateway.map(|text| text.parse().unwrap());
        let pools = default_pools(&cidr.parse().unwrap(), gateway);
        let shown: Vec<String> = pools
            .iter()
            .map(|pool| format!("{}-{}", pool.start, pool.end))
            .collect();
        assert_eq!(shown.join(" "), expected, "{cidr} with gateway {gateway:?}");
    }

    #[test]
    fn a_subnet_hands_out_everything_but_its_ends_and_its_gateway() {
        check_pools("10.0.0.0/24", Some("10.0.0.1"), "10.0.0.2-10.0.0.254");
        check_pools("10.0.0.0/24", Some("10.0.0.254"), "10.0.0.1-10.0.0.253");
        check_pools(
            "10.0.0.0/29",
            Some("10.0.0.3"),
            "10.0.0.1-10.0.0.2 10.0.0.4-10.0.0.6",
        );
        check_pools("10.0.0.0/24", None, "10.0.0.1-10.0.0.254");
        check_pools("10.0.0.0/24", Some("192.168.0.1"), "10.0.0.1-10.0.0.254");
    }

    #[test]
    fn host_bits_are_cut_off() {
        let cidr: Cidr = "10.1.2.3/16".parse().unwrap();
        assert_eq!(cidr.to_string(), "10.1.0.0/16");
        assert!(cidr.contains("10.1.255.1".parse().unwrap()));
        assert!("10.0.0.0/33".parse::<Cidr>().is_err());
        assert!("fd00::/64".parse::<Cidr>().is_err());
    }

    #[test]
    fn the_lowest_free_address_comes_next() {
        let pools = default_pools(&"10.0.0.0/30".parse().unwrap(), None);
        let mut given = Vec::new();
        while let Some(address) = next_free(&pools, None, |address| given.contains(&address)) {
            given.push(address);
        }
        let shown: Vec<String> = given.iter().map(Ipv4Addr::to_string).collect();
        assert_eq!(shown, ["10.0.0.1", "10.0.0.2"]);
        assert_eq!(
            next_free(&pools, Some(given[1]), |_| false),
            Some(given[1]),
            "the search begins where it is told to"
        );
    }
}
