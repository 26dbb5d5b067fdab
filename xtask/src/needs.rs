//! Requirements on the machine: checks, and the packages that provide them.
//!
//! `run`, `test`, `build` and `doctor` use the same list. Installation requires consent, except in CI and without a
//! terminal.

use std::path::Path;

use anyhow::{Result, bail};

use crate::shell;
use crate::{apt, compiler};

/// A requirement.
pub struct Need {
    /// The name.
    pub name: &'static str,
    /// The purpose, in a few words.
    pub purpose: &'static str,
    /// Whether the requirement is met.
    pub is_there: fn() -> bool,
    /// The Debian packages that provide it.
    pub packages: &'static [&'static str],
}

const C_COMPILER: Need = Need {
    name: "C compiler",
    purpose: "SQLite and the TLS library",
    is_there: || shell::has("cc"),
    packages: &["gcc", "libc6-dev"],
};
const NODE: Need = Need {
    name: "Node and npm",
    purpose: "fonts, icons, the code editor, and the browser tests' driver",
    is_there: || shell::has("node") && shell::has("npm"),
    packages: &["nodejs", "npm"],
};
const WASM_OPT: Need = Need {
    name: "wasm-opt",
    purpose: "a small download for the browser",
    is_there: || shell::has("wasm-opt"),
    packages: &["binaryen"],
};
const BROTLI: Need = Need {
    name: "brotli",
    purpose: "the same",
    is_there: || shell::has("brotli"),
    packages: &["brotli"],
};
const DOCKER: Need = Need {
    name: "Docker",
    purpose: "the lab cloud's servers, and the sandboxes",
    is_there: || shell::has("docker") && shell::has("dockerd"),
    packages: &["docker.io"],
};
const PACKET_FILTER: Need = Need {
    name: "iptables, nft, ip",
    purpose: "the lab cloud's security groups and routers",
    is_there: || {
        ["iptables", "nft", "ip"]
            .iter()
            .all(|program| shell::has(program))
    },
    packages: &["iptables", "nftables", "iproute2"],
};
const DEBOOTSTRAP: Need = Need {
    name: "debootstrap",
    purpose: "a base image where none can be pulled",
    is_there: || shell::has("debootstrap"),
    packages: &["debootstrap"],
};
const SSH: Need = Need {
    name: "ssh",
    purpose: "logging in to servers, in tests and by hand",
    is_there: || shell::has("ssh") && shell::has("ssh-keygen"),
    packages: &["openssh-client"],
};
const SQLITE: Need = Need {
    name: "sqlite3",
    purpose: "a backup, as docs/production.md says, in tests",
    is_there: || shell::has("sqlite3"),
    packages: &["sqlite3"],
};
/// The requirement of tests with the `openstack` command line.
pub const PYTHON: Need = Need {
    name: "Python with venv",
    purpose: "the `openstack` command line, in tests",
    is_there: || {
        let args = ["-c", "import venv, ensurepip"];
        shell::succeeds(&mut shell::cmd("python3", args))
    },
    packages: &["python3-venv"],
};
const CHROMIUM: Need = Need {
    name: "Chromium",
    purpose: "the browser tests",
    is_there: || Path::new("/usr/bin/chromium").exists(),
    packages: &["chromium"],
};

/// The requirement of benchmarks with `--postgres`.
pub const POSTGRES: Need = Need {
    name: "PostgreSQL",
    purpose: "the other database, in tests and for `run --postgres`",
    is_there: || {
        let versions = std::fs::read_dir("/usr/lib/postgresql");
        let has_server = |version: std::fs::DirEntry| version.path().join("bin/postgres").exists();
        versions.is_ok_and(|all| all.flatten().any(has_server))
    },
    packages: &["postgresql"],
};

const PATRONI: Need = Need {
    name: "Patroni",
    purpose: "a highly available database, in tests and for `run --servers`",
    is_there: || shell::has("patroni"),
    packages: &["patroni"],
};
const ETCD: Need = Need {
    name: "etcd",
    purpose: "Patroni's choice of a primary",
    is_there: || shell::has("etcd"),
    packages: &["etcd-server"],
};
const HAPROXY: Need = Need {
    name: "HAProxy",
    purpose: "the way to the primary, and to several servers",
    is_there: || shell::has("haproxy"),
    packages: &["haproxy"],
};

/// The requirements of `build`.
pub fn for_building() -> Vec<Need> {
    vec![C_COMPILER, NODE, WASM_OPT, BROTLI]
}

/// The requirements of `run`.
pub fn for_running() -> Vec<Need> {
    let mut needs = for_building();
    needs.extend([DOCKER, PACKET_FILTER, DEBOOTSTRAP, SSH]);
    needs
}

/// The requirements of `run --postgres`.
pub fn for_running_on_postgres() -> Vec<Need> {
    let mut needs = for_running();
    needs.push(POSTGRES);
    needs
}

/// The requirements of `run --servers`.
pub fn for_running_servers() -> Vec<Need> {
    let mut needs = for_running_on_postgres();
    needs.extend([PATRONI, ETCD, HAPROXY]);
    needs
}

/// The requirements of `test`.
pub fn for_testing() -> Vec<Need> {
    let mut needs = for_running_servers();
    needs.extend([CHROMIUM, SQLITE]);
    needs
}

/// Installs missing requirements.
pub fn ensure(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !(need.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing
        .iter()
        .flat_map(|need| need.packages.iter().copied())
        .collect();
    eprintln!("This machine lacks:");
    for need in &missing {
        eprintln!("  {:<18} for {}", need.name, need.purpose);
    }
    if !shell::has("apt-get") {
        bail!(
            "install these by hand (there is no apt-get here): {}",
            packages.join(" ")
        );
    }
    shell::consent(&format!("Install with apt-get: {}?", packages.join(" ")))?;
    eprintln!("installing {}", packages.join(" "));
    apt::install(&packages)?;
    match missing.iter().find(|need| !(need.is_there)()) {
        Some(need) => bail!(
            "{} is still not there after installing {}",
            need.name,
            need.packages.join(" ")
        ),
        None => Ok(()),
    }
}

/// The compiler for wasm, for `doctor`. `Err` if it is not installed yet.
pub fn wasm_compiler() -> Result<&'static str, &'static str> {
    if compiler::has_rustup_target() {
        return Ok("rustup's wasm32 target");
    }
    if apt::missing(&compiler::DEBIAN_PACKAGES).is_empty() {
        return Ok("Debian's rustc-web");
    }
    Err("will be added by rustup, else by Debian's rustc-web")
}
