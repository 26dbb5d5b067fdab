//! Load balancers: a container with HAProxy on the port of the address, behind a packet filter like a server's. It has no right over its
//! own network either: the lab sets it from outside, and hands it a configuration whenever that changes.
//!
//! Members elsewhere than on the address's network are reached through that network's gateway, as a server would.

use std::collections::BTreeMap;

use bollard::models::{ContainerCreateBody, HostConfig, NetworkingConfig};

use super::containers::endpoint;
use super::script::DockerMacs;
use super::{BALANCER_IMAGE, DockerSubstrate, MIB, namespace, script, seed};
use crate::model::wiring::BalancerWiring;
use crate::substrate::SubstrateError;

/// What a balancer was told last.
#[derive(Debug, Clone, Default)]
pub struct BalancerState {
    pid: i64,
    macs: DockerMacs,
    network: String,
    configuration: String,
}

impl DockerSubstrate {
    /// Make load balancers as told: those that are not there, those that have changed, and away with the rest.
    pub(super) async fn wire_balancers(
        &self,
        wanted: &BTreeMap<String, BalancerWiring>,
    ) -> Result<(), SubstrateError> {
        let mut balancers = self.balancers.lock().await;
        let gone: Vec<String> = balancers
            .keys()
            .filter(|id| !wanted.contains_key(*id))
            .cloned()
            .collect();
        for id in gone {
            let container = self.containers.name("balancer", &id);
            self.containers.remove(&container).await?;
            balancers.remove(&id);
        }
        for (id, wiring) in wanted {
            let container = self.containers.name("balancer", id);
            if !balancers.contains_key(id) {
                let made = self.create_balancer(id, &container, wiring).await?;
                balancers.insert(id.clone(), made);
            }
            if let Some(state) = balancers.get_mut(id) {
                self.tell_balancer(&container, state, wiring).await?;
            }
        }
        Ok(())
    }

    async fn create_balancer(
        &self,
        id: &str,
        container: &str,
        wiring: &BalancerWiring,
    ) -> Result<BalancerState, SubstrateError> {
        let nic = wiring.host.nics.first();
        let nic = nic.ok_or_else(|| SubstrateError::Missing("a balancer without a port".into()))?;
        self.containers.need_image(BALANCER_IMAGE).await?;
        let network = self.ensure_network(&nic.network_id).await?;
        let body = ContainerCreateBody {
            image: Some(BALANCER_IMAGE.into()),
            hostname: Some("balancer".into()),
            labels: Some(self.containers.labels("balancer", id)),
            host_config: Some(HostConfig {
                network_mode: Some(network.clone()),
                cap_drop: Some(vec!["ALL".into()]),
                // It listens on low ports.
                cap_add: Some(vec!["NET_BIND_SERVICE".into()]),
                memory: Some(128 * MIB),
                ..Default::default()
            }),
            networking_config: Some(NetworkingConfig {
                endpoints_config: Some([(network, endpoint(None))].into()),
            }),
            ..Default::default()
        };
        self.containers.create(container, body).await?;
        self.containers.start(container).await?;
        let (pid, macs) = self
            .running(container, [&nic.network_id].into_iter())
            .await?;
        Ok(BalancerState {
            pid,
            macs,
            ..BalancerState::default()
        })
    }

    async fn tell_balancer(
        &self,
        container: &str,
        state: &mut BalancerState,
        wiring: &BalancerWiring,
    ) -> Result<(), SubstrateError> {
        let filter = script::server_filter(&wiring.host, &state.macs);
        let network = format!(
            "{filter}{}",
            script::server_network(&wiring.host, &state.macs)
        );
        if network != state.network {
            namespace::run(container, state.pid, &network).await?;
            state.network = network;
        }
        if wiring.configuration != state.configuration {
            let archive = seed::haproxy(&wiring.configuration)
                .map_err(|error| SubstrateError::Missing(format!("no archive: {error}")))?;
            self.containers.upload(container, archive).await?;
            // The first one is waited for; with the next ones, connections that are open go on with the old process.
            if !state.configuration.is_empty() {
                self.containers.signal(container, "SIGUSR2").await?;
            }
            state.configuration = wiring.configuration.clone();
        }
        Ok(())
    }
}
