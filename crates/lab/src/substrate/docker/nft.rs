//! Packet filters and address translation as nftables rule sets, generated from the wiring.
//!
//! A rule set refers to interfaces as `$nic0`, `$nic1`, ... (`$out` for a router's gateway). The device names are known
//! only in the container, so the script that loads the rule set defines them. Each rule set replaces its predecessor in
//! one transaction, so there is always a filter. Established connections continue.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use crate::kit::ip::Cidr;
use crate::wiring::{
    Filter, FilterRule, Gateway, Interface, PortForward, Remote, RouterWiring, ServerWiring,
};

/// A server's filter: stateful, IPv4 only. Traffic without a matching rule is dropped. Source addresses must be the
/// port's.
pub fn server_filter(wiring: &ServerWiring) -> String {
    let mut text = String::from(
        "table inet lab\ndelete table inet lab\ntable inet lab {\n  chain input {\n    type filter hook input priority 0; policy drop;\n    \
         iif lo accept\n    meta nfproto ipv6 drop\n    ct state established,related accept\n    ct state invalid drop\n",
    );
    let nics = wiring.nics.iter().zip(&wiring.filters).enumerate();
    for (at, _) in nics.clone() {
        let _ = writeln!(text, "    iifname $nic{at} jump in{at}");
    }
    text.push_str(
        "  }\n  chain output {\n    type filter hook output priority 0; policy drop;\n    oif lo accept\n    meta nfproto ipv6 drop\n    ct \
         state established,related accept\n",
    );
    for (at, _) in nics.clone() {
        let _ = writeln!(text, "    oifname $nic{at} jump out{at}");
    }
    text.push_str("  }\n");
    for (at, (nic, filter)) in nics {
        chains(&mut text, at, nic, filter);
    }
    text.push_str("}\n");
    text
}

