//! The client's address: the peer's address, or the address in a trusted proxy's header.

use std::{convert::Infallible, net::IpAddr, net::SocketAddr};

use axum::{
    extract::{ConnectInfo, FromRequestParts},
    http::{HeaderMap, request::Parts},
};

use crate::services::Services;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The client's address. `None` if the server runs without connections, in tests of the router alone.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub Option<IpAddr>);

impl FromRequestParts<Services> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Services,
    ) -> Result<ClientAddress, Infallible> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map(|ConnectInfo(address)| address.ip().to_canonical());
        Ok(ClientAddress(peer.map(|peer| {
            behind(peer, &parts.headers, &services.config.proxies)
        })))
    }
}

/// Each proxy appends the address of its peer to the list. So the list is read from the end, past the trusted proxies.
/// Entries before the first untrusted address can be forged.
fn behind(peer: IpAddr, headers: &HeaderMap, proxies: &[IpAddr]) -> IpAddr {
    let lists = headers.get_all(FORWARDED_FOR).iter();
    let forwarded: Vec<&str> = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .collect();
    let mut address = peer;
    for before in forwarded.iter().rev() {
        let Ok(before) = before.trim().parse::<IpAddr>() else {
            break;
        };
        if !proxies.contains(&address) {
            break;
        }
        address = before.to_canonical();
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, forwarded: &[&str], proxies: &[&str], expected: &str) {
        let mut headers = HeaderMap::new();
        for list in forwarded {
            headers.append(FORWARDED_FOR, list.parse().unwrap());
        }
        let ip = |text: &&str| text.parse::<IpAddr>().unwrap();
        let proxies: Vec<IpAddr> = proxies.iter().map(ip).collect();
        let found = behind(ip(&peer), &headers, &proxies);
        assert_eq!(found, ip(&expected), "{peer} {forwarded:?}");
    }

    #[test]
    fn a_strangers_word_about_itself_does_not_count() {
        check("192.0.2.1", &[], &[], "192.0.2.1");
        check("192.0.2.1", &["203.0.113.9"], &[], "192.0.2.1");
        check("192.0.2.1", &["203.0.113.9"], &["10.0.0.1"], "192.0.2.1");
    }

    #[test]
    fn a_proxy_of_ours_is_believed_and_nobody_before_it() {
        let ours = ["10.0.0.1", "10.0.0.2"];
        check("10.0.0.1", &["192.0.2.1"], &ours, "192.0.2.1");
        check(
            "10.0.0.1",
            &["1.1.1.1, 192.0.2.1, 10.0.0.2"],
            &ours,
            "192.0.2.1",
        );
        check("10.0.0.1", &["1.1.1.1", "192.0.2.1"], &ours, "192.0.2.1");
        check("10.0.0.1", &["unknown"], &ours, "10.0.0.1");
        check("10.0.0.1", &[], &ours, "10.0.0.1");
    }
}
