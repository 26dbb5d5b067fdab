//! Address ranges of IPv4 and IPv6, and the choice of the next free address.
//!
//! Addresses are numbers of 32 or 128 bits. A range never contains or overlaps addresses of the other family.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// `10.0.0.0/24` or `2001:db8::/64`. Parsing clears the host bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr(IpNet);

impl Cidr {
    /// The range of this address with this prefix length. Longer prefixes are shortened to the family's width.
    pub fn new(address: impl Into<IpAddr>, prefix: u8) -> Self {
        let whole = IpNet::from(address.into());
        let net = IpNet::new(whole.addr(), prefix.min(whole.max_prefix_len()));
        Self(net.unwrap_or(whole).trunc())
    }

    /// The first address.
    pub fn network(&self) -> IpAddr {
        self.0.network()
    }

    /// The prefix length.
    pub fn prefix(&self) -> u8 {
        self.0.prefix_len()
    }

    /// The IP version: 4 or 6.
    pub fn version(&self) -> u8 {
        version(self.network())
    }

    /// The last address.
    pub fn last(&self) -> IpAddr {
        self.0.broadcast()
    }

    /// The n-th address, counted from the first; `n` must be inside the range.
    pub fn nth(&self, n: u128) -> IpAddr {
        like(self.network(), bits(self.network()) | n)
    }

    /// The subnets with this prefix length. Nothing if it is shorter than that of the range.
    pub fn pieces(&self, prefix: u8) -> impl Iterator<Item = Cidr> + use<> {
        self.0.subnets(prefix).into_iter().flatten().map(Cidr)
    }

    /// Whether the address lies inside.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }

    /// Whether the address is a host address of the range. In IPv4, the network and broadcast addresses are not.
    pub fn has_host(&self, address: IpAddr) -> bool {
        let has_ends = self.version() == 4 && self.prefix() <= 30;
        let is_end = has_ends && [self.network(), self.last()].contains(&address);
        self.contains(address) && !is_end
    }

    /// Whether the two ranges share an address.
    pub fn overlaps(&self, other: &Cidr) -> bool {
        self.0.contains(&other.0) || other.0.contains(&self.0)
    }
}

/// The IP version: 4 or 6.
pub fn version(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 4,
        IpAddr::V6(_) => 6,
    }
}

/// The IPv4 address, or `None` for IPv6.
pub fn v4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

