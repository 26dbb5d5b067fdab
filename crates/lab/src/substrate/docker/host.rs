//! The settings of the machine itself: a few rules beside Docker's, and an upstream name server.
//!
//! - Docker keeps its bridges apart. The lab's public network is meant to be reached: from this machine (which needs no rule) and
//!   from containers on other bridges, which appear there with this machine's address.
//! - Where the kernel shows bridged packets to iptables (`bridge-nf-call-iptables`, which Docker's own features and Kubernetes
//!   switch on), Docker would drop what a server sends to its router for somewhere outside, and translate the source of what a
//!   router hands on. Both are exempt on the lab's bridges. Docker puts its own translation in front of everybody's, so for the
//!   public network it is told not to translate, and the lab does.
//!
//! All rules carry the lab's name as a comment and go away by it.

use std::net::Ipv4Addr;

use tokio::process::Command;

use crate::kit::ip::Cidr;
use crate::substrate::SubstrateError;

/// Bridges from which the public network may be reached. The lab's own networks have other names.
const OTHER_BRIDGES: &[&str] = &["docker+", "br-+"];

/// How the devices of tenants' bridges begin.
pub const TENANT_BRIDGE: &str = "sl-";
/// How the device of the public bridge begins.
pub const PUBLIC_BRIDGE: &str = "slp-";

/// All devices of a lab.
const ALL_BRIDGES: &str = "sl+";

/// Where the lab has rules: table and chain.
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
    /// For a lab of this name.
    pub fn new(lab: &str) -> Self {
        Self {
            comment: format!("stackloom.lab={lab}"),
        }
    }

    /// Let containers on other bridges reach the public network, let the answers come back, and leave bridged packets alone.
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

    /// Let a bridge's own traffic pass, whatever its addresses.
    pub async fn allow_within(&self, bridge: &str) -> Result<(), SubstrateError> {
        let rule = ["-i", bridge, "-o", bridge];
        if self.change("-C", FORWARD, &rule, "ACCEPT").await.is_ok() {
            return Ok(());
        }
        self.insert(FORWARD, &rule).await
    }

    /// Take such a rule away.
    pub async fn forget(&self, bridge: &str) {
        if let Err(error) = self
            .change("-D", FORWARD, &["-i", bridge, "-o", bridge], "ACCEPT")
            .await
        {
            tracing::debug!(%error, bridge, "no rule to take away");
        }
    }

    /// Take all rules away.
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
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if said.contains("Permission denied") {
        return Err(SubstrateError::Missing(format!(
            "`iptables` needs root, and so does the lab: {said}"
        )));
    }
    Err(SubstrateError::Command {
        doing: format!("running iptables {}", arguments.join(" ")),
        output: said,
    })
}

/// The name servers that this machine uses, as far as containers can reach them.
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
    // A resolver on loopback is systemd's; what it asks stands elsewhere.
    let mut found = from("/etc/resolv.conf");
    if found.is_empty() {
        found = from("/run/systemd/resolve/resolv.conf");
    }
    found.truncate(3);
    found
}
