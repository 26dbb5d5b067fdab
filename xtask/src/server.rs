//! The server as a child process.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::children::{self, Child};
use crate::{http, paths, shell};

/// The settings of a server.
pub struct Server {
    /// The address: `127.0.0.1:8080`.
    pub address: String,
    /// The address of its database. `None` uses the file in its state.
    pub database: Option<String>,
    /// The path of its `clouds.yaml`.
    pub clouds: PathBuf,
    /// The folder of its state.
    pub data: PathBuf,
    /// The folder of its catalogue.
    pub catalog: PathBuf,
    /// The URL at which alarms and the cloud's servers reach it. `None` takes it from the environment.
    pub signal_url: Option<String>,
    /// The file of its output. `None` uses the output of xtask.
    pub log: Option<PathBuf>,
    /// More settings, as environment variables.
    pub settings: Vec<(&'static str, OsString)>,
}

impl Server {
    /// Starts it and waits until it is ready.
    pub fn start(&self, program: &Path) -> Result<Child> {
        if http::is_taken(&self.address) {
            bail!(
                "{} is taken; set STACKLOOM_ADDR to another address, or stop what is there",
                self.address
            );
        }
        std::fs::create_dir_all(&self.data)
            .with_context(|| format!("cannot make {}", self.data.display()))?;
        let mut command = children::command(program);
        command
            .env("STACKLOOM_ADDR", &self.address)
            .env("STACKLOOM_CLOUDS", &self.clouds)
            .env("STACKLOOM_DATA", &self.data)
            .env("STACKLOOM_CATALOG", &self.catalog)
            .env("STACKLOOM_SITE", paths::site())
            .envs(self.settings.iter().map(|(name, value)| (name, value)));
        if let Some(database) = &self.database {
            command.env("STACKLOOM_DATABASE", database);
        }
        if let Some(url) = &self.signal_url {
            command.env("STACKLOOM_SIGNAL_URL", url);
        }
        if let Some(log) = &self.log {
            children::write_output_to(&mut command, log)?;
        }
        let mut server = Child::start("server", command.stdin(Stdio::null()))?;
        let ready = || http::answers(&self.address, "/readyz");
        if !shell::wait_until(Duration::from_secs(180), || ready() || server.has_ended())
            || server.has_ended()
        {
            bail!("the server does not come up at {}", self.address);
        }
        Ok(server)
    }
}
