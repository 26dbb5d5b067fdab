//! The `frontend` crate as `stackloom_bg.wasm`, with the script that loads it.
//!
//! cargo makes the module, wasm-bindgen (as a library, of the very version that the crates use) makes the bindings,
//! `wasm-opt` makes it small. The last two run only when the first gave something new.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use super::compiler::{Compiler, TARGET};
use super::packed::write_if_changed;
use crate::paths;
use crate::shell::{self, cargo, cmd};

/// What matters: the time to build or the size of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speed {
    /// No link-time optimisation, no `wasm-opt`.
    Dev,
    /// Profile `wasm-release`, then `wasm-opt -Oz`.
    Release,
}

/// What rustc uses by default. Not `--all-features`: an older `wasm-opt` then writes types of a draft of the garbage
/// collection proposal, which browsers refuse.
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Builds `pkg/stackloom.js` and `pkg/stackloom_bg.wasm`.
pub fn build(speed: Speed) -> Result<()> {
    let module = compile(speed)?;
    let wasm =
        std::fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
    let stamp_file = paths::web().join("bound");
    let stamp = stamp(&wasm, speed);
    let target = paths::pkg().join("stackloom_bg.wasm");
    if target.is_file() && std::fs::read_to_string(&stamp_file).is_ok_and(|old| old == stamp) {
        return Ok(());
    }
    let dir = paths::web().join("bindgen");
    bind(&module, &dir, speed)?;
    let bound = dir.join("stackloom_bg.wasm");
    if speed == Speed::Release && shell::has("wasm-opt") {
        shell::run(
            cmd("wasm-opt", ["-Oz"])
                .args(FEATURES)
                .arg("-o")
                .arg(&bound)
                .arg(&bound),
        )?;
    }
    // Both keep the names that wasm-bindgen gives: Leptos asks for them wherever cargo-leptos did not build it.
    let script = std::fs::read_to_string(dir.join("stackloom.js"))?;
    write_if_changed(&paths::pkg().join("stackloom.js"), script.as_bytes())?;
    write_if_changed(&target, &std::fs::read(&bound)?)?;
    copy_snippets(&dir.join("snippets"), &paths::pkg().join("snippets"))?;
    std::fs::write(&stamp_file, stamp)
        .with_context(|| format!("cannot write {}", stamp_file.display()))
}

fn compile(speed: Speed) -> Result<PathBuf> {
    let compiler = Compiler::ensure()?;
    let (profile, folder) = match speed {
        Speed::Dev => ("dev", "debug"),
        Speed::Release => ("wasm-release", "wasm-release"),
    };
    let target_dir = compiler.target_dir();
    let mut build = cargo([
        "build",
        "--package",
        "frontend",
        "--lib",
        "--target",
        TARGET,
        "--profile",
        profile,
    ]);
    build.arg("--target-dir").arg(&target_dir);
    if speed == Speed::Dev {
        build
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "false");
    }
    compiler.apply(&mut build);
    shell::run(&mut build)?;
    Ok(target_dir.join(TARGET).join(folder).join("frontend.wasm"))
}

fn bind(module: &Path, dir: &Path, speed: Speed) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(module)
        .out_name("stackloom")
        .typescript(false)
        .remove_name_section(speed == Speed::Release);
    bindgen
        .web(true)?
        .generate(dir)
        .with_context(|| format!("wasm-bindgen cannot bind {}", module.display()))
}

/// Scripts that crates bring along inline; wasm-bindgen writes them beside its own.
fn copy_snippets(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        shell::run_quiet(cmd("cp", ["-R", "-T"]).arg(from).arg(to))?;
    }
    Ok(())
}

/// Changes with the module, the way it is treated, and the tool that treats it.
fn stamp(wasm: &[u8], speed: Speed) -> String {
    let mut hasher = DefaultHasher::new();
    wasm.hash(&mut hasher);
    format!(
        "{:016x} {speed:?} {}",
        hasher.finish(),
        shell::has("wasm-opt")
    )
}
