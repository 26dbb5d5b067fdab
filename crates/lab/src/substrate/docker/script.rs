//! What is run inside a container's namespaces, from outside and with the rights that the container itself lacks.
//!
//! Docker plugs the wires and gives throw-away addresses; the scripts give the interfaces the ports' own. So projects may use the
//! same ranges, a subnet's gateway is free for its router, and an address stays with its port.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

use super::nft;
use crate::model::wiring::{Nic, RouterWiring, ServerWiring};

/// Ethernet addresses that Docker gave, by Neutron network.
pub type DockerMacs = BTreeMap<String, String>;

/// Shell functions: find a device by either of two Ethernet addresses; give a device exactly these addresses.
const FUNCTIONS: &str = r#"set -eu
device() {
  for path in /sys/class/net/*; do
    have=$(cat "$path/address")
    if [ "$have" = "$1" ] || [ "$have" = "$2" ]; then basename "$path"; return; fi
  done
  echo "no interface with the address $1" >&2
  return 1
}
addresses() {
  dev=$1; shift
  for have in $(ip -4 -o addr show dev "$dev" | awk '{print $4}'); do
    case " $* " in *" $have "*) ;; *) ip addr del "$have" dev "$dev" ;; esac
  done
  for want in "$@"; do ip addr replace "$want" dev "$dev"; done
}
announce() {
  if command -v arping >/dev/null; then arping -q -c 1 -w 1 -U -I "$1" "$2" >/dev/null 2>&1 & fi
}
"#;

fn find(text: &mut String, variable: &str, nic: &Nic, macs: &DockerMacs) {
    let docker = macs.get(&nic.network_id).map_or("-", String::as_str);
    let _ = writeln!(text, "{variable}=$(device {} {docker})", nic.mac);
}

fn dress(text: &mut String, variable: &str, nic: &Nic, more: &[String]) {
    let own = nic
        .addresses
        .iter()
        .map(|(address, prefix)| format!("{address}/{prefix}"));
    let all: Vec<String> = own.chain(more.iter().cloned()).collect();
    let _ = writeln!(
        text,
        "ip link set dev \"${variable}\" address {} up",
        nic.mac
    );
    let _ = writeln!(text, "addresses \"${variable}\" {}", all.join(" "));
}

fn announce(text: &mut String, variable: &str, address: Ipv4Addr) {
    let _ = writeln!(text, "announce \"${variable}\" {address}");
}

fn load(text: &mut String, variables: &[String], rules: &str) {
    text.push_str("{\n");
    for variable in variables {
        let _ = writeln!(text, "  echo \"define {variable} = \\\"${variable}\\\"\"");
    }
    let _ = write!(text, "  cat <<'RULES'\n{rules}RULES\n}} | nft -f -\n");
}

/// Gives a server its interfaces, routes and name servers.
pub fn server_network(
    wiring: &ServerWiring,
    macs: &DockerMacs,
    hostname: &str,
    name_servers: &[Ipv4Addr],
) -> String {
    let mut text = String::from(FUNCTIONS);
    for (at, nic) in wiring.nics.iter().enumerate() {
        let variable = format!("nic{at}");
        find(&mut text, &variable, nic, macs);
        dress(&mut text, &variable, nic, &[]);
        for (address, _) in &nic.addresses {
            announce(&mut text, &variable, *address);
        }
    }
    match wiring.gateway {
        // Not reachable yet is no error: a subnet may have a gateway address and no router.
        Some(gateway) => {
            let _ = writeln!(text, "ip route replace default via {gateway} || true");
        }
        None => text.push_str("ip route del default 2>/dev/null || true\n"),
    }
    for route in &wiring.routes {
        let _ = writeln!(
            text,
            "ip route replace {} via {} || true",
            route.destination, route.nexthop
        );
    }
    let servers: Vec<&Ipv4Addr> = if wiring.name_servers.is_empty() {
        name_servers.iter().collect()
    } else {
        wiring.name_servers.iter().collect()
    };
    text.push_str("cat > /etc/resolv.conf <<'END'\n");
    for server in servers {
        let _ = writeln!(text, "nameserver {server}");
    }
    text.push_str("END\ncat > /etc/hosts <<'END'\n127.0.0.1 localhost\n");
    if let Some((address, _)) = wiring.nics.first().and_then(|nic| nic.addresses.first()) {
        let _ = writeln!(text, "{address} {hostname}");
    }
    text.push_str("END\n");
    text
}

/// Gives a server its packet filter.
pub fn server_filter(wiring: &ServerWiring, macs: &DockerMacs) -> String {
    let mut text = String::from(FUNCTIONS);
    let mut variables = Vec::new();
    for (at, nic) in wiring.nics.iter().enumerate() {
        let variable = format!("nic{at}");
        find(&mut text, &variable, nic, macs);
        variables.push(variable);
    }
    load(&mut text, &variables, &nft::server_filter(wiring));
    text
}

/// Lets a server's boot go on.
pub const SERVER_GO: &str = "mkdir -p /run/lab\ntouch /run/lab/wired\n";

/// Gives a router its legs, routes and translation.
pub fn router(wiring: &RouterWiring, macs: &DockerMacs) -> String {
    let mut text = String::from(FUNCTIONS);
    for (at, nic) in wiring.inside.iter().enumerate() {
        let variable = format!("nic{at}");
        find(&mut text, &variable, nic, macs);
        dress(&mut text, &variable, nic, &[]);
        for (address, _) in &nic.addresses {
            announce(&mut text, &variable, *address);
        }
    }
    let mut variables = Vec::new();
    match &wiring.outside {
        Some(outside) => {
            let floating: Vec<String> = outside
                .floating
                .iter()
                .map(|(address, _)| format!("{address}/32"))
                .collect();
            find(&mut text, "out", &outside.nic, macs);
            dress(&mut text, "out", &outside.nic, &floating);
            for address in outside
                .nic
                .addresses
                .iter()
                .map(|(address, _)| *address)
                .chain(outside.floating.iter().map(|pair| pair.0))
            {
                announce(&mut text, "out", address);
            }
            if let Some(gateway) = outside.gateway {
                let _ = writeln!(text, "ip route replace default via {gateway} dev \"$out\"");
            }
            variables.push("out".to_owned());
        }
        None => text.push_str("ip route del default 2>/dev/null || true\n"),
    }
    for route in &wiring.routes {
        let _ = writeln!(
            text,
            "ip route replace {} via {} || true",
            route.destination, route.nexthop
        );
    }
    load(&mut text, &variables, &nft::router_nat(wiring));
    text
}
