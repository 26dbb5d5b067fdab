//! A lab cloud and a server for browser tests and benchmarks.
//!
//! Name, ports, addresses and folders differ from those of `cargo xtask run`, so both can run at once. All state is
//! removed before and after; logs stay in `target/e2e`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::build::{Programs, npm};
use crate::children::Child;
use crate::lab::Lab;
use crate::server::Server;
use crate::shell::cmd;
use crate::{clouds, http, paths};

const LAB: &str = "127.0.0.1:9600";

/// An unreachable cloud, to test the error message. Port 9 is the discard service, which is normally not in use.
const NOWHERE: &str = "clouds:\n  nowhere:\n    auth:\n      auth_url: http://127.0.0.1:9/identity/v3\n    region_name: nowhere\n";

/// A running lab and server.
pub struct TestEnvironment {
    lab: Lab,
    lab_program: PathBuf,
    server_address: String,
    /// The server is last, so that it is stopped first.
    running: Vec<Child>,
}

impl TestEnvironment {
    /// Starts both without earlier state, with the items of `catalog`.
    pub fn start(programs: &Programs, catalog: &Path) -> Result<TestEnvironment> {
        // Checked before the reset: another test run can be using the lab.
        if http::is_taken(LAB) {
            bail!("{LAB} is taken; another `cargo xtask test` or `bench` is still there");
        }
        install_playwright()?;
        let dir = dir();
        let lab = Lab {
            name: "e2e",
            listen: LAB.into(),
            public_cidr: "172.31.0.0/24",
            state: dir.join("lab"),
        };
        lab.reset(&programs.lab)?;
        if dir.is_dir() {
            std::fs::remove_dir_all(&dir)
                .with_context(|| format!("cannot empty {}", dir.display()))?;
        }
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let more = dir.join("more.yaml");
        std::fs::write(&more, NOWHERE)?;
        let clouds_file = dir.join("clouds.yaml");
        std::fs::write(&clouds_file, clouds::text(Some(LAB), Some(&more))?)?;

        let mut running = vec![lab.start(&programs.lab, Some(&dir.join("lab.log")))?];
        let address = format!("127.0.0.1:{}", http::free_port()?);
        let server = Server {
            signal_url: Some(format!("http://{address}")),
            address,
            database: None,
            clouds: clouds_file,
            data: dir.join("data"),
            catalog: catalog.to_owned(),
            log: Some(dir.join("server.log")),
            settings: Vec::new(),
        };
        running.push(server.start(&programs.server)?);
        Ok(TestEnvironment {
            lab,
            lab_program: programs.lab.clone(),
            server_address: server.address,
            running,
        })
    }

    /// A Playwright command with the addresses of both.
    pub fn playwright(&self, args: &[&str]) -> Command {
        let mut command = cmd("npx", ["playwright", "test"]);
        command
            .args(args)
            .current_dir(end2end())
            .env("STACKLOOM_URL", format!("http://{}", self.server_address))
            .env("STACKLOOM_LAB", format!("http://{LAB}"));
        command
    }

    /// Stops both and removes their objects.
    pub fn stop(mut self) -> Result<()> {
        while let Some(child) = self.running.pop() {
            drop(child);
        }
        self.lab.reset(&self.lab_program)
    }
}

impl Drop for TestEnvironment {
    fn drop(&mut self) {
        while let Some(child) = self.running.pop() {
            drop(child);
        }
    }
}

/// The folder of state and logs.
pub fn dir() -> PathBuf {
    paths::target().join("e2e")
}

/// Installs Playwright without its own browser: Debian's Chromium is used.
fn install_playwright() -> Result<()> {
    npm::install(&end2end())?;
    if !Path::new("/usr/bin/chromium").exists() {
        bail!("there is no /usr/bin/chromium; `apt-get install chromium` brings it");
    }
    Ok(())
}

fn end2end() -> PathBuf {
    paths::root().join("end2end")
}
