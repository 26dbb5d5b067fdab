//! Containers on a Docker daemon.
//!
//! A container is created for one execution and always removed after it: a guard removes it when the caller is dropped,
//! and the next start removes leftovers of a crash by label. The container has no network, no capabilities, no new
//! privileges, a read-only root, tmpfs for work, a user without rights, limits on memory, processor and processes, no
//! Docker socket, and no mounts of the host.
//!
//! All input arrives over stdin, because arguments and environment can be read with `docker inspect`. The engine
//! attaches before the start, so no byte is lost. Docker's own log is off, so none is stored. The engine uses only the
//! standard streams of the container, so the daemon can be on another machine.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bollard::{
    API_DEFAULT_VERSION, Docker,
    container::LogOutput,
    models::{ContainerCreateBody, HostConfig, HostConfigLogConfig},
    query_parameters::{
        AttachContainerOptions, CreateContainerOptions, ListContainersOptions,
        RemoveContainerOptions, StartContainerOptions, WaitContainerOptions,
    },
};
use futures::{StreamExt, future::ready};
use serde_json::json;
use tokio::{io::AsyncWriteExt, sync::OnceCell};
use tokio_util::io::StreamReader;

use super::{Container, Host, Job, SandboxError, image::programs_digest, lines::Lines};
use crate::{secrets::Mask, ssh::ByteStream};

const LABEL_RUN: &str = "stackloom.run";
const LABEL_STEP: &str = "stackloom.step";
const LABEL_OWNER: &str = "stackloom.owner";
const TMPFS: &str = "rw,nosuid,nodev,noexec,size=128m,mode=0700,uid=10001,gid=10001";
/// Maximum number of bytes of a container's standard error. Only `entry.py` writes to it. The rest is dropped.
const COMPLAINTS_BYTES_MAX: usize = 4096;
/// Time limit of a request in seconds.
const REQUEST_SECONDS: u64 = 120;
/// Pauses in seconds before further attempts to remove a container.
const REMOVAL_PAUSES: [u64; 6] = [1, 5, 15, 60, 300, 900];

impl From<bollard::errors::Error> for SandboxError {
    fn from(error: bollard::errors::Error) -> SandboxError {
        SandboxError::Docker(error.to_string())
    }
}

/// A Docker daemon.
pub struct DockerHost {
    docker: OnceCell<Docker>,
    /// Address of the daemon, `unix:///...` or `tcp://host:port`. `None` is this machine's default.
    address: Option<String>,
    image: String,
    memory_bytes: i64,
    /// The server's id, for a label: containers of other servers on this Docker host stay untouched.
    owner: String,
}

impl DockerHost {
    /// Connects to Docker only for the first sandbox.
    pub fn new(address: Option<String>, image: &str, owner: &str, memory_bytes: i64) -> DockerHost {
        DockerHost {
            docker: OnceCell::new(),
            address,
            image: image.to_owned(),
            memory_bytes,
            owner: owner.to_owned(),
        }
    }

    async fn docker(&self) -> Result<&Docker, SandboxError> {
        self.docker
            .get_or_try_init(|| async {
                let docker = match self.address.as_deref() {
                    None => Docker::connect_with_local_defaults()?,
                    Some(address) if address.starts_with("unix://") => {
                        Docker::connect_with_unix(address, REQUEST_SECONDS, API_DEFAULT_VERSION)?
                    }
                    Some(address) => {
                        Docker::connect_with_http(address, REQUEST_SECONDS, API_DEFAULT_VERSION)?
                    }
                };
                Ok(docker.negotiate_version().await?)
            })
            .await
    }

