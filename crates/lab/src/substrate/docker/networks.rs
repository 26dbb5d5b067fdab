//! The Docker networks behind Neutron networks: created with the first port, removed with the Neutron network.

use std::net::Ipv4Addr;

use crate::kit::ids::stable_hex_id;
use crate::substrate::SubstrateError;
use crate::substrate::docker::DockerSubstrate;
use crate::substrate::docker::containers::BridgeNetwork;
use crate::substrate::docker::host::{PUBLIC_BRIDGE, TENANT_BRIDGE};
use crate::wiring::Wiring;

/// Docker's addresses in tenant networks: one /24 each from 198.18.0.0/15, which is reserved for benchmarks (RFC 2544)
/// and therefore not in use.
const SCRATCH: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const SCRATCH_PIECES: u32 = 512;

impl DockerSubstrate {
    /// The name of a Neutron network's Docker network.
    pub(super) fn network_name(&self, id: &str) -> String {
        let kind = if id == self.public_id {
            "public"
        } else {
            "network"
        };
        self.containers.name(kind, id)
    }

    /// The bridge's device on the host: at most 15 characters.
    pub(super) fn bridge(&self, prefix: &str, id: &str) -> String {
        let hash = stable_hex_id(&format!("{}/{id}", self.lab));
        format!("{prefix}{}", &hash[..11])
    }

    /// Creates the Docker network of a Neutron network if needed. Returns its name.
    pub(super) async fn ensure_network(&self, id: &str) -> Result<String, SubstrateError> {
        let name = self.network_name(id);
        let mut known = self.networks.lock().await;
        if known.contains(id) {
            return Ok(name);
        }
        let bridge = self.bridge(TENANT_BRIDGE, id);
        let first = u32::from_str_radix(&stable_hex_id(id)[..6], 16).unwrap_or(0);
        let mut made = false;
        for attempt in 0..SCRATCH_PIECES {
            let piece = (first + attempt) % SCRATCH_PIECES;
            let range = format!("{}/24", Ipv4Addr::from(u32::from(SCRATCH) + piece * 256));
            let wanted = BridgeNetwork {
                kind: "network",
                id,
                bridge: &bridge,
                range,
                gateway: None,
                internal: true,
            };
            made = self.containers.create_network(wanted).await?;
            if made {
                break;
            }
        }
        if !made {
            return Err(SubstrateError::Missing(
                "all of 198.18.0.0/15 is taken by other Docker networks".into(),
            ));
        }
        self.host.allow_within(&bridge).await?;
        known.insert(id.to_owned());
        Ok(name)
    }

    /// Creates the external network if needed.
    pub(super) async fn ensure_public(&self) -> Result<(), SubstrateError> {
        let mut known = self.networks.lock().await;
        if known.contains(&self.public_id) {
            return Ok(());
        }
        let wanted = BridgeNetwork {
            kind: "public",
            id: &self.public_id,
            bridge: &self.bridge(PUBLIC_BRIDGE, "public"),
            range: self.public.to_string(),
            gateway: Some(self.public.nth(1).to_string()),
            internal: false,
        };
        if !self.containers.create_network(wanted).await? {
            return Err(SubstrateError::Missing(format!(
                "the range {} for the public network is taken by another Docker network; choose another with --public-cidr",
                self.public
            )));
        }
        known.insert(self.public_id.clone());
        Ok(())
    }

    /// Removes the Docker networks of deleted Neutron networks.
    pub(super) async fn drop_unknown_networks(&self, wiring: &Wiring) {
        let mut known = self.networks.lock().await;
        let gone: Vec<String> = known
            .iter()
            .filter(|id| !wiring.networks.contains(*id))
            .cloned()
            .collect();
        for id in gone {
            match self
                .containers
                .remove_network(&self.network_name(&id))
                .await
            {
                Ok(()) => {
                    self.host.forget(&self.bridge(TENANT_BRIDGE, &id)).await;
                    known.remove(&id);
                }
                // A server in deletion can still be connected. The next pass retries.
                Err(error) => tracing::debug!(%error, "network stays for now"),
            }
        }
    }
}
