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
        optimise(&bound)?;
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

fn optimise(module: &Path) -> Result<()> {
    shell::run(
        cmd("wasm-opt", ["-Oz"])
            .args(FEATURES)
            .arg("-o")
            .arg(module)
            .arg(module),
    )?;
    let mut read = walrus::Module::from_file(module)
        .with_context(|| format!("wasm-opt made no module of {}", module.display()))?;
    if point_export_at_externrefs(&mut read) {
        read.emit_wasm_file(module)
            .with_context(|| format!("cannot write {}", module.display()))?;
    }
    Ok(())
}

/// `wasm-opt` of Debian 12 (108) exports table 0 whatever table was meant; the script's objects then end up in the
/// table of functions. Returns whether there was something to put right.
fn point_export_at_externrefs(module: &mut walrus::Module) -> bool {
    let wanted = module
        .tables
        .iter()
        .find(|table| table.element_ty == walrus::RefType::EXTERNREF)
        .map(|it| it.id());
    let export = module
        .exports
        .iter_mut()
        .find(|export| export.name == "__wbindgen_externrefs");
    let (Some(wanted), Some(export)) = (wanted, export) else {
        return false;
    };
    let is_right = matches!(export.item, walrus::ExportItem::Table(table) if table == wanted);
    export.item = walrus::ExportItem::Table(wanted);
    !is_right
}

/// Scripts that crates bring along inline; wasm-bindgen writes them beside its own.
fn copy_snippets(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        shell::run_quiet(cmd("cp", ["-R", "-T"]).arg(from).arg(to))?;
    }
    Ok(())
}

/// Changes with the module, with the tool that treats it, and with the way it is treated, which is this file.
fn stamp(wasm: &[u8], speed: Speed) -> String {
    let mut hasher = DefaultHasher::new();
    wasm.hash(&mut hasher);
    include_str!("wasm.rs").hash(&mut hasher);
    format!(
        "{:016x} {speed:?} {}",
        hasher.finish(),
        shell::has("wasm-opt")
    )
}
