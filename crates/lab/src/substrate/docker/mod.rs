//! Servers and routers as containers, networks as bridges.
//!
//! | OpenStack | Docker |
//! | --- | --- |
//! | network | an internal bridge network, created with the first port; Docker's own addresses on it are temporary |
//! | external network | a bridge network with the public range; the host is its gateway |
//! | router | a small container with an interface in each network; forwards and translates |
//! | load balancer | a small container with HAProxy on its VIP port |
//! | server | a container with systemd, sshd and cloud-init, and the flavor's memory limit |
//! | server's image | a Docker image of its container; uploaded Glance images boot Debian |
//! | paused, suspended | a paused container; a shelved server is a stopped one |
//! | metadata service | the lab itself, listening on 169.254.169.254 inside each server's namespace |
//! | volume | a sparse file behind a loop device with a node in the server; see `disks` for its limits |
//! | port, security groups | addresses, routes and an nftables rule set inside the server's network namespace |
//!
//! Servers have no rights over their own network: the lab configures their namespace from outside, and lets systemd
//! create control groups below the container's. The boot waits for this. All objects have the label `stackloom.lab=<name>`.

mod balancers;
mod containers;
mod disks;
mod host;
mod link_local;
mod namespace;
mod networks;
mod nft;
mod nodes;
mod routers;
mod script;
mod seed;
mod servers;
mod volumes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use async_trait::async_trait;
use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigCgroupnsModeEnum, NetworkingConfig,
};
use futures::StreamExt as _;
use tokio::sync::Mutex;

use crate::kit::ids::{host_name, stable_id};
use crate::kit::ip::Cidr;
use crate::kit::named_locks::NamedLocks;
use crate::substrate::docker::balancers::BalancerState;
use crate::substrate::docker::containers::{Containers, endpoint};
use crate::substrate::docker::disks::Disks;
use crate::substrate::docker::host::{HostRules, TENANT_BRIDGE};
use crate::substrate::docker::routers::RouterState;
use crate::substrate::docker::script::DockerMacs;
use crate::substrate::{Close, Power, ServerSpec, Substrate, SubstrateError, VolumeSpec};
use crate::wiring::{BalancerWiring, Wiring};

/// The image of servers.
pub const SERVER_IMAGE: &str = "stackloom-lab-server";
/// The image of routers.
pub const ROUTER_IMAGE: &str = "stackloom-lab-router";

/// The image of load balancers.
pub const BALANCER_IMAGE: &str = "stackloom-lab-balancer";

/// Maximum number of concurrent calls and scripts.
const PARALLEL: usize = 8;

const MIB: i64 = 1024 * 1024;

/// The Docker backend.
pub struct DockerSubstrate {
    containers: Containers,
    host: HostRules,
    disks: Disks,
    public: Cidr,
    /// The external network's Neutron id.
    public_id: String,
    lab: String,
    name_servers: Vec<Ipv4Addr>,
    /// Ids of the Neutron networks with a Docker network.
    networks: Mutex<HashSet<String>>,
    /// The state of running servers.
    servers: std::sync::Mutex<HashMap<String, ServerState>>,
    /// Locks per server, so that the recorded state is the last applied one.
    server_locks: NamedLocks,
    routers: Mutex<BTreeMap<String, RouterState>>,
    balancers: Mutex<BTreeMap<String, BalancerState>>,
}

#[derive(Debug, Clone, Default)]
struct ServerState {
    pid: i64,
    macs: DockerMacs,
    network: String,
    filter: String,
}

impl DockerSubstrate {
    /// A backend for the lab with this name and public range.
    pub async fn new(lab: &str, public: Cidr) -> Result<Self, SubstrateError> {
        Ok(Self {
            containers: Containers::connect(lab).await?,
            host: HostRules::new(lab),
            disks: Disks::new(lab),
            public,
            public_id: stable_id("network/public"),
            lab: lab.into(),
            name_servers: host::name_servers(),
            networks: Mutex::default(),
            servers: std::sync::Mutex::default(),
            server_locks: NamedLocks::default(),
            routers: Mutex::default(),
            balancers: Mutex::default(),
        })
    }

