//! A server that browser tests can restart.
//!
//! A test writes a file. The server is stopped as by an operator and started again with the same settings, then the file is
//! removed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;

use crate::server::Server;

/// Time between two looks for the file.
const INTERVAL: Duration = Duration::from_millis(100);

/// A running server. It is stopped when dropped.
pub struct RestartableServer {
    address: String,
    file: PathBuf,
    is_stopping: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl RestartableServer {
    /// Starts the server, and restarts it whenever `file` appears.
    pub fn start(mut server: Server, program: &Path, file: PathBuf) -> Result<RestartableServer> {
        let mut running = Some(server.start(program)?);
        let is_stopping = Arc::new(AtomicBool::new(false));
        let (address, log) = (server.address.clone(), server.log.clone());
        let (flag, awaited, program) = (is_stopping.clone(), file.clone(), program.to_owned());
        let watcher = thread::spawn(move || {
            let mut restarts = 0;
            while !flag.load(Ordering::Relaxed) {
                if awaited.exists() {
                    drop(running.take());
                    restarts += 1;
                    // The log of the stopped server stays.
                    server.log = log
                        .as_ref()
                        .map(|log| log.with_extension(format!("{restarts}.log")));
                    match server.start(&program) {
                        Ok(child) => running = Some(child),
                        Err(error) => eprintln!("the server was not restarted: {error:#}"),
                    }
                    if let Err(error) = std::fs::remove_file(&awaited) {
                        eprintln!("cannot remove {}: {error}", awaited.display());
                        return;
                    }
                }
                thread::sleep(INTERVAL);
            }
        });
        Ok(RestartableServer {
            address,
            file,
            is_stopping,
            watcher: Some(watcher),
        })
    }

    /// The address: `127.0.0.1:8080`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The file that restarts it.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl Drop for RestartableServer {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        // The watcher stops the server at its end. It has printed what went wrong.
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}
