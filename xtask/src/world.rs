//! Lab clouds and servers for browser tests and benchmarks.
//!
//! Name, ports, addresses and folders differ from those of `cargo xtask run`, so both can run at once. All state is
//! removed before and after; logs stay in `target/e2e`.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::build::{Programs, npm};
use crate::children::Child;
use crate::lab::Lab;
use crate::restart::RestartableServer;
use crate::server::Server;
use crate::shell::{self, cmd};
use crate::{clouds, http, paths};

/// Name, address and external network of each lab. Tests that run at the same time have their own lab.
const LABS: [(&str, &str, &str); 2] = [
    ("e2e", "127.0.0.1:9600", "172.31.0.0/24"),
    ("e2e-2", "127.0.0.1:9601", "172.31.1.0/24"),
];

/// An unreachable cloud, to test the error message. Port 9 is the discard service, which is normally not in use.
const NOWHERE: &str = "clouds:\n  nowhere:\n    auth:\n      auth_url: http://127.0.0.1:9/identity/v3\n    region_name: nowhere\n";

/// Running labs, each with a server.
pub struct TestEnvironment {
    places: Vec<Place>,
    lab_program: PathBuf,
}

/// A running lab and server.
struct Place {
    lab: Lab,
    /// The server is before its cloud, so that it is stopped first.
    server: Option<RestartableServer>,
    cloud: Option<Child>,
}

impl TestEnvironment {
    /// Starts one lab and server without earlier state, with the items of `catalog`.
    pub fn start(programs: &Programs, catalog: &Path) -> Result<TestEnvironment> {
        TestEnvironment::start_several(1, programs, catalog)
    }

    /// Starts labs and servers without earlier state: one for each concurrent test, at most two.
    pub fn start_several(
        count: usize,
        programs: &Programs,
        catalog: &Path,
    ) -> Result<TestEnvironment> {
        // Checked before the reset: another test run can be using the lab.
        for (_, listen, _) in LABS {
            if http::is_taken(listen) {
                bail!("{listen} is taken; another `cargo xtask test` or `bench` is still there");
            }
        }
        install_playwright()?;
        let dir = dir();
        let labs = LABS
            .iter()
            .take(count)
            .map(|(name, listen, public_cidr)| Lab {
                name,
                listen: (*listen).into(),
                public_cidr,
                state: dir.join(name).join("lab"),
            });
        let labs: Vec<Lab> = labs.collect();
        for lab in &labs {
            lab.reset(&programs.lab)?;
        }
        if dir.is_dir() {
            std::fs::remove_dir_all(&dir)
                .with_context(|| format!("cannot empty {}", dir.display()))?;
        }
        let places = labs.into_iter().map(|lab| {
            let dir = dir.join(lab.name);
            Place::start(lab, &dir, programs, catalog)
        });
        Ok(TestEnvironment {
            places: places.collect::<Result<_>>()?,
            lab_program: programs.lab.clone(),
        })
    }

    /// A Playwright command with the addresses of all, and the files that restart the servers: a worker for each lab and
    /// server.
    pub fn playwright(&self, args: &[&str]) -> Command {
        let all = |addresses: Vec<&str>| {
            let all = addresses.iter().map(|address| format!("http://{address}"));
            all.collect::<Vec<String>>().join(" ")
        };
        let servers = || self.places.iter().filter_map(|place| place.server.as_ref());
        let labs = self.places.iter().map(|place| place.lab.listen.as_str());
        let files: Vec<_> = servers()
            .map(|server| server.file().to_string_lossy())
            .collect();
        let mut command = cmd("npx", ["playwright", "test"]);
        command
            .args(args)
            .current_dir(end2end())
            .env(
                "STACKLOOM_URL",
                all(servers().map(RestartableServer::address).collect()),
            )
            .env("STACKLOOM_LAB", all(labs.collect()))
            .env("STACKLOOM_RESTART", files.join(":"));
        command
    }

    /// Stops all and removes their objects.
    pub fn stop(self) -> Result<()> {
        for mut place in self.places {
            place.stop();
            place.lab.reset(&self.lab_program)?;
        }
        Ok(())
    }
}

impl Place {
    fn start(lab: Lab, dir: &Path, programs: &Programs, catalog: &Path) -> Result<Place> {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let more = dir.join("more.yaml");
        std::fs::write(&more, NOWHERE)?;
        let clouds_file = dir.join("clouds.yaml");
        std::fs::write(&clouds_file, clouds::text(Some(&lab.listen), Some(&more))?)?;

        let cloud = lab.start(&programs.lab, Some(&dir.join("lab.log")))?;
        let address = format!("127.0.0.1:{}", http::free_port()?);
        let git_host = format!("localhost:{}=127.0.0.1", http::free_port()?);
        let mut settings = vec![
            // For the benchmark of a list of 1,000.
            ("STACKLOOM_PROJECT_DEPLOYMENTS", "2000".into()),
            // A host that a test starts, with its certificate beside the file of restarts.
            ("STACKLOOM_GIT_HOSTS", git_host.into()),
            ("STACKLOOM_GIT_CA", dir.join("git-ca.pem").into()),
        ];
        let mut signals = address.clone();
        // The lab's servers signal there. Where Docker runs in a virtual machine, this machine has no such address.
        let in_lab = SocketAddr::new(lab.host_address()?.into(), http::free_port()?);
        if TcpListener::bind(in_lab).is_ok() {
            signals = in_lab.to_string();
            settings.push(("STACKLOOM_SIGNAL_ADDR", signals.clone().into()));
        }
        let server = Server {
            signal_url: Some(format!("http://{signals}")),
            address,
            database: None,
            clouds: clouds_file,
            data: dir.join("data"),
            catalog: catalog.to_owned(),
            log: Some(dir.join("server.log")),
            settings,
        };
        let server = RestartableServer::start(server, &programs.server, dir.join("restart"))?;
        Ok(Place {
            lab,
            server: Some(server),
            cloud: Some(cloud),
        })
    }

    fn stop(&mut self) {
        self.server = None;
        self.cloud = None;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The folder of state and logs.
pub fn dir() -> PathBuf {
    paths::target().join("e2e")
}

/// Installs Playwright without its own browser: Debian's Chromium is used.
pub fn install_playwright() -> Result<()> {
    npm::install(&end2end())?;
    if !Path::new("/usr/bin/chromium").exists() {
        bail!("there is no /usr/bin/chromium; `apt-get install chromium` brings it");
    }
    Ok(())
}

/// Checks the types of the browser tests and benches. Playwright only drops them, so a wrong name would be found by the
/// line that uses it, minutes later.
pub fn check_types() -> Result<()> {
    install_playwright()?;
    shell::run_quiet(cmd("npm", ["run", "--silent", "check"]).current_dir(end2end()))
}

fn end2end() -> PathBuf {
    paths::root().join("end2end")
}
