//! The calls to Docker, with errors that contain the failed operation.

use std::collections::HashMap;
use std::time::Duration;

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::models::{
    ContainerConfig, ContainerCreateBody, ContainerUpdateBody, EndpointIpamConfig,
    EndpointSettings, Ipam, IpamConfig, NetworkConnectRequest, NetworkCreateRequest,
    NetworkDisconnectRequest,
};
use bollard::query_parameters::{
    CommitContainerOptionsBuilder, CreateContainerOptionsBuilder, KillContainerOptionsBuilder,
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, ListNetworksOptionsBuilder,
    LogsOptionsBuilder, RemoveContainerOptionsBuilder, RemoveImageOptionsBuilder,
    StopContainerOptionsBuilder, UploadToContainerOptionsBuilder,
};
use futures::StreamExt as _;

use crate::substrate::SubstrateError;

/// The label of all objects of a lab. The value is the lab's name.
pub const LAB_LABEL: &str = "stackloom.lab";
/// The label for the type of an object: `server`, `router`, `network`, `public`.
pub const KIND_LABEL: &str = "stackloom.lab.kind";
/// The label for the id of the OpenStack resource.
pub const ID_LABEL: &str = "stackloom.lab.id";

/// Attempts to pause a container, and the time between two.
const PAUSE_TRIES: u32 = 10;
const PAUSE_AGAIN: Duration = Duration::from_millis(200);

/// The Docker client of a lab.
#[derive(Debug, Clone)]
pub struct Containers {
    docker: Docker,
    lab: String,
}

/// An object of the lab in Docker.
#[derive(Debug, Clone)]
pub struct Found {
    /// Docker's id.
    pub docker_id: String,
    /// `server`, `router`, ...
    pub kind: String,
    /// The id of the OpenStack resource.
    pub id: String,
    /// Whether it is running or paused.
    pub up: bool,
}

/// The network details of a running container.
#[derive(Debug, Clone)]
pub struct Running {
    /// The id of its first process in the host's PID namespace.
    pub pid: i64,
    /// MAC addresses by network name.
    pub macs: HashMap<String, String>,
}

fn wrap(doing: impl Into<String>) -> impl FnOnce(Error) -> SubstrateError {
    move |source| SubstrateError::Docker {
        doing: doing.into(),
        source,
    }
}

/// Whether this is Docker's error with this status.
fn has_status(error: &Error, wanted: u16) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code, .. } if *status_code == wanted)
}

impl Containers {
    /// Connects to Docker.
    pub async fn connect(lab: &str) -> Result<Self, SubstrateError> {
        let missing = |error: Error| {
            SubstrateError::Missing(format!(
                "Docker does not answer ({error}); is `dockerd` running, and may this user talk to it?"
            ))
        };
        let docker = Docker::connect_with_local_defaults().map_err(missing)?;
        // A daemon rejects calls with a newer API version, so the version is negotiated first.
        let docker = docker.negotiate_version().await.map_err(missing)?;
        Ok(Self {
            docker,
            lab: lab.into(),
        })
    }

    /// The name of an object.
    pub fn name(&self, kind: &str, id: &str) -> String {
        format!("stackloom-{}-{kind}-{id}", self.lab)
    }