    /// Removes all objects with the lab's label.
    pub async fn reset(&self) -> Result<(), SubstrateError> {
        let containers = self.containers.list().await?;
        let removals: Vec<_> = containers
            .iter()
            .map(|found| self.containers.remove(&found.docker_id))
            .collect();
        for result in futures::stream::iter(removals)
            .buffer_unordered(PARALLEL)
            .collect::<Vec<_>>()
            .await
        {
            result?;
        }
        for found in self.containers.list_networks().await? {
            self.containers.remove_network(&found.docker_id).await?;
        }
        for image in self.containers.list_images().await? {
            self.containers.remove_image(&image).await?;
        }
        self.disks.reset().await?;
        self.host.close().await?;
        self.networks.lock().await.clear();
        self.routers.lock().await.clear();
        self.balancers.lock().await.clear();
        self.known_servers().clear();
        Ok(())
    }
}

#[async_trait]
impl Substrate for DockerSubstrate {
    async fn open(&self) -> Result<(), SubstrateError> {
        namespace::check().await?;
        self.disks.check().await;
        self.containers.need_image(SERVER_IMAGE).await?;
        self.containers.need_image(ROUTER_IMAGE).await?;
        for found in self.containers.list_networks().await? {
            self.networks.lock().await.insert(found.id);
        }
        self.host.open(&self.public).await?;
        self.ensure_public().await?;
        let known: Vec<String> = self
            .networks
            .lock()
            .await
            .iter()
            .filter(|id| **id != self.public_id)
            .cloned()
            .collect();
        for id in known {
            self.host
                .allow_within(&self.bridge(TENANT_BRIDGE, &id))
                .await?;
        }
        // Routers and load balancers are recreated: this is quick, and their state is unknown.
        for found in self
            .containers
            .list()
            .await?
            .into_iter()
            .filter(|found| matches!(found.kind.as_str(), "router" | "balancer"))
        {
            self.containers.remove(&found.docker_id).await?;
        }
        Ok(())
    }

    async fn server_start(&self, spec: &ServerSpec) -> Result<(), SubstrateError> {
        let container = self.containers.name("server", &spec.id);
        let mut networks = Vec::new();
        for nic in &spec.wiring.nics {
            let name = self.ensure_network(&nic.network_id).await?;
            if networks.contains(&name) {
                return Err(SubstrateError::Missing(
                    "the lab cloud cannot plug a server into one network twice".into(),
                ));
            }
            networks.push(name);
        }
        // Without it, root cannot see the program of another user's process, and init scripts do not stop services
        // (`start-stop-daemon --exec`). It reaches processes of the same container only.
        let mut capabilities = vec!["SYS_PTRACE".to_owned()];
        // A server that shares a virtual address puts it on its device by itself. It could also remove its packet
        // filter, which is in the same namespace, so others do without.
        if spec.wiring.nics.iter().any(|nic| !nic.pairs.is_empty()) {
            capabilities.push("NET_ADMIN".to_owned());
        }
        let memory = i64::from(spec.ram_mib) * MIB;
        let first = networks.first().cloned();
        let of_a_server = self.containers.name("image", &spec.image);
        let image = if self.containers.has_image(&of_a_server).await {
            of_a_server
        } else {
            SERVER_IMAGE.to_owned()
        };
        let body = ContainerCreateBody {
            image: Some(image),
            hostname: Some(host_name(&spec.name)),
            labels: Some(self.containers.labels("server", &spec.id)),
            host_config: Some(HostConfig {
                network_mode: Some(first.clone().unwrap_or_else(|| "none".into())),
                memory: Some(memory),
                memory_swap: Some(memory),
                pids_limit: Some(2048),
                // Volumes are loop devices. Only the lab can create their nodes; see `disks`.
                device_cgroup_rules: Some(vec!["b 7:* rw".into()]),
                cap_drop: Some(vec!["MKNOD".into()]),
                cap_add: Some(capabilities),
                // Where systemd puts the control groups of services; see `namespace::allow_control_groups`.
                cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
                tmpfs: Some(HashMap::from([
                    ("/run".into(), "rw,exec,mode=755".into()),
                    ("/run/lock".into(), "rw,mode=1777".into()),
                ])),
                ..Default::default()
            }),
            networking_config: first.map(|first| NetworkingConfig {
                endpoints_config: Some(HashMap::from([(first, endpoint(None))])),
            }),
            ..Default::default()
        };
        self.containers.create(&container, body).await?;
        for network in networks.iter().skip(1) {
            self.containers.plug(network, &container, None).await?;
        }
        self.boot(spec).await
    }

