//! The `frontend` crate as `stackloom_bg.wasm` and its pieces, and the `worker` crate as `planner_bg.wasm`, with the
//! scripts that load them.
//!
//! cargo builds both modules, the splitter splits the lazily loaded pages off the first one, wasm-bindgen generates the
//! bindings, and `wasm-opt` optimises all modules for size. Splitter and wasm-bindgen are libraries, with the same
//! versions that the crates use. The steps after cargo run only if a module has changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use super::files::files_of;
use super::{Profile, program, split};
use crate::compiler::{Compiler, TARGET};
use crate::paths;
use crate::progress::Step;
use crate::shell::{self, cargo, cmd};

/// The default features of rustc. With `--all-features`, an older `wasm-opt` writes types of a draft of the garbage
/// collection proposal, which browsers reject.
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Builds the program's folder in `pkg` (see `program`).
pub fn build(profile: Profile, step: &Step<'_>) -> Result<()> {
    let Modules { pages, worker } = compile(profile, step)?;
    let read = |file: &Path| {
        std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
    };
    let pages = read(&pages)?;
    let script = paths::root().join("worker/worker.js");
    let stamp_file = paths::web().join("bound");
    let stamp = stamp(&[&pages, &read(&worker)?, &read(&script)?], profile);
    let is_there = program::folder().is_ok_and(|folder| folder.is_dir());
    if is_there && std::fs::read_to_string(&stamp_file).is_ok_and(|old| old == stamp) {
        return Ok(());
    }
    let dir = paths::web().join("bindgen");
    if dir.is_dir() {
        std::fs::remove_dir_all(&dir).with_context(|| format!("cannot empty {}", dir.display()))?;
    }
    step.note("splitting");
    let core = split::split(&pages, &dir)?;
    bind(&core, "stackloom", &dir, profile)?;
    bind(&worker, "planner", &dir, profile)?;
    std::fs::copy(&script, dir.join("worker.js"))
        .with_context(|| format!("cannot copy {}", script.display()))?;
    if profile == Profile::Release && shell::has("wasm-opt") {
        step.note("wasm-opt");
        for module in files_of(&dir, &["wasm"])? {
            optimise(&module)?;
        }
    }
    program::publish(&dir)?;
    std::fs::write(&stamp_file, stamp)
        .with_context(|| format!("cannot write {}", stamp_file.display()))
}

/// The compiled modules.
struct Modules {
    pages: PathBuf,
    worker: PathBuf,
}

/// Compiles the modules. In a release each has a profile of its own: the pages are small, the worker is fast.
fn compile(profile: Profile, step: &Step<'_>) -> Result<Modules> {
    let compiler = Compiler::ensure()?;
    let target_dir = compiler.target_dir();
    let build = |packages: &[&str], profile: &str| -> Result<PathBuf> {
        let mut build = cargo(["build", "--lib", "--target", TARGET, "--profile", profile]);
        for package in packages {
            build.args(["--package", package]);
        }
        build.arg("--target-dir").arg(&target_dir);
        compiler.apply(&mut build);
        step.cargo(&mut build)?;
        Ok(target_dir.join(TARGET).join(profile))
    };
    let (pages, worker) = match profile {
        Profile::Dev => {
            let both = build(&["frontend", "worker"], "wasm-dev")?;
            (both.clone(), both)
        }
        Profile::Release => (
            build(&["frontend"], "wasm-release")?,
            build(&["worker"], "wasm-worker")?,
        ),
    };
    Ok(Modules {
        pages: pages.join("frontend.wasm"),
        worker: worker.join("worker.wasm"),
    })
}

fn bind(module: &Path, name: &str, dir: &Path, profile: Profile) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(module)
        .out_name(name)
        .typescript(false)
        // The pieces import these by the names that the splitter generated.
        .keep_lld_exports(true)
        .demangle(false)
        .remove_name_section(profile == Profile::Release);
    bindgen
        .web(true)?
        .generate(dir)
        .with_context(|| format!("wasm-bindgen cannot bind {}", module.display()))
}

fn optimise(module: &Path) -> Result<()> {
    shell::run_quiet(
        cmd("wasm-opt", ["-Oz"])
            .args(FEATURES)
            .arg("-o")
            .arg(module)
            .arg(module),
    )?;
    let mut read = walrus::Module::from_file(module)
        .with_context(|| format!("wasm-opt made no module of {}", module.display()))?;
    if point_exports_at_their_tables(&mut read) {
        read.emit_wasm_file(module)
            .with_context(|| format!("cannot write {}", module.display()))?;
    }
    Ok(())
}

/// Corrects exported tables. `wasm-opt` of Debian 12 (108) always exports table 0, so the script's objects would be in
/// the function table, or the pieces' functions in the object table. Returns whether there was a change.
fn point_exports_at_their_tables(module: &mut walrus::Module) -> bool {
    let table_of = |kind| {
        let mut tables = module.tables.iter();
        tables
            .find(|table| table.element_ty == kind)
            .map(|it| it.id())
    };
    let wanted = [
        (
            "__wbindgen_externrefs",
            table_of(walrus::RefType::EXTERNREF),
        ),
        (
            "__indirect_function_table",
            table_of(walrus::RefType::FUNCREF),
        ),
    ];
    let mut has_changed = false;
    for export in module.exports.iter_mut() {
        let named = wanted.iter().find(|(name, _)| *name == export.name);
        if let Some((_, Some(table))) = named {
            has_changed |= !matches!(export.item, walrus::ExportItem::Table(now) if now == *table);
            export.item = walrus::ExportItem::Table(*table);
        }
    }
    has_changed
}

/// A hash of the sources, the tool, and this code.
fn stamp(sources: &[&[u8]], profile: Profile) -> String {
    let mut hasher = DefaultHasher::new();
    sources.hash(&mut hasher);
    include_str!("wasm.rs").hash(&mut hasher);
    include_str!("split.rs").hash(&mut hasher);
    format!(
        "{:016x} {profile:?} {}",
        hasher.finish(),
        shell::has("wasm-opt")
    )
}
