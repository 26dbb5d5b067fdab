//! The browser tests, with a lab cloud and a server of their own.
//!
//! Name, ports, addresses and folders differ from those of `cargo xtask run`, so both can be there at once. All state
//! is thrown away before and after.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};

use super::counted::{self, Counts};
use crate::lab::Lab;
use crate::server::Server;
use crate::shell::{self, cmd};
use crate::{build, clouds, http, paths};

const LAB: &str = "127.0.0.1:9600";

/// A cloud that nobody can reach, for the message about it: port 9 is the discard service, which nobody runs.
const NOWHERE: &str = "clouds:\n  nowhere:\n    auth:\n      auth_url: http://127.0.0.1:9/identity/v3\n    region_name: nowhere\n";

/// Builds what is needed, starts lab and server, runs Playwright, stops both.
pub fn run(grep: Option<&str>, stop: &AtomicBool) -> Result<Counts> {
    build::site(build::Speed::Release, true)?;
    let programs = build::programs(build::Profile::Dev)?;
    install_playwright()?;

    let dir = paths::target().join("e2e");
    let lab = Lab {
        name: "e2e",
        listen: LAB.into(),
        public_cidr: "172.31.0.0/24",
        state: dir.join("lab"),
    };
    lab.reset(&programs.lab)?;
    empty(&dir)?;
    let more = dir.join("more.yaml");
    std::fs::write(&more, NOWHERE)?;
    let clouds_file = dir.join("clouds.yaml");
    std::fs::write(&clouds_file, clouds::text(Some(LAB), Some(&more))?)?;

    let lab_process = lab.start(&programs.lab, Some(&dir.join("lab.log")))?;
    let address = format!("127.0.0.1:{}", http::free_port()?);
    let server = Server {
        address,
        clouds: clouds_file,
        data: dir.join("data"),
        log: Some(dir.join("server.log")),
    };
    let server_process = server.start(&programs.server)?;

    let mut playwright = cmd("npx", ["playwright", "test"]);
    playwright
        .current_dir(end2end())
        .env("STACKLOOM_URL", format!("http://{}", server.address))
        .env("STACKLOOM_LAB", format!("http://{LAB}"));
    if let Some(grep) = grep {
        playwright.args(["--grep", grep]);
    }
    let result = counted::run(playwright, stop);
    drop(server_process);
    drop(lab_process);
    lab.reset(&programs.lab)?;
    result.with_context(|| format!("the logs of lab and server are in {}", dir.display()))
}

/// Playwright without a browser of its own: Debian's Chromium is used.
fn install_playwright() -> Result<()> {
    let dir = end2end();
    let done = dir.join("node_modules/.installed");
    if build::is_older(&done, &dir.join("package.json")) {
        let args = [
            "install",
            "--no-package-lock",
            "--no-audit",
            "--no-fund",
            "--silent",
        ];
        shell::run(
            cmd("npm", args)
                .current_dir(&dir)
                .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
        )?;
        std::fs::write(&done, "").with_context(|| format!("cannot write {}", done.display()))?;
    }
    if !Path::new("/usr/bin/chromium").exists() {
        bail!("there is no /usr/bin/chromium; `apt-get install chromium` brings it");
    }
    Ok(())
}

fn end2end() -> PathBuf {
    paths::root().join("end2end")
}

fn empty(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        std::fs::remove_dir_all(dir).with_context(|| format!("cannot empty {}", dir.display()))?;
    }
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))
}
