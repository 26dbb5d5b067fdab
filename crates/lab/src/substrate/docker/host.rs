//! Settings of the host: some rules besides Docker's, and the upstream name servers.
//!
//! - Docker isolates its bridges from each other. The lab's public network must be reachable from the host (which needs
//!   no rule) and from containers on other bridges, whose source address is then the host's.
//! - If the kernel passes bridged packets to iptables (`bridge-nf-call-iptables`, enabled by some features of Docker
//!   and by Kubernetes), Docker would drop packets from a server to its router with an external destination, and
//!   masquerade packets that a router forwards. The rules exempt the lab's bridges from both. Docker's masquerade rule
//!   comes before all others, so it is disabled for the public network, and the lab masquerades instead.
//!
//! All rules have the lab's name as a comment and are removed by it.

use std::net::Ipv4Addr;

use tokio::process::Command;

use crate::kit::ip::Cidr;
use crate::substrate::SubstrateError;

/// Bridges with access to the public network. The lab's own bridges have other names.
const OTHER_BRIDGES: &[&str] = &["docker+", "br-+"];

/// Prefix of the devices of tenant bridges.
pub const TENANT_BRIDGE: &str = "sl-";
/// Prefix of the devices of public bridges.
pub const PUBLIC_BRIDGE: &str = "slp-";

/// All bridges of labs.
const ALL_BRIDGES: &str = "sl+";

/// The location of rules: table and chain.
type Place = (&'static str, &'static str);
const FORWARD: Place = ("filter", "DOCKER-USER");
const NAT_BEFORE: Place = ("nat", "PREROUTING");
const NAT_AFTER: Place = ("nat", "POSTROUTING");

/// The rules of one lab.
#[derive(Debug, Clone)]
pub struct HostRules {
    comment: String,
}

impl HostRules {
    /// The rules of the lab with this name.
    pub fn new(lab: &str) -> Self {
        Self {
            comment: format!("stackloom.lab={lab}"),
        }
    }

    /// Allows connections from other bridges to the public network with their replies, and exempts bridged packets from
    /// Docker's rules.
    pub async fn open(&self, public: &Cidr) -> Result<(), SubstrateError> {
        self.close().await?;
        let range = public.to_string();
        let tenants = format!("{TENANT_BRIDGE}+");
        self.insert(
            FORWARD,
            &[
                "-s",
                &range,
                "-m",
                "conntrack",
                "--ctstate",
                "RELATED,ESTABLISHED",
            ],
        )
        .await?;
        for bridge in OTHER_BRIDGES {
            self.insert(FORWARD, &["-d", &range, "-i", bridge]).await?;
        }
        self.insert(NAT_BEFORE, &["-i", &tenants]).await?;
        self.insert(NAT_AFTER, &["-o", &tenants]).await?;
        self.change(
            "-A",
            NAT_AFTER,
            &["-s", &range, "!", "-o", ALL_BRIDGES],
            "MASQUERADE",
        )
        .await
    }

    /// Allows all traffic within a bridge.
    pub async fn allow_within(&self, bridge: &str) -> Result<(), SubstrateError> {
        let rule = ["-i", bridge, "-o", bridge];
        if self.change("-C", FORWARD, &rule, "ACCEPT").await.is_ok() {
            return Ok(());
        }
        self.insert(FORWARD, &rule).await
    }

    /// Removes the rule of [`HostRules::allow_within`].
    pub async fn forget(&self, bridge: &str) {
        if let Err(error) = self
            .change("-D", FORWARD, &["-i", bridge, "-o", bridge], "ACCEPT")
            .await
        {
            tracing::debug!(%error, bridge, "no rule to take away");
        }
    }

    /// Removes all rules of the lab.
    pub async fn close(&self) -> Result<(), SubstrateError> {
        for (table, chain) in [FORWARD, NAT_BEFORE, NAT_AFTER] {
            let listed = iptables(&["-t", table, "-S", chain]).await?;
            for line in listed.lines().map(|line| line.replace('"', "")) {
                let words: Vec<&str> = line.split_whitespace().collect();
                if words.contains(&self.comment.as_str()) {
                    let delete: Vec<&str> = ["-t", table, "-D"]
                        .into_iter()
                        .chain(words.into_iter().skip(1))
                        .collect();
                    iptables(&delete).await?;
                }
            }
        }
        Ok(())
    }

    async fn insert(&self, place: Place, rule: &[&str]) -> Result<(), SubstrateError> {
        self.change("-I", place, rule, "ACCEPT").await
    }

    async fn change(
        &self,
        verb: &str,
        (table, chain): Place,
        rule: &[&str],
        target: &str,
    ) -> Result<(), SubstrateError> {
        let mut arguments = vec!["-t", table, verb, chain];
        arguments.extend(rule);
        arguments.extend(["-m", "comment", "--comment", &self.comment, "-j", target]);
        iptables(&arguments).await.map(|_| ())
    }
}

async fn iptables(arguments: &[&str]) -> Result<String, SubstrateError> {
    let output = Command::new("iptables")
        .arg("-w")
        .args(arguments)
        .output()
        .await
        .map_err(|error| {
            SubstrateError::Missing(format!(
                "`iptables` cannot be run ({error}); the lab needs it: apt-get install iptables"
            ))
        })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if stderr.contains("Permission denied") {
        return Err(SubstrateError::Missing(format!(
            "`iptables` needs root, and so does the lab: {stderr}"
        )));
    }
    Err(SubstrateError::Command {
        doing: format!("running iptables {}", arguments.join(" ")),
        output: stderr,
    })
}

/// The host's name servers that containers can reach.
pub fn name_servers() -> Vec<Ipv4Addr> {
    let from = |path: &str| -> Vec<Ipv4Addr> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let named = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("nameserver"));
        named
            .filter_map(|address| address.trim().parse().ok())
            .filter(|address: &Ipv4Addr| !address.is_loopback())
            .collect()
    };
    // A loopback address is the stub of systemd-resolved. Its upstream servers are in another file.
    let mut found = from("/etc/resolv.conf");
    if found.is_empty() {
        found = from("/run/systemd/resolve/resolv.conf");
    }
    found.truncate(3);
    found
}