    async fn create(&self, docker: &Docker, job: &Job) -> Result<String, SandboxError> {
        let labels = [
            (LABEL_RUN, &job.run),
            (LABEL_STEP, &job.step),
            (LABEL_OWNER, &self.owner),
        ];
        let body = ContainerCreateBody {
            image: Some(self.image.clone()),
            labels: Some(
                labels
                    .into_iter()
                    .map(|(label, value)| (label.to_owned(), value.clone()))
                    .collect(),
            ),
            user: Some("10001:10001".into()),
            working_dir: Some("/work".into()),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            open_stdin: Some(true),
            stdin_once: Some(true),
            tty: Some(false),
            host_config: Some(HostConfig {
                network_mode: Some("none".into()),
                cap_drop: Some(vec!["ALL".into()]),
                security_opt: Some(vec!["no-new-privileges".into()]),
                readonly_rootfs: Some(true),
                tmpfs: Some(HashMap::from([
                    ("/work".into(), TMPFS.into()),
                    ("/tmp".into(), TMPFS.into()),
                ])),
                memory: Some(self.memory_bytes),
                memory_swap: Some(self.memory_bytes),
                nano_cpus: Some(1_000_000_000),
                pids_limit: Some(256),
                init: Some(true),
                log_config: Some(HostConfigLogConfig {
                    typ: Some("none".into()),
                    config: None,
                }),
                ..Default::default()
            }),
            ..Default::default()
        };
        match docker
            .create_container(None::<CreateContainerOptions>, body)
            .await
        {
            Ok(created) => Ok(created.id),
            Err(bollard::errors::Error::DockerResponseServerError {
                status_code: 404, ..
            }) => Err(SandboxError::NoImage(self.image.clone())),
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
impl Host for DockerHost {
    async fn start(&self, job: &Job) -> Result<Box<dyn Container>, SandboxError> {
        let docker = self.docker().await?;
        let id = self.create(docker, job).await?;
        let mut container = DockerContainer {
            docker: docker.clone(),
            id: Some(id),
            streams: None,
            complaints: Arc::default(),
            mask: job.mask.clone(),
        };
        match container.start(job).await {
            Ok(()) => Ok(Box::new(container)),
            Err(error) => {
                Box::new(container).remove().await;
                Err(error)
            }
        }
    }

    async fn remove_orphans(&self) -> Result<usize, SandboxError> {
        let docker = self.docker().await?;
        let filters = HashMap::from([(
            "label".to_owned(),
            vec![format!("{LABEL_OWNER}={}", self.owner)],
        )]);
        let left = docker
            .list_containers(Some(ListContainersOptions {
                all: true,
                filters: Some(filters),
                ..Default::default()
            }))
            .await?;
        for id in left.iter().filter_map(|container| container.id.as_deref()) {
            remove(docker, id).await;
        }
        Ok(left.len())
    }
}

/// A container on a Docker daemon.
struct DockerContainer {
    docker: Docker,
    /// `None` once it is removed.
    id: Option<String>,
    streams: Option<Box<dyn ByteStream>>,
    complaints: Arc<Mutex<Vec<u8>>>,
    mask: Arc<Mask>,
}

impl DockerContainer {
    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    async fn start(&mut self, job: &Job) -> Result<(), SandboxError> {
        let options = AttachContainerOptions {
            stream: true,
            stdin: true,
            stdout: true,
            stderr: true,
            ..Default::default()
        };
        let mut attached = self
            .docker
            .attach_container(self.id(), Some(options))
            .await?;
        self.docker
            .start_container(self.id(), None::<StartContainerOptions>)
            .await?;
        let order = order(job);
        let sent = async {
            attached.input.write_all(&order).await?;
            attached.input.flush().await
        };
        sent.await.map_err(|error| {
            SandboxError::Docker(format!("its input could not be sent: {error}"))
        })?;
        let complaints = self.complaints.clone();
        let output = attached.output.filter_map(move |chunk| {
            ready(match chunk {
                Ok(LogOutput::StdOut { message } | LogOutput::Console { message }) => {
                    Some(Ok(message))
                }
                Ok(LogOutput::StdErr { message }) => {
                    let mut complaints = complaints.lock().unwrap_or_else(PoisonError::into_inner);
                    let free = COMPLAINTS_BYTES_MAX - complaints.len();
                    complaints.extend_from_slice(&message[..message.len().min(free)]);
                    None
                }
                Ok(LogOutput::StdIn { .. }) => None,
                Err(error) => Some(Err(io::Error::other(error))),
            })
        });
        let output = StreamReader::new(output);
        self.streams = Some(Box::new(tokio::io::join(output, attached.input)));
        Ok(())
    }
}

/// The first bytes of a container's standard input: length and JSON.
fn order(job: &Job) -> zeroize::Zeroizing<Vec<u8>> {
    let files: serde_json::Map<_, _> = job
        .files
        .iter()
        .map(|(path, bytes)| (path.clone(), json!(STANDARD.encode(bytes))))
        .collect();
    let order = json!({"files": files, "argv": job.argv, "programs": programs_digest()});
    let order = zeroize::Zeroizing::new(order.to_string());
    zeroize::Zeroizing::new(format!("{:010}\n{}", order.len(), *order).into_bytes())
}

#[async_trait]
impl Container for DockerContainer {
    fn take_streams(&mut self) -> Option<Box<dyn ByteStream>> {
        self.streams.take()
    }

    async fn exit_code(&mut self) -> Result<i64, SandboxError> {
        match self
            .docker
            .wait_container(self.id(), None::<WaitContainerOptions>)
            .next()
            .await
        {
            Some(Ok(ended)) => Ok(ended.status_code),
            Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => Ok(code),
            Some(Err(error)) => Err(error.into()),
            None => Err(SandboxError::Docker(
                "Docker did not report its exit status".into(),
            )),
        }
    }

    fn complaints(&self) -> Vec<String> {
        let bytes = self
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        complaint_lines(&bytes, &self.mask)
    }

    async fn remove(mut self: Box<Self>) {
        if let Some(id) = &self.id {
            remove(&self.docker, id).await;
        }
        self.id = None;
    }
}

impl Drop for DockerContainer {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let docker = self.docker.clone();
            runtime.spawn(async move { remove(&docker, &id).await });
        }
    }
}

/// The lines of a container's standard error. Where it was longer than its maximum, they do not end within a secret.
fn complaint_lines(bytes: &[u8], mask: &Arc<Mask>) -> Vec<String> {
    let end = match bytes.len() {
        COMPLAINTS_BYTES_MAX.. => mask.cut(bytes),
        all => all,
    };
    let mut lines = Lines::masked(mask.clone());
    let mut complete = lines.take(&bytes[..end]);
    complete.extend(lines.rest());
    complete
}

/// Removes a container. If the daemon does not answer, it is tried again in the background: it may be about to restart.
async fn remove(docker: &Docker, id: &str) {
    let Err(error) = try_to_remove(docker, id).await else {
        return;
    };
    tracing::warn!(%error, container = id, "a sandbox could not be removed; it is tried again");
    let (docker, id) = (docker.clone(), id.to_owned());
    tokio::spawn(async move {
        for seconds in REMOVAL_PAUSES {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            if try_to_remove(&docker, &id).await.is_ok() {
                return;
            }
        }
        tracing::warn!(
            container = id,
            "a sandbox could not be removed; the next start will"
        );
    });
}

async fn try_to_remove(docker: &Docker, id: &str) -> Result<(), bollard::errors::Error> {
    let options = RemoveContainerOptions {
        force: true,
        v: true,
        ..Default::default()
    };
    match docker.remove_container(id, Some(options)).await {
        // It is gone, or about to go.
        Err(bollard::errors::Error::DockerResponseServerError {
            status_code: 404 | 409,
            ..
        }) => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_do_not_end_within_a_secret() {
        let mask = Arc::new(Mask::default());
        mask.add("correct horse battery staple");
        let of = |bytes: &[u8]| complaint_lines(bytes, &mask);
        assert_eq!(of(b"one\ntwo"), ["one", "two"]);
        let mut long = vec![b'.'; COMPLAINTS_BYTES_MAX - 7];
        long.extend_from_slice(b"correct");
        let [line]: [String; 1] = of(&long).try_into().unwrap();
        assert!(line.len() > COMPLAINTS_BYTES_MAX - 100);
        assert!(!line.contains('c'), "{line}");
    }
}
