//! Scripts for a container's network namespace, run from outside with privileges that the container lacks.
//!
//! Docker connects the interfaces with temporary addresses; the scripts replace them with the ports' addresses. So
//! projects can use overlapping ranges, a subnet's gateway address is free for its router, and an address stays with
//! its port. The scripts use the host's `sh`, `ip`, `awk` and `nft`: the containers need neither them nor privileges.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::substrate::docker::link_local::{ADDRESS, PORT};
use crate::substrate::docker::nft;
use crate::wiring::{Interface, RouterWiring, ServerWiring};

/// Docker's MAC addresses, by Neutron network.
pub type DockerMacs = BTreeMap<String, String>;

/// Shell functions. `device` finds a device by either of two MAC addresses. `set_addresses` sets a device's addresses
/// and then its MAC address, which makes the kernel send gratuitous ARP (`arp_notify`), since addresses move between
/// ports.
const FUNCTIONS: &str = r#"set -eu
device() {
  ip -o link show | awk -v a="$1" -v b="$2" '
    { for (i = 1; i < NF; i++) if ($i == "link/ether" && ($(i + 1) == a || $(i + 1) == b)) { sub(/[@:].*/, "", $2); print $2; n = 1; exit } }
    END { exit !n }' || { echo "no interface with the address $1" >&2; return 1; }
}
set_addresses() {
  dev=$1; mac=$2; shift 2
  for have in $(ip -4 -o addr show dev "$dev" | awk '{print $4}'); do
    case " $* " in *" $have "*) ;; *) ip addr del "$have" dev "$dev" ;; esac
  done
  for want in "$@"; do ip addr replace "$want" dev "$dev"; done
  echo 1 > "/proc/sys/net/ipv4/conf/$dev/arp_notify"
  ip link set dev "$dev" up
  ip link set dev "$dev" address "$mac"
}
"#;

fn find(text: &mut String, variable: &str, nic: &Interface, macs: &DockerMacs) {
    let docker = macs.get(&nic.network_id).map_or("-", String::as_str);
    let _ = writeln!(text, "{variable}=$(device {} {docker})", nic.mac);
}

fn set_addresses(text: &mut String, variable: &str, nic: &Interface, more: &[String]) {
    let own = nic
        .addresses
        .iter()
        .map(|(address, prefix)| format!("{address}/{prefix}"));
    let all: Vec<String> = own.chain(more.iter().cloned()).collect();
    let _ = writeln!(
        text,
        "set_addresses \"${variable}\" {} {}",
        nic.mac,
        all.join(" ")
    );
}

fn load(text: &mut String, variables: &[String], rules: &str) {
    text.push_str("{\n");
    for variable in variables {
        let _ = writeln!(text, "  echo \"define {variable} = \\\"${variable}\\\"\"");
    }
    let _ = write!(text, "  cat <<'RULES'\n{rules}RULES\n}} | nft -f -\n");
}

/// The script for a server's interfaces and routes.
pub fn server_network(wiring: &ServerWiring, macs: &DockerMacs) -> String {
    let mut text = String::from(FUNCTIONS);
    for (at, nic) in wiring.nics.iter().enumerate() {
        let variable = format!("nic{at}");
        find(&mut text, &variable, nic, macs);
        set_addresses(&mut text, &variable, nic, &[]);
    }
    // A service that is reloaded may bind its port anew. The kernel hands it the connections that its earlier process has
    // not accepted. Kernels before 5.14 lose them.
    text.push_str(
        "migrate=/proc/sys/net/ipv4/tcp_migrate_req\nif [ -e $migrate ]; then echo 1 > $migrate; fi\n",
    );
    // The address of the metadata service. Its traffic does not leave the server.
    let _ = write!(
        text,
        "ip addr replace {ADDRESS}/32 dev lo\nnft -f - <<'RULES'\ntable ip lab_metadata\ndelete table ip lab_metadata\ntable ip \
         lab_metadata {{\n  chain output {{\n    type nat hook output priority -150;\n    ip daddr {ADDRESS} tcp dport 80 dnat to \
         {ADDRESS}:{PORT}\n  }}\n}}\nRULES\n"
    );
    match wiring.gateway {
        // An unreachable gateway is no error: a subnet can have a gateway address and no router.
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
    text
}

/// The script for a server's packet filter.
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

/// The script for a router's interfaces, routes and NAT.
pub fn router(wiring: &RouterWiring, macs: &DockerMacs) -> String {
    let mut text = String::from(FUNCTIONS);
    for (at, nic) in wiring.inside.iter().enumerate() {
        let variable = format!("nic{at}");
        find(&mut text, &variable, nic, macs);
        set_addresses(&mut text, &variable, nic, &[]);
    }
    let mut variables = Vec::new();
    match &wiring.outside {
        Some(outside) => {
            let whole = outside.floating.iter().map(|(address, _)| address);
            let in_part = outside.forwards.iter().map(|forward| &forward.address);
            let mut floating: Vec<String> = whole
                .chain(in_part)
                .map(|address| format!("{address}/32"))
                .collect();
            floating.dedup();
            find(&mut text, "out", &outside.nic, macs);
            set_addresses(&mut text, "out", &outside.nic, &floating);
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