fn chains(text: &mut String, at: usize, nic: &Interface, filter: &Filter) {
    let Some(rules) = filter else {
        let _ = writeln!(
            text,
            "  chain in{at} {{\n    accept\n  }}\n  chain out{at} {{\n    accept\n  }}"
        );
        return;
    };
    let _ = writeln!(text, "  chain in{at} {{");
    for line in rules.ingress.iter().filter_map(|rule| line(rule, "saddr")) {
        let _ = writeln!(text, "    {line}");
    }
    let _ = writeln!(text, "  }}\n  chain out{at} {{");
    if !nic.addresses.is_empty() {
        let own = set(nic.addresses.iter().map(|(address, _)| *address));
        let _ = write!(text, "    ip saddr != {own} ");
        for pair in &nic.pairs {
            let _ = write!(text, "ip saddr != {pair} ");
        }
        text.push_str("drop\n");
    }
    for line in rules.egress.iter().filter_map(|rule| line(rule, "daddr")) {
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("  }\n");
}

/// A rule as a line. `None` for a rule without remote addresses (a group without members).
fn line(rule: &FilterRule, side: &str) -> Option<String> {
    let remote = match &rule.remote {
        Remote::Anyone => String::new(),
        Remote::Range(range) => format!("ip {side} {range} "),
        Remote::Members(members) if members.is_empty() => return None,
        Remote::Members(members) => format!("ip {side} {} ", set(members.iter().copied())),
    };
    let what = match (rule.protocol.as_deref(), rule.min, rule.max) {
        (None, _, _) => String::new(),
        (Some("icmp"), None, _) => "ip protocol icmp ".into(),
        (Some("icmp"), Some(kind), None) => format!("icmp type {kind} "),
        (Some("icmp"), Some(kind), Some(code)) => format!("icmp type {kind} icmp code {code} "),
        (Some(protocol @ ("tcp" | "udp" | "sctp" | "dccp" | "udplite")), Some(min), Some(max))
            if (min, max) != (1, 65535) =>
        {
            let ports = if min == max {
                min.to_string()
            } else {
                format!("{min}-{max}")
            };
            format!("{protocol} dport {ports} ")
        }
        (Some(protocol), _, _) => format!("meta l4proto {} ", protocol_name(protocol)),
    };
    Some(format!("{remote}{what}accept"))
}

/// The protocol number for names that nft does not support.
fn protocol_name(name: &str) -> &str {
    match name {
        "icmpv6" | "ipv6-icmp" => "58",
        "hopopt" | "ip" => "0",
        "ipv6-encap" => "41",
        "ipv6-route" => "43",
        "ipv6-frag" => "44",
        "ipv6-nonxt" => "59",
        "ipv6-opts" => "60",
        "ipip" => "4",
        "egp" => "8",
        "igmp" => "2",
        "ospf" => "89",
        "pgm" => "113",
        "rsvp" => "46",
        "vrrp" => "112",
        "gre" => "47",
        other => other,
    }
}

fn set(addresses: impl Iterator<Item = Ipv4Addr>) -> String {
    let all: Vec<String> = addresses.map(|address| address.to_string()).collect();
    format!("{{ {} }}", all.join(", "))
}

/// A router's NAT: one-to-one for floating IPs, masquerading with the router's address for all else.
pub fn router_nat(wiring: &RouterWiring) -> String {
    let mut text = String::from("table ip lab\ndelete table ip lab\ntable ip lab {\n");
    if let Some(outside) = &wiring.outside {
        outside_rules(&mut text, outside, &wiring.inside);
    }
    text.push_str("}\n");
    text
}

fn outside_rules(text: &mut String, outside: &Gateway, inside: &[Interface]) {
    text.push_str("  chain dstnat {\n    type nat hook prerouting priority dstnat;\n");
    for (floating, fixed) in &outside.floating {
        let _ = writeln!(text, "    ip daddr {floating} dnat to {fixed}");
    }
    for forward in &outside.forwards {
        let PortForward {
            address,
            protocol,
            port,
            to: (fixed, fixed_port),
        } = forward;
        let _ = writeln!(
            text,
            "    ip daddr {address} {protocol} dport {port} dnat to {fixed}:{fixed_port}"
        );
    }
    text.push_str("  }\n  chain srcnat {\n    type nat hook postrouting priority srcnat;\n");
    for (floating, fixed) in &outside.floating {
        let _ = writeln!(text, "    oifname $out ip saddr {fixed} snat to {floating}");
    }
    let own = outside.nic.addresses.first().map(|(address, _)| *address);
    let ranges: Vec<String> = inside
        .iter()
        .flat_map(|nic| &nic.addresses)
        .filter_map(|(address, prefix)| format!("{address}/{prefix}").parse::<Cidr>().ok())
        .map(|range| range.to_string())
        .collect();
    if let Some(own) = own {
        if outside.snat {
            let _ = writeln!(text, "    oifname $out ip saddr != {own} snat to {own}");
        }
        if !ranges.is_empty() {
            // From inside to a floating IP of an inside server: the reply must come back through the router.
            let _ = writeln!(
                text,
                "    oifname != $out ct status dnat ip saddr {{ {} }} snat to {own}",
                ranges.join(", ")
            );
        }
    }
    text.push_str("  }\n");
    if outside.snat {
        // Fixed addresses accept no connections from outside.
        text.push_str(
            "  chain forward {\n    type filter hook forward priority 0;\n    iifname $out ct state new ct status dnat accept\n    iifname \
             $out ct state new drop\n  }\n",
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::substrate::docker::nft::*;
    use crate::wiring::FilterRules;

    fn nic(address: &str) -> Interface {
        Interface {
            network_id: "net".into(),
            mac: "fa:16:3e:00:00:01".into(),
            addresses: vec![(address.parse().unwrap(), 24)],
            pairs: Vec::new(),
        }
    }

    fn rule(protocol: Option<&str>, ports: Option<(u16, u16)>, remote: Remote) -> FilterRule {
        FilterRule {
            protocol: protocol.map(Into::into),
            min: ports.map(|p| p.0),
            max: ports.map(|p| p.1),
            remote,
        }
    }

    /// The lines of one chain.
    fn chain(text: &str, name: &str) -> Vec<String> {
        let start = text.find(&format!("chain {name} {{")).expect(name);
        let body = &text[start..];
        let body = &body[body.find('{').unwrap() + 1..body.find("\n  }").unwrap()];
        body.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn check_ingress(rule: FilterRule, expected: &[&str]) {
        let filters = vec![Some(FilterRules {
            ingress: vec![rule.clone()],
            egress: vec![],
        })];
        let wiring = ServerWiring {
            nics: vec![nic("10.0.0.5")],
            filters,
            ..Default::default()
        };
        assert_eq!(chain(&server_filter(&wiring), "in0"), expected, "{rule:?}");
    }

    fn members(addresses: &[&str]) -> Remote {
        Remote::Members(
            addresses
                .iter()
                .map(|address| address.parse().unwrap())
                .collect::<BTreeSet<_>>(),
        )
    }

    #[test]
    fn rules_are_written_in_the_syntax_of_nft() {
        let anyone = || Remote::Anyone;
        check_ingress(rule(None, None, anyone()), &["accept"]);
        check_ingress(
            rule(Some("tcp"), None, anyone()),
            &["meta l4proto tcp accept"],
        );
        check_ingress(
            rule(Some("tcp"), Some((22, 22)), anyone()),
            &["tcp dport 22 accept"],
        );
        check_ingress(
            rule(Some("tcp"), Some((1, 65535)), anyone()),
            &["meta l4proto tcp accept"],
        );
        check_ingress(
            rule(Some("udp"), Some((5000, 5010)), anyone()),
            &["udp dport 5000-5010 accept"],
        );
        check_ingress(
            rule(Some("icmp"), None, anyone()),
            &["ip protocol icmp accept"],
        );
        check_ingress(
            FilterRule {
                max: None,
                ..rule(Some("icmp"), Some((8, 0)), anyone())
            },
            &["icmp type 8 accept"],
        );
        check_ingress(
            rule(Some("vrrp"), None, anyone()),
            &["meta l4proto 112 accept"],
        );
        check_ingress(
            rule(
                Some("tcp"),
                Some((22, 22)),
                Remote::Range("172.30.0.1/32".into()),
            ),
            &["ip saddr 172.30.0.1/32 tcp dport 22 accept"],
        );
        check_ingress(
            rule(
                Some("tcp"),
                Some((80, 80)),
                members(&["10.0.0.7", "10.0.0.6"]),
            ),
            &["ip saddr { 10.0.0.6, 10.0.0.7 } tcp dport 80 accept"],
        );
    }

    #[test]
    fn a_group_without_members_lets_nobody_in() {
        check_ingress(rule(Some("tcp"), Some((80, 80)), members(&[])), &[]);
    }

    #[test]
    fn outgoing_packets_have_the_ports_own_address() {
        let egress = vec![rule(None, None, Remote::Anyone)];
        let filters = vec![Some(FilterRules {
            ingress: vec![],
            egress,
        })];
        let wiring = ServerWiring {
            nics: vec![nic("10.0.0.5")],
            filters,
            ..Default::default()
        };
        assert_eq!(
            chain(&server_filter(&wiring), "out0"),
            ["ip saddr != { 10.0.0.5 } drop", "accept"]
        );
    }

    #[test]
    fn outgoing_packets_may_have_a_virtual_address_of_the_port() {
        let shared = Interface {
            pairs: vec!["10.0.0.100".into(), "10.1.0.0/16".into()],
            ..nic("10.0.0.5")
        };
        let wiring = ServerWiring {
            nics: vec![shared],
            filters: vec![Some(FilterRules {
                ingress: vec![],
                egress: vec![],
            })],
            ..Default::default()
        };
        assert_eq!(
            chain(&server_filter(&wiring), "out0"),
            ["ip saddr != { 10.0.0.5 } ip saddr != 10.0.0.100 ip saddr != 10.1.0.0/16 drop"]
        );
    }

    #[test]
    fn without_port_security_everything_passes() {
        let wiring = ServerWiring {
            nics: vec![nic("10.0.0.5")],
            filters: vec![None],
            ..Default::default()
        };
        let text = server_filter(&wiring);
        assert_eq!(chain(&text, "in0"), ["accept"]);
        assert_eq!(chain(&text, "out0"), ["accept"]);
    }

    #[test]
    fn floating_addresses_are_translated_both_ways() {
        let outside = Gateway {
            nic: nic("172.30.0.10"),
            gateway: None,
            snat: true,
            floating: vec![("172.30.0.11".parse().unwrap(), "10.0.0.5".parse().unwrap())],
            forwards: vec![PortForward {
                address: "172.30.0.12".parse().unwrap(),
                protocol: "tcp".into(),
                port: 2222,
                to: ("10.0.0.6".parse().unwrap(), 22),
            }],
        };
        let wiring = RouterWiring {
            outside: Some(outside),
            inside: vec![nic("10.0.0.1")],
            routes: vec![],
        };
        let text = router_nat(&wiring);
        assert_eq!(
            chain(&text, "dstnat")[1..],
            [
                "ip daddr 172.30.0.11 dnat to 10.0.0.5",
                "ip daddr 172.30.0.12 tcp dport 2222 dnat to 10.0.0.6:22",
            ]
        );
        assert_eq!(
            chain(&text, "srcnat")[1..],
            [
                "oifname $out ip saddr 10.0.0.5 snat to 172.30.0.11",
                "oifname $out ip saddr != 172.30.0.10 snat to 172.30.0.10",
                "oifname != $out ct status dnat ip saddr { 10.0.0.0/24 } snat to 172.30.0.10",
            ]
        );
    }
}
