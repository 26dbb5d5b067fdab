//! Start and stop of a lab.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::kit::faults::Faults;
use crate::kit::ip::Cidr;
use crate::services::Model;
use crate::services::cloud::Cloud;
use crate::services::leftovers::leftovers;
use crate::services::quota::Quotas;
use crate::services::router;
use crate::services::store::Store;
use crate::services::wiring::wiring;
use crate::substrate::docker::DockerSubstrate;
use crate::substrate::memory::MemorySubstrate;
use crate::substrate::{Close, Substrate};

/// The configuration of a lab.
#[derive(Debug, Clone)]
pub struct LabConfig {
    /// The address to listen on, loopback only. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// The directory of the state file. `None` keeps the state in memory only.
    pub state: Option<PathBuf>,
    /// The lab's name, part of the labels and names of its containers and networks.
    pub name: String,
    /// The range of the external network.
    pub public_cidr: Cidr,
    /// The backend of servers.
    pub backend: Backend,
    /// The default quotas.
    pub quotas: Quotas,
    /// The handling of containers and networks at shutdown.
    pub close: Close,
}

/// The backend of servers.
#[derive(Debug, Clone, Copy)]
pub enum Backend {
    /// Docker containers.
    Docker,
    /// No containers. Servers become ACTIVE after a delay.
    Memory(MemorySubstrate),
}

/// A running lab. Dropping it stops its listener; [`Lab::stop`] also writes its state and applies [`LabConfig::close`].
pub struct Lab {
    cloud: Arc<Cloud>,
    substrate: Arc<dyn Substrate>,
    address: SocketAddr,
    close: Close,
    shutdown: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

/// Time limit for open connections to end after the shutdown signal.
const GRACE: Duration = Duration::from_secs(2);

impl LabConfig {
    /// A lab in memory on a free port, without quotas and without a state directory. Servers are ACTIVE after 20 ms.
    pub fn memory() -> Self {
        let blink = Duration::from_millis(20);
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            state: None,
            name: "memory".into(),
            public_cidr: default_public_cidr(),
            backend: Backend::Memory(MemorySubstrate {
                active_after: blink,
                gone_after: blink,
            }),
            quotas: Quotas::unlimited(),
            close: Close::Remove,
        }
    }

    /// A lab on Docker with this name and public range, on a free port.
    pub fn docker(name: &str, public_cidr: Cidr) -> Self {
        Self {
            name: name.into(),
            public_cidr,
            backend: Backend::Docker,
            quotas: Quotas::default(),
            close: Close::Remove,
            ..Self::memory()
        }
    }
}

/// `172.30.0.0/24`: large enough for interactive use, and `172.16.0.0/12` is private.
pub fn default_public_cidr() -> Cidr {
    Cidr::new(Ipv4Addr::new(172, 30, 0, 0), 24)
}

impl Lab {
    /// A lab in memory on a free port, for tests.
    pub async fn memory() -> anyhow::Result<Self> {
        Self::start(LabConfig::memory()).await
    }

    /// Starts a lab. It is ready when this returns.
    pub async fn start(config: LabConfig) -> anyhow::Result<Self> {
        anyhow::ensure!(
            config.listen.ip().is_loopback(),
            "the lab listens on loopback only: its passwords are known to everybody, and {} is not a loopback address",
            config.listen.ip()
        );
        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("cannot listen on {}", config.listen))?;
        let address = listener.local_addr()?;
        let store = match &config.state {
            None => None,
            Some(directory) => Some(
                Store::new(directory)
                    .with_context(|| format!("cannot use {}", directory.display()))?,
            ),
        };
        let stored = match &store {
            None => None,
            Some(store) => store
                .load()
                .context("the state file cannot be read; `stackloom-lab reset` starts anew")?,
        };
        let mut model = match stored {
            Some(model) if model.public_cidr() == Some(config.public_cidr) => model,
            Some(_) => anyhow::bail!(
                "the kept state has another public range than {}; `stackloom-lab reset` starts anew",
                config.public_cidr
            ),
            None => Model::fresh(config.public_cidr),
        };
        model.quotas.set_defaults(config.quotas);
        let substrate: Arc<dyn Substrate> = match config.backend {
            Backend::Memory(memory) => Arc::new(memory),
            Backend::Docker => {
                Arc::new(DockerSubstrate::new(&config.name, config.public_cidr).await?)
            }
        };
        substrate.open().await?;
        let cloud = Cloud::new(model, Arc::clone(&substrate), store, wiring);
        let wirer = Arc::clone(&cloud);
        let wire = tokio::spawn(async move { wirer.run_wiring().await });
        cloud.apply_wiring().await;
        cloud.resume_servers();
        cloud.resume_volumes();
        cloud.resume_attachments();
        cloud.resume_balancers();

        let (shutdown, stopped) = watch::channel(false);
        let app = router::app(Arc::clone(&cloud));
        let serve = tokio::spawn(async move {
            let mut until = stopped;
            let stop = async move {
                let _ = until.wait_for(|stop| *stop).await;
            };
            if let Err(error) = axum::serve(listener, app)
                .with_graceful_shutdown(stop)
                .await
            {
                tracing::error!(%error, "the listener ended");
            }
        });
        let saver = Arc::clone(&cloud);
        let save = tokio::spawn(async move { saver.run_saving().await });
        let looker = Arc::clone(&cloud);
        let look = tokio::spawn(async move { looker.watch_servers().await });
        Ok(Self {
            cloud,
            substrate,
            address,
            close: config.close,
            shutdown,
            tasks: vec![serve, save, look, wire],
        })
    }

    /// The address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Keystone's URL, for a clouds.yaml.
    pub fn auth_url(&self) -> String {
        format!("{}/identity/v3", self.url())
    }

    /// The armed faults and the log of calls.
    pub fn faults(&self) -> &Faults {
        &self.cloud.faults
    }

    /// The existing resources, by project name.
    pub fn leftovers(&self) -> BTreeMap<String, Vec<String>> {
        self.cloud.read(leftovers)
    }

    /// Reads the model.
    pub fn model<R>(&self, look: impl FnOnce(&Model) -> R) -> R {
        self.cloud.read(look)
    }

    /// Stops the lab: ends the listener, writes the state, and keeps or removes the containers as configured.
    pub async fn stop(mut self) {
        self.shutdown.send_replace(true);
        if let Some(serve) = self.tasks.first_mut() {
            let _ = tokio::time::timeout(GRACE, serve).await;
        }
        self.cloud.save();
        self.cloud.close_all_metadata();
        self.cloud.stop_wiring().await;
        if let Err(error) = self.substrate.close(self.close).await {
            tracing::error!(%error, "not everything could be taken down");
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
