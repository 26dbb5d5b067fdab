//! Load balancers: a container with HAProxy on the port of the address, behind a packet filter like a server's. It has no right
//! over its own network either: the lab sets it from outside, and hands it a configuration whenever that changes.
//!
//! That a configuration was handed over does not mean that it is the one that runs: HAProxy reads a file and takes a signal, and
//! the kernel keeps back from a container's first process every signal that it does not handle yet. One that comes while HAProxy
//! starts is lost, and HAProxy goes on with what it read before. So each configuration has a name, which HAProxy tells to who
//! asks at a port inside; the lab asks until it hears the right one, and repeats the signal now and then.
//!
//! Members elsewhere than on the address's network are reached through that network's gateway, as a server would.

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

/// The command that makes HAProxy reload its configuration.
const RELOAD: &str = "SIGUSR2";
/// Where HAProxy tells which configuration it has.
const TELLS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 1);
/// It answers at once, if at all.
const ANSWER: Duration = Duration::from_secs(1);
/// A new configuration is waited for so long before the lab turns to other things, and looks again later.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two questions.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// A signal that nothing came of is repeated after this time, and then after twice as long each time.
const NUDGE: Duration = Duration::from_millis(500);
/// At least this often.
const NUDGE_AT_MOST: Duration = Duration::from_secs(10);

/// The configuration that a balancer got last.
#[derive(Debug, Clone)]
pub struct BalancerState {
    pid: i64,
    macs: DockerMacs,
    network: String,
    configuration: String,
    /// Whether it was heard to have this configuration.
    agreed: bool,
    nudged: Instant,
    nudge_after: Duration,
}

impl BalancerState {
    /// Whether it has what it should have.
    pub fn follows(&self, wanted: &BalancerWiring) -> bool {
        self.agreed && self.configuration == wanted.configuration
    }
}

/// A configuration with its name, and that name. What is cut off in the middle tells none.
fn named(configuration: &str) -> (String, String) {
    let name = digest(configuration);
    let (address, port) = TELLS;
    let tells = format!(
        "frontend lab\n  mode http\n  bind {address}:{port}\n  http-request return status 200 content-type text/plain string {name}\n"
    );
    (format!("{configuration}{tells}"), name)
}

/// Whether HAProxy in this process's network has the configuration of this name.
async fn has(pid: i64, name: &str) -> bool {
    let ask = move || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&SocketAddr::from(TELLS), ANSWER)?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        Ok(said)
    };
    let said = tokio::task::spawn_blocking(move || namespace::within(pid, ask)).await;
    matches!(said, Ok(Ok(said)) if said.ends_with(name))
}

impl DockerSubstrate {
    /// Make load balancers as told: those that are not there, those that have changed, and away with the rest. One that cannot be
    /// made to follow is no reason to leave the others.
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
            let told = self.wire_balancer(&mut balancers, id, wiring).await;
            trouble = trouble.and(told);
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
        self.tell_balancer(&container, state, wiring).await
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
            network: String::new(),
            configuration: String::new(),
            agreed: false,
            nudged: Instant::now(),
            nudge_after: NUDGE,
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
        let (configuration, name) = named(&wiring.configuration);
        let mut until = Instant::now();
        if wiring.configuration != state.configuration {
            let archive = seed::haproxy(&configuration)
                .map_err(|error| SubstrateError::Missing(format!("no archive: {error}")))?;
            self.containers.upload(container, archive).await?;
            state.agreed = false;
            // The first one is waited for inside; with the next ones, connections that are open go on with the old process.
            if !state.configuration.is_empty() {
                self.containers.signal(container, RELOAD).await?;
            }
            state.configuration.clone_from(&wiring.configuration);
            state.nudged = Instant::now();
            state.nudge_after = NUDGE;
            until += PATIENCE;
        }
        while !state.agreed {
            if has(state.pid, &name).await {
                state.agreed = true;
                break;
            }
            if state.nudged.elapsed() >= state.nudge_after {
                self.containers.signal(container, RELOAD).await?;
                state.nudged = Instant::now();
                state.nudge_after = (state.nudge_after * 2).min(NUDGE_AT_MOST);
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
