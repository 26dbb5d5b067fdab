//! One throw-away container per execution.
//!
//! A container is created for one execution and removed after it in every case: a guard removes it when the caller is dropped,
//! and the next start removes leftovers of a crash by label. Inside: no capabilities, no new privileges, a read-only root, tmpfs
//! for work, a user without rights, limits on memory, processor and processes, no Docker socket, no mounts of the host, a network
//! of its own.
//!
//! All input arrives over stdin, because arguments and environment can be read with `docker inspect`. We attach before we start,
//! so no line is lost. Docker's own log is off, so none is stored.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bollard::{
    Docker,
    container::LogOutput,
    models::{ContainerCreateBody, HostConfig, HostConfigLogConfig, NetworkCreateRequest},
    query_parameters::{
        AttachContainerOptions, CreateContainerOptions, ListContainersOptions, ListNetworksOptions,
        RemoveContainerOptions, StartContainerOptions, WaitContainerOptions,
    },
};
use futures::StreamExt;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    sync::{OnceCell, Semaphore},
};
use tokio_util::sync::CancellationToken;

/// Starts sandboxes. A cheap handle: clone it.
#[derive(Clone)]
pub struct Sandboxes {
    docker: Arc<OnceCell<Docker>>,
    image: String,
    memory_bytes: i64,
    /// The engine's id, for a label: containers of other engines on this Docker host are left alone.
    owner: String,
    free: Arc<Semaphore>,
}

/// One execution.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Id of the run, for a label.
    pub run: String,
    /// Id of the step, for a label.
    pub step: String,
    /// Files in the work folder.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The program and its arguments.
    pub argv: Vec<String>,
}

/// The reason why an execution was not completed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// It was told to stop.
    #[error("it was stopped")]
    Stopped,
    /// The image does not exist.
    #[error(
        "the sandbox image `{0}` is missing; `cargo xtask run` builds it, or set STACKLOOM_SANDBOX_IMAGE"
    )]
    NoImage(String),
    /// Docker failed.
    #[error("the sandbox could not be run: {0}")]
    Docker(String),
}

impl From<bollard::errors::Error> for SandboxError {
    fn from(error: bollard::errors::Error) -> SandboxError {
        SandboxError::Docker(error.to_string())
    }
}

/// The network that sandboxes are on.
const NETWORK: &str = "stackloom-sandbox";
const LABEL_RUN: &str = "stackloom.run";
const LABEL_STEP: &str = "stackloom.step";
const LABEL_OWNER: &str = "stackloom.owner";
/// Maximum length of a raw line in bytes. A longer line is split.
const RAW_LINE_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of chunks of output that are read at once.
const CHUNKS: usize = 256;
const TMPFS: &str = "rw,nosuid,nodev,noexec,size=128m,mode=0700,uid=10001,gid=10001";

impl Sandboxes {
    /// Docker is contacted for the first sandbox only.
    pub fn new(image: &str, owner: &str, parallel: usize, memory_bytes: i64) -> Sandboxes {
        Sandboxes {
            docker: Arc::default(),
            image: image.to_owned(),
            memory_bytes,
            owner: owner.to_owned(),
            free: Arc::new(Semaphore::new(parallel.max(1))),
        }
    }

