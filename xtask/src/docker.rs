//! Docker: the daemon, the base image, and our images.
//!
//! A running daemon is used. Otherwise one is started: with systemd as a service (which keeps running), elsewhere as a
//! child process (which is stopped at the end).
//!
//! The base image is pulled. If no registry is reachable, debootstrap builds it from the package sources of this
//! machine, and it is imported under the same name, so that ordinary Dockerfiles work.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::children::{self, Child};
use crate::progress::{Part, Step};
use crate::shell::{self, as_root, cmd};
use crate::{apt, paths};

/// The base of all our images.
pub const BASE: &str = "debian:bookworm-slim";

const RELEASE: &str = "bookworm";
/// Time limit for the daemon to respond after its first start.
const STARTED: Duration = Duration::from_secs(180);
const CONTEXT_LABEL: &str = "stackloom.context";

/// An image of the project.
#[derive(Clone, Copy)]
pub struct Image {
    /// The name.
    pub tag: &'static str,
    /// The folder with its Dockerfile, relative to the root of the tree.
    pub context: &'static str,
}

/// All images.
pub const IMAGES: [Image; 4] = [
    Image {
        tag: "stackloom-lab-server",
        context: "crates/lab/images/server",
    },
    Image {
        tag: "stackloom-lab-router",
        context: "crates/lab/images/router",
    },
    Image {
        tag: "stackloom-lab-balancer",
        context: "crates/lab/images/balancer",
    },
    Image {
        tag: "stackloom-sandbox",
        context: "crates/engine/images/sandbox",
    },
];

/// Builds the images that are missing or whose files have changed.
pub fn images() -> Part {
    Part::new("images", 4, |step| {
        step.note(BASE);
        ensure_base(step)?;
        for (index, image) in IMAGES.into_iter().enumerate() {
            step.note(format!("{} of {}", index + 1, IMAGES.len()));
            ensure_image(image)?;
        }
        Ok(())
    })
}

/// Whether a daemon responds.
pub fn answers() -> bool {
    shell::succeeds(&mut cmd("docker", ["version"]))
}

/// Whether an image with this name exists.
pub fn has_image(tag: &str) -> bool {
    shell::succeeds(&mut cmd("docker", ["image", "inspect", tag]))
}

/// Whether the image was built from the current content of its folder.
pub fn is_current(image: Image) -> bool {
    let format = format!("{{{{index .Config.Labels \"{CONTEXT_LABEL}\"}}}}");
    let built = shell::read(&mut cmd(
        "docker",
        ["image", "inspect", "--format", &format, image.tag],
    ));
    matches!((built, context_hash(image)), (Ok(built), Ok(now)) if built == now)
}

/// Starts a daemon if none responds. Returns a started child process, which must be stopped.
pub fn ensure_daemon() -> Result<Option<Child>> {
    if answers() {
        return Ok(None);
    }
    let reply = cmd("docker", ["version"])
        .output()
        .context("cannot start `docker`")?;
    if String::from_utf8_lossy(&reply.stderr).contains("permission denied") {
        bail!("this account may not use Docker: add it to the group `docker` and log in again");
    }
    eprintln!("starting the Docker daemon");
    ensure_systemd_hierarchy()?;
    if Path::new("/run/systemd/system").is_dir() {
        shell::run_quiet(&mut as_root("systemctl", ["start", "docker"]))?;
        return if shell::wait_until(STARTED, answers) {
            Ok(None)
        } else {
            bail!("Docker does not answer")
        };
    }
    std::fs::create_dir_all(paths::target())?;
    let log = paths::target().join("dockerd.log");
    let mut command = daemon_command();
    children::write_output_to(&mut command, &log)?;
    let mut daemon = Child::start("dockerd", &mut command)?;
    if !shell::wait_until(STARTED, || answers() || daemon.has_ended()) || daemon.has_ended() {
        bail!("dockerd does not come up; its log is {}", log.display());
    }
    Ok(Some(daemon))
}

/// Mounts the hierarchy in which systemd keeps the control groups of services, if this machine has version 1 of control
/// groups and no systemd. The lab's servers need it.
fn ensure_systemd_hierarchy() -> Result<()> {
    const HIERARCHY: &str = "/sys/fs/cgroup/systemd";
    let has_first_version = Path::new("/sys/fs/cgroup/memory").is_dir();
    if !has_first_version || Path::new(HIERARCHY).is_dir() {
        return Ok(());
    }
    shell::run_quiet(&mut as_root("mkdir", [HIERARCHY]))?;
    let options = [
        "-t",
        "cgroup",
        "-o",
        "none,name=systemd",
        "cgroup",
        HIERARCHY,
    ];
    shell::run_quiet(&mut as_root("mount", options))
}

/// `sudo` forwards signals, but does not end with xtask. So only a daemon that is started as root ends with xtask.
fn daemon_command() -> std::process::Command {
    let mut command = if shell::is_root() {
        children::command("dockerd")
    } else {
        as_root("dockerd", [""; 0])
    };
    command.args(["--log-level", "warn"]);
    command
}

