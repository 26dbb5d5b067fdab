//! Which compiler makes the wasm.
//!
//! On most machines it is the rustup toolchain with its `wasm32-unknown-unknown` target, which we add when it is not
//! there. Where that download is not to be had, Debian's `rustc-web` steps in: it brings the library's source, from
//! which `std` is built once, in an empty crate below `target/`. The result goes into a sysroot of our own, also below
//! `target/`, so nothing outside is written to and no root is needed. The host side stays with the usual toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{self, cargo, cmd};
use crate::{apt, paths};

/// The target's name.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// What Debian's way needs.
pub const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "rust-web-src", "rust-web-llvm"];

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// A compiler that can make wasm.
pub enum Compiler {
    /// The toolchain that cargo uses anyway.
    Rustup,
    /// Debian's, with the sysroot that holds our `std`.
    Debian { sysroot: PathBuf },
}

impl Compiler {
    /// Finds one, or makes one. `STACKLOOM_WASM_COMPILER=debian` skips rustup: for trying the other way.
    pub fn ensure() -> Result<Compiler> {
        let forced =
            std::env::var("STACKLOOM_WASM_COMPILER").is_ok_and(|choice| choice == "debian");
        if !forced && (has_rustup_target() || add_rustup_target()) {
            return Ok(Compiler::Rustup);
        }
        let sysroot = paths::web().join("sysroot");
        ensure_debian(&sysroot).context(
            "rustup has no wasm32 target for us, and Debian's compiler did not do either",
        )?;
        Ok(Compiler::Debian { sysroot })
    }

    /// Makes a cargo command use it.
    pub fn apply(&self, command: &mut Command) {
        if let Compiler::Debian { sysroot } = self {
            command.env("RUSTC", DEBIAN_RUSTC);
            command.env_remove("RUSTUP_TOOLCHAIN");
            command.env(
                "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
                // An environment variable replaces the flags of .cargo/config.toml, so they are said again.
                format!("--cfg=erase_components --sysroot={}", sysroot.display()),
            );
        }
    }

    /// Where cargo puts its artefacts: one compiler's are of no use to the other.
    pub fn target_dir(&self) -> PathBuf {
        match self {
            Compiler::Rustup => paths::web(),
            Compiler::Debian { .. } => paths::web().join("debian"),
        }
    }
}

/// Whether the toolchain in use has the target.
pub fn has_rustup_target() -> bool {
    let sysroot = shell::read(&mut cmd("rustc", ["--print", "sysroot"])).unwrap_or_default();
    holds_std(Path::new(&sysroot))
}

fn add_rustup_target() -> bool {
    if !shell::has("rustup") {
        return false;
    }
    eprintln!("adding the Rust target {TARGET}");
    shell::succeeds(&mut cmd(
        "timeout",
        ["300", "rustup", "target", "add", TARGET],
    )) && has_rustup_target()
}

fn ensure_debian(sysroot: &Path) -> Result<()> {
    apt::install(&DEBIAN_PACKAGES)?;
    install_linker()?;
    let version = shell::read(&mut cmd(DEBIAN_RUSTC, ["-vV"]))?;
    let made_for = sysroot.join("made-for");
    if holds_std(sysroot) && std::fs::read_to_string(&made_for).is_ok_and(|old| old == version) {
        return Ok(());
    }
    shell::headline("Building Rust's std for wasm (once)");
    let scratch = paths::web().join("std");
    let built = build_std(&scratch)?;
    fill_sysroot(sysroot, &built, &version)?;
    std::fs::write(&made_for, version)
        .with_context(|| format!("cannot write {}", made_for.display()))
}

/// Debian's `rust-lld` is a link to the `lld` of a certain LLVM, which nothing pulls in: its package has the file's name.
fn install_linker() -> Result<()> {
    let link = Path::new("/usr/bin/rust-lld");
    if link.exists() {
        return Ok(());
    }
    let target = std::fs::read_link(link).context("rust-web-llvm brought no `rust-lld`")?;
    let name = target
        .file_name()
        .and_then(|name| name.to_str())
        .context("`rust-lld` leads nowhere")?;
    apt::install(&[name])
}

/// Builds `std` as the dependency of a crate that holds nothing, and gives the folder with the libraries.
fn build_std(scratch: &Path) -> Result<PathBuf> {
    let source = scratch.join("src");
    std::fs::create_dir_all(&source)
        .with_context(|| format!("cannot make {}", source.display()))?;
    std::fs::write(source.join("lib.rs"), "#![no_std]\n")?;
    let manifest =
        "[package]\nname = \"nothing\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    std::fs::write(scratch.join("Cargo.toml"), manifest)?;
    let args = [
        "build",
        "--release",
        "-Zbuild-std=std,panic_abort",
        "--target",
        TARGET,
        "--target-dir",
        "target",
    ];
    let mut build = cargo(args);
    build
        .current_dir(scratch)
        .env("RUSTC", DEBIAN_RUSTC)
        .env("RUSTC_BOOTSTRAP", "1");
    build
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO_TARGET_DIR");
    shell::run(&mut build)?;
    Ok(scratch.join("target").join(TARGET).join("release/deps"))
}

/// A sysroot with our `std` for wasm; the host's part (the linker is there) is Debian's own, by link.
fn fill_sysroot(sysroot: &Path, built: &Path, version: &str) -> Result<()> {
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("`rustc -vV` names no host")?;
    let debian = PathBuf::from(shell::read(&mut cmd(DEBIAN_RUSTC, ["--print", "sysroot"]))?);
    let rustlib = sysroot.join("lib/rustlib");
    let libraries = rustlib.join(TARGET).join("lib");
    if libraries.exists() {
        std::fs::remove_dir_all(&libraries)
            .with_context(|| format!("cannot empty {}", libraries.display()))?;
    }
    std::fs::create_dir_all(&libraries)
        .with_context(|| format!("cannot make {}", libraries.display()))?;
    let link = rustlib.join(host);
    if link.symlink_metadata().is_err() {
        std::os::unix::fs::symlink(debian.join("lib/rustlib").join(host), &link)
            .with_context(|| format!("cannot link {}", link.display()))?;
    }
    let mut count = 0;
    for entry in
        std::fs::read_dir(built).with_context(|| format!("cannot list {}", built.display()))?
    {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if name.ends_with(".rlib") && !name.starts_with("libnothing") {
            std::fs::copy(&path, libraries.join(name))
                .with_context(|| format!("cannot copy {}", path.display()))?;
            count += 1;
        }
    }
    if count == 0 {
        bail!("building std left no library in {}", built.display());
    }
    Ok(())
}

fn holds_std(sysroot: &Path) -> bool {
    let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    std::fs::read_dir(libraries).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
    })
}