    async fn server_power(&self, spec: &ServerSpec, power: Power) -> Result<(), SubstrateError> {
        let container = self.containers.name("server", &spec.id);
        match power {
            Power::Pause | Power::Suspend => return self.containers.pause(&container).await,
            Power::Unpause | Power::Resume => {
                self.containers.unpause(&container).await?;
                let known = self.known_servers().contains_key(&spec.id);
                if known && self.containers.running(&container).await.is_ok() {
                    return Ok(());
                }
            }
            Power::Stop | Power::Shelve | Power::Reboot => {
                self.known_servers().remove(&spec.id);
                // A paused container cannot be stopped.
                self.containers.unpause(&container).await?;
                self.containers.stop(&container).await?;
            }
            Power::Start | Power::Unshelve => {}
        }
        if power.ends_running() {
            // Ports can have been attached while it was off.
            for nic in &spec.wiring.nics {
                let network = self.ensure_network(&nic.network_id).await?;
                self.containers.plug(&network, &container, None).await?;
            }
            self.boot(spec).await?;
        }
        Ok(())
    }

    async fn server_resize(&self, spec: &ServerSpec) -> Result<(), SubstrateError> {
        let container = self.containers.name("server", &spec.id);
        let memory = i64::from(spec.ram_mib) * MIB;
        self.containers.limit_memory(&container, memory).await
    }

    async fn server_update_interfaces(&self, spec: &ServerSpec) -> Result<(), SubstrateError> {
        let _telling = self.server_locks.lock(&spec.id).await;
        let Some(state) = self.known_servers().get(&spec.id).cloned() else {
            // It is not running. Its next boot applies the whole wiring.
            return Ok(());
        };
        let container = self.containers.name("server", &spec.id);
        let wanted: Vec<&String> = spec.wiring.nics.iter().map(|nic| &nic.network_id).collect();
        for gone in state.macs.keys().filter(|id| !wanted.contains(id)) {
            let network = self.network_name(gone);
            self.containers.unplug(&network, &container).await?;
        }
        for new in wanted.iter().filter(|id| !state.macs.contains_key(**id)) {
            let network = self.ensure_network(new).await?;
            self.containers.plug(&network, &container, None).await?;
        }
        let (pid, macs) = self.running(&container, wanted.into_iter()).await?;
        if let Some(known) = self.known_servers().get_mut(&spec.id) {
            // The recorded wiring belongs to the old devices.
            *known = ServerState {
                pid,
                macs,
                ..ServerState::default()
            };
        }
        self.apply_server_wiring(&spec.id, &spec.wiring).await
    }

    async fn server_remove(&self, id: &str) -> Result<(), SubstrateError> {
        self.known_servers().remove(id);
        self.containers
            .remove(&self.containers.name("server", id))
            .await?;
        self.server_locks.remove(id);
        Ok(())
    }

    async fn servers_dead(&self, ids: &[String]) -> Result<Vec<String>, SubstrateError> {
        let found = self.containers.list().await?;
        let up: HashSet<&str> = found
            .iter()
            .filter(|found| found.kind == "server" && found.up)
            .map(|found| found.id.as_str())
            .collect();
        let dead = ids.iter().filter(|id| !up.contains(id.as_str()));
        Ok(dead.cloned().collect())
    }

