//! `cargo xtask package`: the files of an installation, in `target/stackloom` and as `target/stackloom.tar.gz`.
//!
//! `docs/production.md` says what to do with them. The archive has the program, its pages and catalogue, the Docker
//! context of the sandbox, and the files of `deploy/` for systemd, a TLS proxy and a container of the server.

use std::path::Path;

use anyhow::{Context, Result};

use crate::shell::{self, cmd};
use crate::{build, docker, needs, paths, progress};

/// The name of the container image, and of the folder and the archive.
const NAME: &str = "stackloom";

/// Options of `package`.
#[derive(clap::Args)]
pub struct Options {
    /// Pack a development build: faster to build, slower and larger.
    #[arg(long)]
    dev: bool,
    /// Build the container image of the server too, and name it `stackloom`.
    #[arg(long)]
    image: bool,
}

/// Builds and packs.
pub fn run(options: &Options) -> Result<()> {
    let needed = if options.image {
        needs::for_running()
    } else {
        needs::for_building()
    };
    needs::ensure(&needed)?;
    // Stopped at the end, if it was started here.
    let _daemon = options.image.then(docker::ensure_daemon).transpose()?;
    let profile = build::Profile::of_pages(options.dev);
    let mut parts = vec![build::pages(profile), build::programs(profile)];
    if options.image {
        parts.push(docker::images());
    }
    progress::run_concurrently(parts)?;

    let folder = paths::target().join(NAME);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let root = paths::root();
    copy(&build::Programs::of(profile).server, &folder.join("bin"))?;
    copy(&paths::site(), &folder)?;
    copy(&root.join("catalog"), &folder)?;
    copy(&root.join("deploy"), &folder)?;
    copy(&root.join("docs"), &folder)?;
    copy(&root.join("crates/engine/images/sandbox"), &folder)?;

    let archive = paths::target().join(format!("{NAME}.tar.gz"));
    let mut tar = cmd(
        "tar",
        ["--owner=0", "--group=0", "--create", "--gzip", "--file"],
    );
    shell::run(
        tar.arg(&archive)
            .arg("--directory")
            .arg(paths::target())
            .arg(NAME),
    )?;
    eprintln!("packed {}", archive.display());
    if options.image {
        let mut build = cmd("docker", ["build", "--quiet", "--tag", NAME, "--file"]);
        shell::run(build.arg(folder.join("deploy/Dockerfile")).arg(&folder))?;
    }
    Ok(())
}

/// Copies a file or folder into a folder.
fn copy(from: &Path, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into).with_context(|| format!("cannot make {}", into.display()))?;
    shell::run_quiet(cmd("cp", ["--recursive"]).arg(from).arg(into))
}
