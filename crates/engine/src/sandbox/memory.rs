//! In-memory programs instead of containers, for tests of the surrounding code.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use futures::future::BoxFuture;
use tokio::{io::DuplexStream, task::JoinHandle};

use super::{Container, Host, Job, SandboxError};
use crate::ssh::ByteStream;

/// A program: it gets the container's end of the standard streams and returns an exit code.
pub type Program = dyn Fn(Job, DuplexStream) -> BoxFuture<'static, i64> + Send + Sync;

/// A host whose containers are tasks.
pub struct MemoryHost {
    program: Arc<Program>,
    /// Number of containers that were started.
    pub started: AtomicUsize,
}

impl MemoryHost {
    pub fn new(
        program: impl Fn(Job, DuplexStream) -> BoxFuture<'static, i64> + Send + Sync + 'static,
    ) -> Arc<MemoryHost> {
        Arc::new(MemoryHost {
            program: Arc::new(program),
            started: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl Host for MemoryHost {
    async fn start(&self, job: &Job) -> Result<Box<dyn Container>, SandboxError> {
        self.started.fetch_add(1, Ordering::Relaxed);
        let (ours, its) = tokio::io::duplex(64 * 1024);
        Ok(Box::new(MemoryContainer {
            streams: Some(Box::new(ours)),
            program: tokio::spawn((self.program)(job.clone(), its)),
        }))
    }

    async fn remove_orphans(&self) -> Result<usize, SandboxError> {
        Ok(0)
    }
}

struct MemoryContainer {
    streams: Option<Box<dyn ByteStream>>,
    program: JoinHandle<i64>,
}

#[async_trait]
impl Container for MemoryContainer {
    fn take_streams(&mut self) -> Option<Box<dyn ByteStream>> {
        self.streams.take()
    }

    async fn exit_code(&mut self) -> Result<i64, SandboxError> {
        (&mut self.program)
            .await
            .map_err(|error| SandboxError::Docker(error.to_string()))
    }

    fn complaints(&self) -> Vec<String> {
        Vec::new()
    }

    async fn remove(self: Box<Self>) {}
}

impl Drop for MemoryContainer {
    fn drop(&mut self) {
        self.program.abort();
    }
}