fn ensure_base(step: &Step<'_>) -> Result<()> {
    if has_image(BASE) {
        return Ok(());
    }
    if shell::succeeds(&mut cmd(
        "timeout",
        ["120", "docker", "pull", "--quiet", BASE],
    )) {
        return Ok(());
    }
    step.note("base by debootstrap");
    let sources = apt::sources();
    let mirror = mirror(&sources)?;
    let dir = scratch_dir()?;
    let rootfs = dir.join("rootfs");
    let mut bootstrap = as_root(
        "debootstrap",
        ["--variant=minbase", "--include=ca-certificates", RELEASE],
    );
    // A retry continues the earlier attempt.
    shell::fetch(bootstrap.arg(&rootfs).arg(&mirror))?;
    let sources = sources_list(&sources, &mirror);
    let files = [
        ("etc/apt/sources.list", "644", sources.as_str()),
        // As in the registry's image: packages do not start services while an image is built, are written without a
        // sync per file, and are listed without translations.
        ("usr/sbin/policy-rc.d", "755", "#!/bin/sh\nexit 101\n"),
        (
            "etc/dpkg/dpkg.cfg.d/docker-apt-speedup",
            "644",
            "force-unsafe-io\n",
        ),
        (
            "etc/apt/apt.conf.d/docker-no-languages",
            "644",
            "Acquire::Languages \"none\";\n",
        ),
    ];
    let written = dir.join("file");
    for (path, mode, text) in files {
        std::fs::write(&written, text)?;
        let mut install = as_root("install", ["-D", "-m", mode]);
        shell::run_quiet(install.arg(&written).arg(rootfs.join(path)))?;
    }
    let archive = dir.join("rootfs.tar");
    let mut pack = as_root(
        "tar",
        [
            "--exclude=./var/cache/apt/archives/*.deb",
            "--exclude=./var/lib/apt/lists/*",
        ],
    );
    shell::run_quiet(
        pack.arg("-C")
            .arg(&rootfs)
            .arg("-cf")
            .arg(&archive)
            .arg("."),
    )?;
    shell::run_quiet(
        cmd("docker", ["import", "--change", "CMD [\"bash\"]"])
            .arg(&archive)
            .arg(BASE),
    )?;
    shell::run_quiet(as_root("rm", ["-rf", "--one-file-system"]).arg(&dir))
}

/// A new folder outside of the tree, since debootstrap creates files of root.
fn scratch_dir() -> Result<PathBuf> {
    shell::read(&mut cmd("mktemp", ["-d", "-t", "stackloom-base.XXXXXX"])).map(PathBuf::from)
}

/// The package source of the release on this machine.
fn mirror(sources: &[apt::Source]) -> Result<String> {
    let source = sources.iter().find(|source| source.suite == RELEASE);
    let source = source.with_context(|| {
        format!("{BASE} cannot be pulled, and this machine has no package source for {RELEASE}")
    })?;
    Ok(source.uri.clone())
}

/// The package sources of the image: the release, its updates and its security fixes, if this machine has them.
fn sources_list(sources: &[apt::Source], mirror: &str) -> String {
    let mut lines = vec![format!("deb {mirror} {RELEASE} main")];
    for suite in [format!("{RELEASE}-updates"), format!("{RELEASE}-security")] {
        if let Some(source) = sources.iter().find(|source| source.suite == suite) {
            lines.push(format!("deb {} {suite} main", source.uri));
        }
    }
    lines.join("\n") + "\n"
}

fn ensure_image(image: Image) -> Result<()> {
    if is_current(image) {
        return Ok(());
    }
    let label = format!("{CONTEXT_LABEL}={}", context_hash(image)?);
    shell::fetch(
        cmd("docker", ["build", "--tag", image.tag, "--label", &label]).arg(context_dir(image)),
    )
}

/// A hash of the files in the image's folder and of the base image.
fn context_hash(image: Image) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    shell::read(&mut cmd(
        "docker",
        ["image", "inspect", "--format", "{{.Id}}", BASE],
    ))?
    .hash(&mut hasher);
    let dir = context_dir(image);
    for file in files_below(&dir)? {
        file.strip_prefix(&dir).unwrap_or(&file).hash(&mut hasher);
        std::fs::read(&file)
            .with_context(|| format!("cannot read {}", file.display()))?
            .hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn context_dir(image: Image) -> PathBuf {
    paths::root().join(image.context)
}

fn files_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in
            std::fs::read_dir(&dir).with_context(|| format!("cannot list {}", dir.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path)
            } else {
                files.push(path)
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_gets_the_suites_that_the_machine_has() {
        let source = |uri: &str, suite: &str| apt::Source {
            uri: uri.into(),
            suite: suite.into(),
        };
        let sources = [
            source("http://a.test/debian", "bookworm"),
            source("http://s.test/sec", "bookworm-security"),
            source("http://x.test", "stable"),
        ];
        let mirror = mirror(&sources).expect("there is one");
        let expected = "deb http://a.test/debian bookworm main\ndeb http://s.test/sec bookworm-security main\n";
        assert_eq!(sources_list(&sources, &mirror), expected);
    }

    #[test]
    fn the_packages_of_the_sandbox_have_versions() {
        let file = paths::root().join("crates/engine/images/sandbox/Dockerfile");
        let text = std::fs::read_to_string(file).expect("there is one");
        let (_, install) = text.split_once(" install ").expect("it installs packages");
        let (install, _) = install.split_once("&&").expect("another command follows");
        let words = install.split_whitespace();
        let packages: Vec<&str> = words
            .filter(|word| !word.starts_with(['-', '\\']))
            .collect();
        assert!(packages.len() >= 4, "{packages:?}");
        for package in packages {
            assert!(package.contains('='), "{package} is any version");
        }
    }
}
