//! What has to be so on the machine itself: a few rules in Docker's chain for its users, and an upstream name server.
//!
//! Docker keeps its bridges apart. The lab's public network is meant to be reached: from this machine (which needs no rule) and from
//! containers on other bridges. And where the kernel shows bridged packets to iptables, Docker would drop what a server sends to its
//! router for somewhere outside. All rules carry the lab's name as a comment and go away by it.

use std::net::Ipv4Addr;

use tokio::process::Command;

use crate::model::network::ip::Cidr;
use crate::substrate::SubstrateError;

/// Bridges from which the public network may be reached. The lab's own networks have other names.
const BRIDGES: &[&str] = &["docker+", "br-+"];

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

    /// Let containers on other bridges reach the public network, and the answers come back.
    pub async fn open(&self, public: &Cidr) -> Result<(), SubstrateError> {
        self.close().await?;
        let range = public.to_string();
        self.insert(&[
            "-s",
            &range,
            "-m",
            "conntrack",
            "--ctstate",
            "RELATED,ESTABLISHED",
        ])
        .await?;
        for bridge in BRIDGES {
            self.insert(&["-d", &range, "-i", bridge]).await?;
        }
        Ok(())
    }

    /// Let a bridge's own traffic pass, whatever its addresses.
    pub async fn allow_within(&self, bridge: &str) -> Result<(), SubstrateError> {
        let rule = ["-i", bridge, "-o", bridge];
        if self.change("-C", &rule).await.is_ok() {
            return Ok(());
        }
        self.insert(&rule).await
    }

    /// Take such a rule away.
    pub async fn forget(&self, bridge: &str) {
        if let Err(error) = self.change("-D", &["-i", bridge, "-o", bridge]).await {
            tracing::debug!(%error, bridge, "no rule to take away");
        }
    }

    /// Take all rules away.
    pub async fn close(&self) -> Result<(), SubstrateError> {
        let listed = iptables(&["-S", "DOCKER-USER"]).await?;
        for line in listed.lines().filter(|line| {
            line.replace('"', "")
                .split_whitespace()
                .any(|word| word == self.comment)
        }) {
            let bare = line.replace('"', "");
            let words: Vec<&str> = bare.split_whitespace().collect();
            let mut delete = vec!["-D"];
            delete.extend(words.iter().skip(1));
            iptables(&delete).await?;
        }
        Ok(())
    }

    async fn insert(&self, rule: &[&str]) -> Result<(), SubstrateError> {
        self.change("-I", rule).await
    }

    async fn change(&self, verb: &str, rule: &[&str]) -> Result<(), SubstrateError> {
        let mut arguments = vec![verb, "DOCKER-USER"];
        arguments.extend(rule);
        arguments.extend(["-m", "comment", "--comment", &self.comment, "-j", "ACCEPT"]);
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
