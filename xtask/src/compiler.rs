//! The compiler for wasm.
//!
//! On most machines it is the rustup toolchain with the target `wasm32-unknown-unknown`, which is added if missing. If
//! that download is not available, Debian's `rustc-web` is used. It contains the library's source, from which `std` is
//! built once, in an empty crate below `target/`. The result is a separate sysroot, also below `target/`, so nothing
//! outside is written and root is needed only to install packages. The host build keeps the usual toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{self, cargo, cmd};
use crate::{apt, paths};

/// The name of the target.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's packages for wasm.
pub const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "rust-web-src", "rust-web-llvm"];

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// A compiler with a wasm target.
pub enum Compiler {
    /// The default toolchain.
    Rustup,
    /// Debian's compiler, with a sysroot for `std`.
    Debian { sysroot: PathBuf },
}

impl Compiler {
    /// Finds or installs a compiler. `STACKLOOM_WASM_COMPILER=debian` skips rustup, to test the alternative.
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

    /// Configures a cargo command for this compiler.
    pub fn apply(&self, command: &mut Command) {
        if let Compiler::Debian { sysroot } = self {
            command.env("RUSTC", DEBIAN_RUSTC);
            command.env_remove("RUSTUP_TOOLCHAIN");
            command.env(
                "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
                // The environment variable replaces the flags in .cargo/config.toml, so they are repeated here.
                format!("--cfg=erase_components --sysroot={}", sysroot.display()),
            );
        }
    }

    /// The target directory. The compilers cannot share artefacts.
    pub fn target_dir(&self) -> PathBuf {
        match self {
            Compiler::Rustup => paths::web(),
            Compiler::Debian { .. } => paths::web().join("debian"),
        }
    }
}

/// Whether the default toolchain has the target.
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

/// Installs the linker. Debian's `rust-lld` is a link to the `lld` of a specific LLVM version, whose package has the
/// same name as the file and is no dependency.
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

/// Builds `std` as the dependency of an empty crate. Returns the folder with the libraries.
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

/// Creates a sysroot with `std` for wasm. The host's part, with the linker, is a link to Debian's.
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
