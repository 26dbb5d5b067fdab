//! The hosts whose repositories may be read, and the addresses at which they may be.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

/// A host of git repositories, as the server's operator lists it: `git.example.org`, with another port
/// `git.example.org:8443`, or at a fixed address `git.internal=10.0.0.5`.
///
/// A name without an address must resolve to public addresses only. So a listed name cannot lead into the operator's own
/// network later, and an internal host is an explicit choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitHost {
    /// The name, in lower case.
    pub name: String,
    /// The port of https.
    pub port: u16,
    /// The address, instead of those in the DNS.
    pub address: Option<IpAddr>,
}

impl FromStr for GitHost {
    type Err = String;

    fn from_str(text: &str) -> Result<GitHost, String> {
        let (host, address) = match text.split_once('=') {
            Some((host, address)) => {
                let address = address.parse();
                let address =
                    address.map_err(|_| format!("`{text}`: after `=` comes an IP address"))?;
                (host, Some(address))
            }
            None => (text, None),
        };
        let (name, port) = match host.split_once(':') {
            Some((name, port)) => {
                let port = port.parse().ok().filter(|port| *port != 0);
                (
                    name,
                    port.ok_or_else(|| format!("`{text}`: after `:` comes a port"))?,
                )
            }
            None => (host, 443),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_name) {
            return Err(format!("`{text}` is no host, such as `git.example.org`"));
        }
        Ok(GitHost {
            name: name.to_ascii_lowercase(),
            port,
            address,
        })
    }
}

/// The host as written in a URL.
impl fmt::Display for GitHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            443 => write!(f, "{}", self.name),
            port => write!(f, "{}:{port}", self.name),
        }
    }
}

impl GitHost {
    /// The addresses to connect to.
    ///
    /// # Errors
    /// If the name does not resolve, or resolves to an address that is not public.
    pub async fn addresses(&self) -> Result<Vec<IpAddr>, String> {
        if let Some(address) = self.address {
            return Ok(vec![address]);
        }
        let found = tokio::net::lookup_host((self.name.as_str(), self.port)).await;
        let found = found.map_err(|error| format!("`{}` was not found: {error}", self.name))?;
        let addresses: Vec<IpAddr> = found.map(|address: SocketAddr| address.ip()).collect();
        match addresses.iter().find(|address| !is_public(**address)) {
            Some(_) => Err(format!(
                "`{}` has an address that is not public, so nothing is read from it",
                self.name
            )),
            None if addresses.is_empty() => Err(format!("`{}` has no address", self.name)),
            None => Ok(addresses),
        }
    }
}

/// True for addresses of the public internet: registries of IANA for special-purpose addresses (RFC 6890).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            let is_special = address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_documentation()
                || address.is_multicast()
                || a == 0
                || a >= 240
                || (a == 100 && (64..128).contains(&b))
                || (a, b, c) == (192, 0, 0)
                || (a == 198 && matches!(b, 18 | 19));
            !is_special
        }
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Only 2000::/3 is in use publicly. Addresses that contain another one (Teredo, 6to4) could lead anywhere.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_embedded = first == 0x2002 || (first == 0x2001 && second == 0);
    let is_documentation = (first == 0x2001 && second == 0xdb8) || first == 0x3fff;
    first & 0xe000 == 0x2000 && !is_embedded && !is_documentation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_listed_with_a_port_or_an_address_if_need_be() {
        let host = |text: &str| text.parse::<GitHost>();
        let plain = host("Git.Example.org").unwrap();
        assert_eq!(
            (plain.to_string().as_str(), plain.port),
            ("git.example.org", 443)
        );
        assert_eq!(host("git:8443").unwrap().to_string(), "git:8443");
        let inside = host("git.internal:8443=10.0.0.5").unwrap();
        assert_eq!(inside.address, Some([10, 0, 0, 5].into()));
        for wrong in [
            "",
            "https://x",
            "a b",
            "-x",
            "x:0",
            "x:many",
            "x=",
            "x=y",
            "user@x",
        ] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_of_the_public_internet_are_told_apart() {
        let public = |text: &str| is_public(text.parse().unwrap());
        for address in ["140.82.121.4", "8.8.8.8", "2606:50c0:8000::153"] {
            assert!(public(address), "{address}");
        }
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fd00::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!public(address), "{address}");
        }
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_not_read() {
        let refused = "localhost".parse::<GitHost>().unwrap().addresses().await;
        assert!(refused.unwrap_err().contains("not public"));
        let listed: GitHost = "localhost=127.0.0.1".parse().unwrap();
        assert_eq!(
            listed.addresses().await.unwrap(),
            [IpAddr::from([127, 0, 0, 1])]
        );
    }
}