/// The SLAAC address of this MAC address in a /64 range (RFC 4291, appendix A).
pub fn eui64(range: &Cidr, mac: &str) -> IpAddr {
    let bytes = mac.split(':').map(|byte| u8::from_str_radix(byte, 16));
    let mac = bytes.fold(0_u128, |mac, byte| mac << 8 | u128::from(byte.unwrap_or(0)));
    let (maker, card) = (mac >> 24 ^ 0x02_0000, mac & 0xff_ffff);
    range.nth(maker << 40 | 0xfffe << 24 | card)
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// The address of the same family with these bits.
fn like(address: IpAddr, bits: u128) -> IpAddr {
    match address {
        // Bits beyond the family's width are cut off.
        IpAddr::V4(_) => Ipv4Addr::from(bits as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from(bits).into(),
    }
}

/// Error for a text that is not `a.b.c.d/n` or `a:b::/n`.
#[derive(Debug, thiserror::Error)]
#[error("not an address range")]
pub struct NotACidr;

impl FromStr for Cidr {
    type Err = NotACidr;

    fn from_str(text: &str) -> Result<Self, NotACidr> {
        let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
        let net = text.parse().ok().or_else(single);
        net.map(|net: IpNet| Self(net.trunc())).ok_or(NotACidr)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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

/// A range of addresses of one family, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// The first address.
    pub start: IpAddr,
    /// The last address.
    pub end: IpAddr,
}

impl Pool {
    /// Whether the address lies inside.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.start <= address && address <= self.end
    }
}

/// The default allocation pools of a subnet: all host addresses except the gateway.
pub fn default_pools(cidr: &Cidr, gateway: Option<IpAddr>) -> Vec<Pool> {
    let (network, end) = (bits(cidr.network()), bits(cidr.last()));
    let (first, last) = match (cidr.version(), cidr.prefix()) {
        (4, 31 | 32) | (_, 128) => (network, end),
        (4, _) => (network + 1, end - 1),
        _ => (network + 1, end),
    };
    let pool = |start: u128, end: u128| {
        (start <= end).then(|| Pool {
            start: like(cidr.network(), start),
            end: like(cidr.network(), end),
        })
    };
    let inside = |gateway: &u128| (first..=last).contains(gateway);
    let gateway = gateway.filter(|gateway| cidr.contains(*gateway));
    match gateway.map(bits).filter(inside) {
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

/// The lowest free address of the pools. No address below `from` is free.
pub fn next_free(
    pools: &[Pool],
    from: Option<IpAddr>,
    taken: impl Fn(IpAddr) -> bool,
) -> Option<IpAddr> {
    pools.iter().find_map(|pool| {
        let start = from.map_or(pool.start, |from| from.max(pool.start));
        (bits(start)..=bits(pool.end))
            .map(|address| like(pool.start, address))
            .find(|address| !taken(*address))
    })
}

#[cfg(test)]
mod tests {
    use crate::kit::ip::*;

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
    fn a_subnet_allocates_all_but_its_ends_and_its_gateway() {
        check_pools("10.0.0.0/24", Some("10.0.0.1"), "10.0.0.2-10.0.0.254");
        check_pools("10.0.0.0/24", Some("10.0.0.254"), "10.0.0.1-10.0.0.253");
        check_pools(
            "10.0.0.0/29",
            Some("10.0.0.3"),
            "10.0.0.1-10.0.0.2 10.0.0.4-10.0.0.6",
        );
        check_pools("10.0.0.0/24", None, "10.0.0.1-10.0.0.254");
        check_pools("10.0.0.0/24", Some("192.168.0.1"), "10.0.0.1-10.0.0.254");
        // IPv6 has no broadcast address.
        check_pools("fd00::/126", Some("fd00::1"), "fd00::2-fd00::3");
        check_pools("fd00::/64", None, "fd00::1-fd00::ffff:ffff:ffff:ffff");
        check_pools("fd00::9/128", None, "fd00::9-fd00::9");
    }

    #[test]
    fn host_bits_are_cut_off_and_families_kept_apart() {
        let cidr: Cidr = "10.1.2.3/16".parse().unwrap();
        assert_eq!(cidr.to_string(), "10.1.0.0/16");
        assert!(cidr.contains("10.1.255.1".parse().unwrap()));
        assert!("10.0.0.0/33".parse::<Cidr>().is_err());
        let cidr: Cidr = "fd00::1:2:3:4/64".parse().unwrap();
        assert_eq!(cidr.to_string(), "fd00::/64");
        assert_eq!(cidr.last().to_string(), "fd00::ffff:ffff:ffff:ffff");
        assert!(!cidr.contains("10.1.255.1".parse().unwrap()));
        let all: Cidr = "::/0".parse().unwrap();
        assert!(all.overlaps(&cidr) && !all.overlaps(&"0.0.0.0/0".parse().unwrap()));
        assert!("fd00::/129".parse::<Cidr>().is_err());
    }

    #[test]
    fn the_lowest_free_address_comes_next() {
        let pools = default_pools(&"10.0.0.0/30".parse().unwrap(), None);
        let mut given = Vec::new();
        while let Some(address) = next_free(&pools, None, |address| given.contains(&address)) {
            given.push(address);
        }
        let shown: Vec<String> = given.iter().map(IpAddr::to_string).collect();
        assert_eq!(shown, ["10.0.0.1", "10.0.0.2"]);
        assert_eq!(
            next_free(&pools, Some(given[1]), |_| false),
            Some(given[1]),
            "the search begins where it is told to"
        );
    }

    #[test]
    fn a_range_is_divided_into_subnets() {
        let pieces = |range: &str, prefix| {
            let pieces = range.parse::<Cidr>().unwrap().pieces(prefix);
            pieces
                .take(3)
                .map(|one| one.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(pieces("10.0.0.0/8", 9), ["10.0.0.0/9", "10.128.0.0/9"]);
        let subnets = ["fd00::/64", "fd00:0:0:1::/64", "fd00:0:0:2::/64"];
        assert_eq!(pieces("fd00::/48", 64), subnets);
    }

    #[test]
    fn slaac_addresses_follow_from_the_mac_address() {
        let address = eui64(&"2001:db8::/64".parse().unwrap(), "fa:16:3e:12:34:56");
        assert_eq!(address.to_string(), "2001:db8::f816:3eff:fe12:3456");
    }
}
