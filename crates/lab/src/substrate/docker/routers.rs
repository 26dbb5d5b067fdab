//! Routers: containers with the interfaces and NAT rules of the wiring.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use bollard::models::{ContainerCreateBody, HostConfig, NetworkingConfig};

use crate::substrate::SubstrateError;
use crate::substrate::docker::containers::endpoint;
use crate::substrate::docker::script::DockerMacs;
use crate::substrate::docker::{DockerSubstrate, ROUTER_IMAGE, namespace, script};
use crate::wiring::RouterWiring;

/// The applied state of a router.
#[derive(Debug, Clone, Default)]
pub struct RouterState {
    /// The connected networks by id, with Docker's address on the external one, where Docker must not allocate it
    /// again.
    networks: BTreeMap<String, Option<Ipv4Addr>>,
    /// The process and the MAC addresses. `None` if they can have changed.
    process: Option<(i64, DockerMacs)>,
    /// The last applied script.
    applied_script: String,
}

impl RouterState {
    /// Discards the applied script and devices after changes by Docker.
    fn discard(&mut self) {
        self.process = None;
        self.applied_script.clear();
    }
}

fn wanted_legs(wiring: &RouterWiring) -> BTreeMap<String, Option<Ipv4Addr>> {
    let inside = wiring
        .inside
        .iter()
        .map(|nic| (nic.network_id.clone(), None));
    let outside = wiring.outside.as_ref().map(|outside| {
        let address = outside.nic.addresses.first().map(|(address, _)| *address);
        (outside.nic.network_id.clone(), address)
    });
    inside.chain(outside).collect()
}

impl DockerSubstrate {
    /// Creates and updates routers, and removes others. A failure of one does not affect the others; one of the errors
    /// is returned.
    pub(super) async fn wire_routers(
        &self,
        wanted: &BTreeMap<String, RouterWiring>,
    ) -> Result<(), SubstrateError> {
        let mut routers = self.routers.lock().await;
        let mut trouble = Ok(());
        let gone: Vec<String> = routers
            .keys()
            .filter(|id| !wanted.contains_key(*id))
            .cloned()
            .collect();
        for id in gone {
            let container = self.containers.name("router", &id);
            match self.containers.remove(&container).await {
                Ok(()) => drop(routers.remove(&id)),
                Err(error) => trouble = Err(error),
            }
        }
        for (id, wiring) in wanted {
            let result = self.wire_router(&mut routers, id, wiring).await;
            trouble = trouble.and(result);
        }
        trouble
    }

    async fn wire_router(
        &self,
        routers: &mut BTreeMap<String, RouterState>,
        id: &str,
        wiring: &RouterWiring,
    ) -> Result<(), SubstrateError> {
        let container = self.containers.name("router", id);
        let networks = wanted_legs(wiring);
        if !routers.contains_key(id) {
            self.create_router(id, &container, &networks).await?;
            // Docker connects a new container to its first network only.
            let first = networks
                .iter()
                .next()
                .map(|(network, address)| (network.clone(), *address));
            let state = RouterState {
                networks: first.into_iter().collect(),
                ..RouterState::default()
            };
            routers.insert(id.to_owned(), state);
        }
        let Some(state) = routers.get_mut(id) else {
            return Ok(());
        };
        self.change_legs(&container, state, &networks).await?;
        let (pid, macs) = match &state.process {
            Some(process) => process,
            None => state
                .process
                .insert(self.running(&container, networks.keys()).await?),
        };
        let script = script::router(wiring, macs);
        if script != state.applied_script {
            namespace::run(&container, *pid, &script).await?;
            state.applied_script = script;
        }
        Ok(())
    }

    async fn create_router(
        &self,
        id: &str,
        container: &str,
        networks: &BTreeMap<String, Option<Ipv4Addr>>,
    ) -> Result<(), SubstrateError> {
        let Some((network, address)) = networks.iter().next() else {
            return Ok(());
        };
        let network = self.ensure_network(network).await?;
        let endpoint = endpoint(address.map(|address| address.to_string()));
        let body = ContainerCreateBody {
            image: Some(ROUTER_IMAGE.into()),
            hostname: Some("router".into()),
            labels: Some(self.containers.labels("router", id)),
            host_config: Some(HostConfig {
                network_mode: Some(network.clone()),
                sysctls: Some(HashMap::from([("net.ipv4.ip_forward".into(), "1".into())])),
                cap_drop: Some(vec!["ALL".into()]),
                memory: Some(64 * crate::substrate::docker::MIB),
                ..Default::default()
            }),
            networking_config: Some(NetworkingConfig {
                endpoints_config: Some(HashMap::from([(network, endpoint)])),
            }),
            ..Default::default()
        };
        self.containers.create(container, body).await?;
        self.containers.start(container).await
    }

    async fn change_legs(
        &self,
        container: &str,
        state: &mut RouterState,
        wanted: &BTreeMap<String, Option<Ipv4Addr>>,
    ) -> Result<(), SubstrateError> {
        let off: Vec<String> = state
            .networks
            .iter()
            .filter(|(network, address)| wanted.get(*network) != Some(address))
            .map(|(network, _)| network.clone())
            .collect();
        for network in off {
            self.containers
                .unplug(&self.network_name(&network), container)
                .await?;
            state.networks.remove(&network);
            state.discard();
        }
        for (network, address) in wanted {
            if !state.networks.contains_key(network) {
                let name = self.ensure_network(network).await?;
                self.containers
                    .plug(&name, container, address.map(|address| address.to_string()))
                    .await?;
                state.networks.insert(network.clone(), *address);
                state.discard();
            }
        }
        Ok(())
    }
}
