//! Docker: a daemon that answers, a base image, and our images.
//!
//! The daemon: the one that runs is used. Where none does, one is started; on a machine with systemd as its service
//! (and left running, it is the machine's), elsewhere as our child (and stopped when we end).
//!
//! The base image is pulled. Where no registry can be reached it is made by debootstrap from the package sources
//! that this machine itself uses, and imported under the same name, so that ordinary Dockerfiles build on it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::children::{self, Child};
use crate::progress::{Part, Step};
use crate::shell::{self, as_root, cmd};
use crate::{apt, paths};

/// What all our images are built on.
pub const BASE: &str = "debian:bookworm-slim";

const RELEASE: &str = "bookworm";
/// How long a daemon may take to answer, on a machine that has never seen it.
const STARTED: Duration = Duration::from_secs(180);
const CONTEXT_LABEL: &str = "stackloom.context";

/// One of our images.
#[derive(Clone, Copy)]
pub struct Image {
    /// Its name.
    pub tag: &'static str,
    /// The folder with its Dockerfile, from the root of the tree.
    pub context: &'static str,
}

/// All of them.
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

/// The images that are missing or whose files have changed.
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

/// Whether a daemon answers.
pub fn answers() -> bool {
    shell::succeeds(&mut cmd("docker", ["version"]))
}

/// Whether there is an image of that name.
pub fn has_image(tag: &str) -> bool {
    shell::succeeds(&mut cmd("docker", ["image", "inspect", tag]))
}

/// Whether the image was built from what its folder holds now.
pub fn is_current(image: Image) -> bool {
    let format = format!("{{{{index .Config.Labels \"{CONTEXT_LABEL}\"}}}}");
    let built = shell::read(&mut cmd(
        "docker",
        ["image", "inspect", "--format", &format, image.tag],
    ));
    matches!((built, context_hash(image)), (Ok(built), Ok(now)) if built == now)
}

/// A daemon that answers. It is given back when it is ours to stop.
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

/// `sudo` forwards the signal that stops it, but not our own death: only a daemon of root's is bound to us.
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
    // Begun again, it goes on from where it was.
    shell::fetch(bootstrap.arg(&rootfs).arg(&mirror))?;
    let sources = sources_list(&sources, &mirror);
    let files = [
        ("etc/apt/sources.list", "644", sources.as_str()),
        // As in the image of that name from the registry: packages do not start their services while an image is built, are not
        // written to the disk one by one, and are listed without translations.
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

/// A folder that nobody else uses, outside of the tree: what debootstrap makes belongs to root.
fn scratch_dir() -> Result<PathBuf> {
    shell::read(&mut cmd("mktemp", ["-d", "-t", "stackloom-base.XXXXXX"])).map(PathBuf::from)
}

/// Where the release itself comes from on this machine.
fn mirror(sources: &[apt::Source]) -> Result<String> {
    let source = sources.iter().find(|source| source.suite == RELEASE);
    let source = source.with_context(|| {
        format!("{BASE} cannot be pulled, and this machine has no package source for {RELEASE}")
    })?;
    Ok(source.uri.clone())
}

/// The image's own sources: the release, its updates and its security fixes, as far as this machine has them.
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

/// Changes with any file of the image's folder and with the base image.
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
}