    /// The labels of an object.
    pub fn labels(&self, kind: &str, id: &str) -> HashMap<String, String> {
        let pairs = [
            (LAB_LABEL, self.lab.as_str()),
            (KIND_LABEL, kind),
            (ID_LABEL, id),
        ];
        pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn filter(&self) -> HashMap<String, Vec<String>> {
        HashMap::from([(
            "label".to_owned(),
            vec![format!("{LAB_LABEL}={}", self.lab)],
        )])
    }

    /// Requires an image.
    pub async fn need_image(&self, image: &str) -> Result<(), SubstrateError> {
        match self.docker.inspect_image(image).await {
            Ok(_) => Ok(()),
            Err(error) if has_status(&error, 404) => Err(SubstrateError::Missing(format!(
                "the image `{image}` is not there; `cargo xtask build` makes it"
            ))),
            Err(error) => Err(wrap(format!("looking for the image {image}"))(error)),
        }
    }

    /// All containers of the lab.
    pub async fn list(&self) -> Result<Vec<Found>, SubstrateError> {
        let options = ListContainersOptionsBuilder::default()
            .all(true)
            .filters(&self.filter())
            .build();
        let rows = self
            .docker
            .list_containers(Some(options))
            .await
            .map_err(wrap("listing containers"))?;
        Ok(rows
            .into_iter()
            .filter_map(|row| {
                let labels = row.labels.unwrap_or_default();
                let state = row.state.map(|state| state.to_string());
                Some(Found {
                    up: matches!(state.as_deref(), Some("running" | "paused" | "restarting")),
                    docker_id: row.id?,
                    kind: labels.get(KIND_LABEL).cloned().unwrap_or_default(),
                    id: labels.get(ID_LABEL).cloned().unwrap_or_default(),
                })
            })
            .collect())
    }

    /// All networks of the lab.
    pub async fn list_networks(&self) -> Result<Vec<Found>, SubstrateError> {
        let options = ListNetworksOptionsBuilder::default()
            .filters(&self.filter())
            .build();
        let rows = self
            .docker
            .list_networks(Some(options))
            .await
            .map_err(wrap("listing networks"))?;
        Ok(rows
            .into_iter()
            .filter_map(|row| {
                let labels = row.labels.unwrap_or_default();
                Some(Found {
                    up: true,
                    docker_id: row.id?,
                    kind: labels.get(KIND_LABEL).cloned().unwrap_or_default(),
                    id: labels.get(ID_LABEL).cloned().unwrap_or_default(),
                })
            })
            .collect())
    }

    /// Creates a container. An existing one with the same name is removed first.
    pub async fn create(
        &self,
        name: &str,
        body: ContainerCreateBody,
    ) -> Result<(), SubstrateError> {
        let options = || Some(CreateContainerOptionsBuilder::default().name(name).build());
        match self.docker.create_container(options(), body.clone()).await {
            Err(error) if has_status(&error, 409) => {
                self.remove(name).await?;
                self.docker
                    .create_container(options(), body)
                    .await
                    .map_err(wrap(format!("making the container {name}")))?;
            }
            other => {
                other.map_err(wrap(format!("making the container {name}")))?;
            }
        }
        Ok(())
    }

    /// Uploads files to a container: a tar archive, unpacked at the root.
    pub async fn upload(&self, name: &str, archive: Vec<u8>) -> Result<(), SubstrateError> {
        let options = UploadToContainerOptionsBuilder::default().path("/").build();
        let body = bollard::body_full(archive.into());
        self.docker
            .upload_to_container(name, Some(options), body)
            .await
            .map_err(wrap(format!("uploading to {name}")))
    }

    /// Starts a container. No error if it is running.
    pub async fn start(&self, name: &str) -> Result<(), SubstrateError> {
        match self.docker.start_container(name, None).await {
            Err(error) if has_status(&error, 304) => Ok(()),
            other => other.map_err(wrap(format!("starting {name}"))),
        }
    }

    /// Stops a container. No error if it is stopped or missing.
    pub async fn stop(&self, name: &str) -> Result<(), SubstrateError> {
        let options = StopContainerOptionsBuilder::default().t(5).build();
        match self.docker.stop_container(name, Some(options)).await {
            Err(error) if has_status(&error, 304) || has_status(&error, 404) => Ok(()),
            other => other.map_err(wrap(format!("stopping {name}"))),
        }
    }

    /// Pauses a container. No error if it is paused. On a busy machine, the kernel may not freeze all its processes in the
    /// time that runc gives it; so that is tried again.
    pub async fn pause(&self, name: &str) -> Result<(), SubstrateError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.docker.pause_container(name).await {
                Err(error) if error.to_string().contains("already paused") => return Ok(()),
                Err(error) if tries < PAUSE_TRIES && error.to_string().contains("freeze") => {
                    tokio::time::sleep(PAUSE_AGAIN).await;
                }
                other => return other.map_err(wrap(format!("pausing {name}"))),
            }
        }
    }

    /// Unpauses a container. No error if it is not paused or missing.
    pub async fn unpause(&self, name: &str) -> Result<(), SubstrateError> {
        match self.docker.unpause_container(name).await {
            Err(error)
                if has_status(&error, 404)
                    || has_status(&error, 409)
                    || error.to_string().contains("not paused") =>
            {
                Ok(())
            }
            other => other.map_err(wrap(format!("unpausing {name}"))),
        }
    }

    /// Sends a signal to a container's first process.
    pub async fn signal(&self, name: &str, signal: &str) -> Result<(), SubstrateError> {
        let options = KillContainerOptionsBuilder::default()
            .signal(signal)
            .build();
        self.docker
            .kill_container(name, Some(options))
            .await
            .map_err(wrap(format!("sending {signal} to {name}")))
    }

    /// Creates an image from a container's current files.
    pub async fn commit(&self, name: &str, image: &str) -> Result<(), SubstrateError> {
        let options = CommitContainerOptionsBuilder::default()
            .container(name)
            .repo(image)
            .pause(true)
            .build();
        let body = ContainerConfig {
            labels: Some(self.labels("image", image)),
            ..Default::default()
        };
        self.docker
            .commit_container(options, body)
            .await
            .map(|_| ())
            .map_err(wrap(format!("making an image of {name}")))
    }

    /// Whether an image exists.
    pub async fn has_image(&self, image: &str) -> bool {
        self.docker.inspect_image(image).await.is_ok()
    }

    /// Removes an image. No error if it is missing.
    pub async fn remove_image(&self, image: &str) -> Result<(), SubstrateError> {
        let options = RemoveImageOptionsBuilder::default().force(true).build();
        match self.docker.remove_image(image, Some(options), None).await {
            Err(error) if has_status(&error, 404) => Ok(()),
            other => other
                .map(|_| ())
                .map_err(wrap(format!("removing the image {image}"))),
        }
    }

    /// The images that were created from servers.
    pub async fn list_images(&self) -> Result<Vec<String>, SubstrateError> {
        let options = ListImagesOptionsBuilder::default()
            .filters(&self.filter())
            .build();
        let rows = self
            .docker
            .list_images(Some(options))
            .await
            .map_err(wrap("listing images"))?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    /// Sets the memory limit of a container, without additional swap.
    pub async fn limit_memory(&self, name: &str, bytes: i64) -> Result<(), SubstrateError> {
        let body = ContainerUpdateBody {
            memory: Some(bytes),
            memory_swap: Some(bytes),
            ..Default::default()
        };
        self.docker
            .update_container(name, body)
            .await
            .map_err(wrap(format!("setting the memory of {name}")))
    }

    /// Removes a container. No error if it is missing.
    pub async fn remove(&self, name: &str) -> Result<(), SubstrateError> {
        let options = RemoveContainerOptionsBuilder::default()
            .force(true)
            .v(true)
            .build();
        match self.docker.remove_container(name, Some(options)).await {
            Err(error) if has_status(&error, 404) => Ok(()),
            // Another request is removing it.
            Err(error) if has_status(&error, 409) => Ok(()),
            other => other.map_err(wrap(format!("removing {name}"))),
        }
    }

    /// A running container's first process, and its MAC addresses by network name.
    pub async fn running(&self, name: &str) -> Result<Running, SubstrateError> {
        let details = self
            .docker
            .inspect_container(name, None)
            .await
            .map_err(wrap(format!("inspecting {name}")))?;
        let networks = details
            .network_settings
            .and_then(|settings| settings.networks)
            .unwrap_or_default();
        let macs = networks
            .into_iter()
            .filter_map(|(network, endpoint)| Some((network, endpoint.mac_address?)))
            .collect();
        match details
            .state
            .and_then(|state| state.pid)
            .filter(|pid| *pid > 0)
        {
            Some(pid) => Ok(Running { pid, macs }),
            None => Err(SubstrateError::Command {
                doing: format!("looking at {name}"),
                output: "it does not run".into(),
            }),
        }
    }

    /// The output of a container.
    pub async fn logs(&self, name: &str) -> Result<String, SubstrateError> {
        let options = LogsOptionsBuilder::default()
            .stdout(true)
            .stderr(true)
            .tail("2000")
            .build();
        let mut chunks = self.docker.logs(name, Some(options));
        let mut text = String::new();
        while let Some(chunk) = chunks.next().await {
            match chunk {
                Ok(chunk) => text.push_str(&String::from_utf8_lossy(&bytes_of(chunk))),
                Err(error) if has_status(&error, 404) => break,
                Err(error) => return Err(wrap(format!("reading the log of {name}"))(error)),
            }
        }
        Ok(text)
    }

    /// Creates a bridge network. Returns false if its range is in use.
    pub async fn create_network(&self, wanted: BridgeNetwork<'_>) -> Result<bool, SubstrateError> {
        let name = self.name(wanted.kind, wanted.id);
        let mut options = HashMap::from([(
            "com.docker.network.bridge.name".to_owned(),
            wanted.bridge.to_owned(),
        )]);
        // The lab masquerades itself; see `host`.
        options.insert(
            "com.docker.network.bridge.enable_ip_masquerade".into(),
            "false".into(),
        );
        let request = NetworkCreateRequest {
            name: name.clone(),
            driver: Some("bridge".into()),
            internal: Some(wanted.internal),
            ipam: Some(Ipam {
                config: Some(vec![IpamConfig {
                    subnet: Some(wanted.range),
                    gateway: wanted.gateway,
                    ..Default::default()
                }]),
                ..Default::default()
            }),
            options: Some(options),
            labels: Some(self.labels(wanted.kind, wanted.id)),
            ..Default::default()
        };
        match self.docker.create_network(request).await {
            Ok(_) => Ok(true),
            // A network from an interrupted run.
            Err(error) if has_status(&error, 409) => Ok(true),
            Err(Error::DockerResponseServerError { message, .. })
                if message.contains("overlap") =>
            {
                Ok(false)
            }
            Err(error) => Err(wrap(format!("making the network {name}"))(error)),
        }
    }

    /// Removes a network. No error if it is missing.
    pub async fn remove_network(&self, name: &str) -> Result<(), SubstrateError> {
        match self.docker.remove_network(name).await {
            Err(error) if has_status(&error, 404) => Ok(()),
            other => other.map_err(wrap(format!("removing the network {name}"))),
        }
    }

    /// Connects a container to a network.
    pub async fn plug(
        &self,
        network: &str,
        container: &str,
        address: Option<String>,
    ) -> Result<(), SubstrateError> {
        let request = NetworkConnectRequest {
            container: container.into(),
            endpoint_config: Some(endpoint(address)),
        };
        match self.docker.connect_network(network, request).await {
            // Already connected.
            Err(error) if has_status(&error, 403) && error.to_string().contains("already") => {
                Ok(())
            }
            other => other.map_err(wrap(format!("plugging {container} into {network}"))),
        }
    }

    /// Disconnects a container from a network. No error if it is not connected.
    pub async fn unplug(&self, network: &str, container: &str) -> Result<(), SubstrateError> {
        let request = NetworkDisconnectRequest {
            container: container.into(),
            force: Some(true),
        };
        match self.docker.disconnect_network(network, request).await {
            Err(error)
                if has_status(&error, 404) || error.to_string().contains("is not connected") =>
            {
                Ok(())
            }
            other => other.map_err(wrap(format!("unplugging {container} from {network}"))),
        }
    }
}

/// A bridge network to create.
pub struct BridgeNetwork<'a> {
    /// `network` or `public`.
    pub kind: &'a str,
    /// The id of the OpenStack resource.
    pub id: &'a str,
    /// The bridge's device on the host.
    pub bridge: &'a str,
    /// Docker's address range of the network.
    pub range: String,
    /// The host's address on the network.
    pub gateway: Option<String>,
    /// Whether Docker isolates it from other networks.
    pub internal: bool,
}

/// The settings of a container's connection, with this address or an allocated one.
pub fn endpoint(address: Option<String>) -> EndpointSettings {
    let ipam_config = address.map(|address| EndpointIpamConfig {
        ipv4_address: Some(address),
        ..Default::default()
    });
    EndpointSettings {
        ipam_config,
        ..Default::default()
    }
}

fn bytes_of(output: LogOutput) -> Vec<u8> {
    output.into_bytes().to_vec()
}
