//! Load balancers: containers with HAProxy on the VIP port, behind a packet filter like servers. The containers have no
//! rights over their network: the lab configures it from outside, and uploads each new configuration.
//!
//! An uploaded configuration is not necessarily running. HAProxy reloads on a signal, and the kernel drops signals that
//! the first process of a container does not handle yet. A signal during the start of HAProxy is lost, and HAProxy
//! keeps the configuration that it read before. So each configuration contains its digest, which HAProxy returns on a
//! local port. The lab polls that port until the digest matches, and repeats the signal with increasing pauses.
//!
//! Members outside of the VIP's network are reached through that network's gateway, as from a server.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bollard::models::{ContainerCreateBody, HostConfig, NetworkingConfig};

use crate::kit::ids::digest;
use crate::substrate::SubstrateError;
use crate::substrate::docker::containers::endpoint;
use crate::substrate::docker::script::DockerMacs;
use crate::substrate::docker::{BALANCER_IMAGE, DockerSubstrate, MIB, namespace, script, seed};
use crate::wiring::BalancerWiring;

/// The signal that makes HAProxy reload its configuration.
const RELOAD: &str = "SIGUSR2";
/// The local address where HAProxy returns the digest of its configuration.
const STATUS_ADDRESS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 1);
/// Timeout of a poll. A running HAProxy responds immediately.
const ANSWER: Duration = Duration::from_secs(1);
/// Maximum time per pass to wait for a new configuration. The next pass checks again.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two polls.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// Time until an ineffective signal is repeated. It doubles each time.
const RELOAD_RETRY: Duration = Duration::from_millis(500);
/// Upper limit of that time.
const RELOAD_RETRY_MAX: Duration = Duration::from_secs(10);

/// The state of a balancer's container.
#[derive(Debug, Clone)]
pub struct BalancerState {
    pid: i64,
    macs: DockerMacs,
    network: String,
    configuration: String,
    /// Whether HAProxy has confirmed this configuration.
    confirmed: bool,
    signalled_at: Instant,
    retry_after: Duration,
}

impl BalancerState {
    /// Whether HAProxy runs this configuration.
    pub fn is_running(&self, wanted: &BalancerWiring) -> bool {
        self.confirmed && self.configuration == wanted.configuration
    }
}

/// A configuration that returns its digest, and the digest. The frontend is last, so a truncated configuration returns
/// nothing.
fn with_digest(configuration: &str) -> (String, String) {
    let name = digest(configuration);
    let (address, port) = STATUS_ADDRESS;
    let frontend = format!(
        "frontend lab\n  mode http\n  bind {address}:{port}\n  http-request return status 200 content-type text/plain string {name}\n"
    );
    (format!("{configuration}{frontend}"), name)
}

/// Whether HAProxy in this process's network namespace runs the configuration with this digest.
async fn has(pid: i64, name: &str) -> bool {
    let ask = move || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&SocketAddr::from(STATUS_ADDRESS), ANSWER)?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = tokio::task::spawn_blocking(move || namespace::within(pid, ask)).await;
    matches!(answer, Ok(Ok(answer)) if answer.ends_with(name))
}

impl DockerSubstrate {
    /// Creates and updates load balancers, and removes others. A failure of one does not affect the others; one of the
    /// errors is returned.
    pub(super) async fn wire_balancers(
        &self,
        wanted: &BTreeMap<String, BalancerWiring>,
    ) -> Result<(), SubstrateError> {
        let mut balancers = self.balancers.lock().await;
        let mut trouble = Ok(());
        let gone: Vec<String> = balancers
            .keys()
            .filter(|id| !wanted.contains_key(*id))
            .cloned()
            .collect();
        for id in gone {
            let container = self.containers.name("balancer", &id);
            match self.containers.remove(&container).await {
                Ok(()) => drop(balancers.remove(&id)),
                Err(error) => trouble = Err(error),
            }
        }
        for (id, wiring) in wanted {
            let result = self.wire_balancer(&mut balancers, id, wiring).await;
            trouble = trouble.and(result);
        }
        trouble
    }

    async fn wire_balancer(
        &self,
        balancers: &mut BTreeMap<String, BalancerState>,
        id: &str,
        wiring: &BalancerWiring,
    ) -> Result<(), SubstrateError> {
        let container = self.containers.name("balancer", id);
        if !balancers.contains_key(id) {
            let made = self.create_balancer(id, &container, wiring).await?;
            balancers.insert(id.to_owned(), made);
        }
        let Some(state) = balancers.get_mut(id) else {
            return Ok(());
        };
        self.apply_balancer_wiring(&container, state, wiring).await
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
                // For listeners on ports below 1024.
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
            network: String::new(),
            configuration: String::new(),
            confirmed: false,
            signalled_at: Instant::now(),
            retry_after: RELOAD_RETRY,
        })
    }

    async fn apply_balancer_wiring(
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
        let (configuration, name) = with_digest(&wiring.configuration);
        let mut until = Instant::now();
        if wiring.configuration != state.configuration {
            let archive = seed::haproxy(&configuration)
                .map_err(|error| SubstrateError::Missing(format!("no archive: {error}")))?;
            self.containers.upload(container, archive).await?;
            state.confirmed = false;
            // The container waits for the first configuration. On a reload, the old process continues to serve its open
            // connections.
            if !state.configuration.is_empty() {
                self.containers.signal(container, RELOAD).await?;
            }
            state.configuration.clone_from(&wiring.configuration);
            state.signalled_at = Instant::now();
            state.retry_after = RELOAD_RETRY;
            until += PATIENCE;
        }
        while !state.confirmed {
            if has(state.pid, &name).await {
                state.confirmed = true;
                break;
            }
            if state.signalled_at.elapsed() >= state.retry_after {
                self.containers.signal(container, RELOAD).await?;
                state.signalled_at = Instant::now();
                state.retry_after = (state.retry_after * 2).min(RELOAD_RETRY_MAX);
            }
            if Instant::now() >= until {
                return Err(SubstrateError::Command {
                    doing: format!("telling {container} its configuration"),
                    output: "it has another one".into(),
                });
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        Ok(())
    }
}