    async fn image_create(&self, image: &str, server: &str) -> Result<(), SubstrateError> {
        self.containers
            .commit(
                &self.containers.name("server", server),
                &self.containers.name("image", image),
            )
            .await
    }

    async fn image_remove(&self, image: &str) -> Result<(), SubstrateError> {
        self.containers
            .remove_image(&self.containers.name("image", image))
            .await
    }

    async fn console(&self, id: &str) -> Result<String, SubstrateError> {
        self.containers
            .logs(&self.containers.name("server", id))
            .await
    }

    async fn volume_create(&self, spec: &VolumeSpec) -> Result<(), SubstrateError> {
        self.disks.create(spec).await
    }

    async fn volume_remove(&self, id: &str) -> Result<(), SubstrateError> {
        self.disks.remove(id).await
    }

    async fn volume_copy(&self, id: &str, source: &str) -> Result<(), SubstrateError> {
        self.disks.copy(id, source).await
    }

    async fn volume_plug(
        &self,
        server: &str,
        volume: &str,
        device: &str,
    ) -> Result<(), SubstrateError> {
        self.plug_volume(server, volume, device).await
    }

    async fn volume_unplug(
        &self,
        server: &str,
        volume: &str,
        device: &str,
    ) -> Result<(), SubstrateError> {
        self.unplug_volume(server, volume, device).await
    }

    async fn metadata_listener(&self, id: &str) -> Result<Option<TcpListener>, SubstrateError> {
        let Some(pid) = self.process_of(id) else {
            return Ok(None);
        };
        let listener = link_local::listen(pid).map_err(|error| SubstrateError::Command {
            doing: format!("listening for server {id} at {}", link_local::ADDRESS),
            output: error.to_string(),
        })?;
        Ok(Some(listener))
    }

    fn simulated_delay(&self) -> Duration {
        Duration::ZERO
    }

    fn has_wiring(&self) -> bool {
        true
    }

    async fn wiring_lost(&self) -> bool {
        // The locks prevent changes during the check.
        let mut routers = self.routers.lock().await;
        let mut balancers = self.balancers.lock().await;
        if routers.is_empty() && balancers.is_empty() {
            return false;
        }
        let Ok(found) = self.containers.list().await else {
            return false;
        };
        let up = |kind: &str, id: &str| {
            let mut found = found.iter();
            found.any(|found| found.up && found.kind == kind && found.id == id)
        };
        let before = routers.len() + balancers.len();
        routers.retain(|id, _| up("router", id));
        balancers.retain(|id, _| up("balancer", id));
        before > routers.len() + balancers.len()
    }

    async fn balancer_is_running(&self, id: &str, wanted: Option<&BalancerWiring>) -> bool {
        let balancers = self.balancers.lock().await;
        match (balancers.get(id), wanted) {
            (None, None) => true,
            (Some(state), Some(wanted)) => state.is_running(wanted),
            _ => false,
        }
    }

    async fn wire(&self, wiring: &Wiring) -> Result<(), SubstrateError> {
        let mut trouble = self.wire_routers(&wiring.routers).await.err();
        if let Err(error) = self.wire_balancers(&wiring.balancers).await {
            trouble = Some(error);
        }
        let changes: Vec<_> = wiring
            .servers
            .iter()
            .map(|(id, server)| self.rewire_server(id, server))
            .collect();
        for result in futures::stream::iter(changes)
            .buffer_unordered(PARALLEL)
            .collect::<Vec<_>>()
            .await
        {
            if let Err(error) = result {
                trouble = Some(error);
            }
        }
        self.drop_unknown_networks(wiring).await;
        trouble.map_or(Ok(()), Err)
    }

    async fn close(&self, how: Close) -> Result<(), SubstrateError> {
        match how {
            Close::Keep => self.host.close().await,
            Close::Remove => self.reset().await,
        }
    }
}