    /// Removes containers that an earlier process of this engine left.
    ///
    /// # Errors
    /// If Docker does not answer.
    pub async fn remove_orphans(&self) -> Result<usize, SandboxError> {
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

    /// Runs a job and passes on its lines as they come. Returns its exit code.
    ///
    /// # Errors
    /// See [`SandboxError`]. The container is gone in each case.
    pub async fn execute(
        &self,
        job: &Job,
        stop: &CancellationToken,
        sink: &mut (dyn LineSink + Send),
    ) -> Result<i64, SandboxError> {
        let _place = tokio::select! {
            place = self.free.acquire() => place.map_err(|_closed| SandboxError::Stopped)?,
            () = stop.cancelled() => return Err(SandboxError::Stopped),
        };
        let docker = self.docker().await?;
        let container = self.create(docker, job).await?;
        let guard = Removal {
            docker: docker.clone(),
            id: Some(container),
        };
        let result = tokio::select! {
            result = run(docker, guard.id(), job, sink) => result,
            () = stop.cancelled() => Err(SandboxError::Stopped),
        };
        guard.remove().await;
        result
    }

    async fn docker(&self) -> Result<&Docker, SandboxError> {
        self.docker
            .get_or_try_init(|| async {
                let docker = Docker::connect_with_local_defaults()?;
                Ok(docker.negotiate_version().await?)
            })
            .await
    }

    async fn create(&self, docker: &Docker, job: &Job) -> Result<String, SandboxError> {
        let network = network(docker).await?;
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
                network_mode: Some(network),
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

/// Receives an execution's lines.
#[async_trait::async_trait]
pub trait LineSink {
    /// Lines that came together, without their line ends.
    async fn lines(&mut self, lines: Vec<String>);
}

/// The id of the sandboxes' network, which is created if it is missing. Docker allows several networks of one name, so engines
/// that start together may each create one: the oldest counts.
async fn network(docker: &Docker) -> Result<String, SandboxError> {
    if let Some(id) = oldest_network(docker).await? {
        return Ok(id);
    }
    let request = NetworkCreateRequest {
        name: NETWORK.into(),
        driver: Some("bridge".into()),
        // Sandboxes must not reach each other.
        options: Some(HashMap::from([(
            "com.docker.network.bridge.enable_icc".into(),
            "false".into(),
        )])),
        ..Default::default()
    };
    let created = docker.create_network(request).await?.id;
    let oldest = oldest_network(docker).await?;
    let oldest = oldest.unwrap_or_else(|| created.clone());
    if oldest != created {
        docker.remove_network(&created).await?;
    }
    Ok(oldest)
}

async fn oldest_network(docker: &Docker) -> Result<Option<String>, SandboxError> {
    let filters = HashMap::from([("name".to_owned(), vec![NETWORK.to_owned()])]);
    let options = ListNetworksOptions {
        filters: Some(filters),
    };
    let networks = docker.list_networks(Some(options)).await?;
    // The filter also matches parts of names.
    let own = networks
        .into_iter()
        .filter(|network| network.name.as_deref() == Some(NETWORK));
    let oldest = own.min_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
    Ok(oldest.and_then(|network| network.id))
}

async fn run(
    docker: &Docker,
    id: &str,
    job: &Job,
    sink: &mut (dyn LineSink + Send),
) -> Result<i64, SandboxError> {
    let options = AttachContainerOptions {
        stream: true,
        stdin: true,
        stdout: true,
        stderr: true,
        ..Default::default()
    };
    let mut attached = docker.attach_container(id, Some(options)).await?;
    docker
        .start_container(id, None::<StartContainerOptions>)
        .await?;

    let files: serde_json::Map<_, _> = job
        .files
        .iter()
        .map(|(path, bytes)| (path.clone(), json!(STANDARD.encode(bytes))))
        .collect();
    let order = zeroize::Zeroizing::new(json!({"files": files, "argv": job.argv}).to_string());
    let sent = async {
        attached.input.write_all(order.as_bytes()).await?;
        attached.input.shutdown().await
    };
    sent.await
        .map_err(|error| SandboxError::Docker(format!("its input could not be sent: {error}")))?;

    let (mut out, mut err) = (Lines::default(), Lines::default());
    // A program that flushes every line sends as many chunks: waiting chunks are taken together.
    let mut output = attached.output.ready_chunks(CHUNKS);
    while let Some(chunks) = output.next().await {
        let mut lines = Vec::new();
        let mut broken = Ok(());
        for chunk in chunks {
            match chunk {
                Ok(LogOutput::StdErr { message }) => lines.extend(err.take(&message)),
                Ok(LogOutput::StdOut { message } | LogOutput::Console { message }) => {
                    lines.extend(out.take(&message));
                }
                Ok(LogOutput::StdIn { .. }) => {}
                Err(error) => broken = Err(error),
            }
        }
        if !lines.is_empty() {
            sink.lines(lines).await;
        }
        broken?;
    }
    let rest: Vec<String> = out.rest().into_iter().chain(err.rest()).collect();
    if !rest.is_empty() {
        sink.lines(rest).await;
    }
    exit_code(docker, id).await
}

async fn exit_code(docker: &Docker, id: &str) -> Result<i64, SandboxError> {
    match docker
        .wait_container(id, None::<WaitContainerOptions>)
        .next()
        .await
    {
        Some(Ok(ended)) => Ok(ended.status_code),
        Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => Ok(code),
        Some(Err(error)) => Err(error.into()),
        None => Err(SandboxError::Docker(
            "Docker did not say how it ended".into(),
        )),
    }
}

async fn remove(docker: &Docker, id: &str) {
    let options = RemoveContainerOptions {
        force: true,
        v: true,
        ..Default::default()
    };
    match docker.remove_container(id, Some(options)).await {
        Ok(())
        | Err(bollard::errors::Error::DockerResponseServerError {
            status_code: 404 | 409,
            ..
        }) => {}
        Err(error) => {
            tracing::warn!(%error, container = id, "a sandbox could not be removed; the next start will")
        }
    }
}

/// Removes the container even if its execution is aborted.
struct Removal {
    docker: Docker,
    id: Option<String>,
}

impl Removal {
    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    async fn remove(mut self) {
        if let Some(id) = &self.id {
            remove(&self.docker, id).await;
        }
        self.id = None;
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let docker = self.docker.clone();
            runtime.spawn(async move { remove(&docker, &id).await });
        }
    }
}

/// Splits bytes into lines.
#[derive(Default)]
struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if self.begun.ends_with(b"\n") || self.begun.len() >= RAW_LINE_BYTES_MAX {
                lines.extend(self.rest());
            }
        }
        lines
    }

    fn rest(&mut self) -> Option<String> {
        let bytes = std::mem::take(&mut self.begun);
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        (!bytes.is_empty()).then(|| line.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_the_bytes_are_cut() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"one\ntw"), ["one"]);
        assert_eq!(lines.take(b"o\r\n\nthree"), ["two", ""]);
        assert_eq!(lines.rest().as_deref(), Some("three"));
        assert_eq!(lines.rest(), None);
        assert_eq!(lines.take(&vec![b'x'; RAW_LINE_BYTES_MAX + 1]).len(), 1);
        assert_eq!(Lines::default().take(b"\xff\xfe\n"), ["\u{fffd}\u{fffd}"]);
    }
}
