//! Servers as containers: boot, network, and the state of running servers.

use std::collections::HashMap;

use crate::substrate::docker::script::DockerMacs;
use crate::substrate::docker::{DockerSubstrate, ServerState, namespace, script, seed};
use crate::substrate::{ServerSpec, SubstrateError};
use crate::wiring::ServerWiring;

impl DockerSubstrate {
    pub(super) fn known_servers(&self) -> std::sync::MutexGuard<'_, HashMap<String, ServerState>> {
        self.servers
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The process of a running server.
    pub(super) fn process_of(&self, server: &str) -> Option<i64> {
        self.known_servers().get(server).map(|state| state.pid)
    }

    /// The process of a running container, and its MAC addresses by Neutron network.
    pub(super) async fn running(
        &self,
        container: &str,
        networks: impl Iterator<Item = &String>,
    ) -> Result<(i64, DockerMacs), SubstrateError> {
        let running = self.containers.running(container).await?;
        let macs = networks
            .filter_map(|id| {
                Some((
                    id.clone(),
                    running.macs.get(&self.network_name(id))?.clone(),
                ))
            })
            .collect();
        Ok((running.pid, macs))
    }

    /// Starts a server's container and applies its whole wiring, since its namespace is new. Then the boot continues.
    pub(super) async fn boot(&self, spec: &ServerSpec) -> Result<(), SubstrateError> {
        let container = self.containers.name("server", &spec.id);
        let archive = |made: std::io::Result<Vec<u8>>| {
            made.map_err(|error| SubstrateError::Missing(format!("no archive: {error}")))
        };
        self.containers
            .upload(
                &container,
                archive(seed::archive(spec, &self.name_servers))?,
            )
            .await?;
        self.containers.start(&container).await?;
        let server_locks = self.server_locks.lock(&spec.id).await;
        let wiring = &spec.wiring;
        let (pid, macs) = self
            .running(&container, wiring.nics.iter().map(|nic| &nic.network_id))
            .await?;
        let network = script::server_network(wiring, &macs);
        let filter = script::server_filter(wiring, &macs);
        namespace::allow_control_groups(&container, pid).await?;
        // The filter comes first, so that no address is ever reachable unfiltered.
        namespace::run(&container, pid, &format!("{filter}{network}")).await?;
        self.known_servers().insert(
            spec.id.clone(),
            ServerState {
                pid,
                macs,
                network,
                filter,
            },
        );
        drop(server_locks);
        // Device nodes are lost when a container stops.
        for (volume, device) in &spec.volumes {
            self.plug_volume(&spec.id, volume, device).await?;
        }
        self.containers
            .upload(&container, archive(seed::go())?)
            .await
    }

    /// Applies changes to a running server.
    pub(super) async fn rewire_server(
        &self,
        id: &str,
        wiring: &ServerWiring,
    ) -> Result<(), SubstrateError> {
        let _telling = self.server_locks.lock(id).await;
        self.apply_server_wiring(id, wiring).await
    }

    /// The same without taking the lock, for callers that hold it.
    pub(super) async fn apply_server_wiring(
        &self,
        id: &str,
        wiring: &ServerWiring,
    ) -> Result<(), SubstrateError> {
        let Some(state) = self.known_servers().get(id).cloned() else {
            return Ok(());
        };
        let network = script::server_network(wiring, &state.macs);
        let filter = script::server_filter(wiring, &state.macs);
        let mut script = String::new();
        if filter != state.filter {
            script.push_str(&filter);
        }
        if network != state.network {
            script.push_str(&network);
        }
        if script.is_empty() {
            return Ok(());
        }
        namespace::run(&self.containers.name("server", id), state.pid, &script).await?;
        // It can have been stopped in the meantime.
        if let Some(known) = self.known_servers().get_mut(id) {
            known.network = network;
            known.filter = filter;
        }
        Ok(())
    }
}
