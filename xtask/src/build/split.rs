//! Splits the lazily loaded pages (`app::lazy`) off the wasm module.
//!
//! The splitter follows the relocations that the linker keeps (`frontend/build.rs`). Code that is reachable through one
//! split point only goes to that point's piece, code that several points use to a shared piece, all else stays in the
//! core. A generated script fetches the pieces and links them to the core. A manifest lists the files of each page, and
//! Leptos adds them to the head of the page.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

/// The name that Leptos expects if file names contain no hash.
const SCRIPT: &str = "./__wasm_split.______________________.js";
const MANIFEST: &str = "__wasm_split_manifest.json";

/// The base file names of each piece. Keys are names as in `app::lazy`.
pub type Pieces = HashMap<String, Vec<String>>;

/// Reads the manifest.
pub fn pieces(dir: &Path) -> Result<Pieces> {
    let file = dir.join(MANIFEST);
    let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is no manifest", file.display()))
}

/// Writes pieces, script and manifest to `dir`. Returns the core: a module for wasm-bindgen.
pub fn split(module: &[u8], dir: &Path) -> Result<PathBuf> {
    let unbound = dir.join("unbound");
    std::fs::create_dir_all(&unbound)
        .with_context(|| format!("cannot make {}", unbound.display()))?;
    let core = unbound.join("core.wasm");
    let mut options = wasm_split_cli_support::Options::new(module);
    options.output_dir = dir;
    options.main_out_path = &core;
    options.main_module = "./stackloom.js";
    options.link_name = SCRIPT;
    let split = wasm_split_cli_support::transform(options)
        .map_err(|error| anyhow!("the module cannot be split: {error:#}"))?;
    let manifest = serde_json::to_vec(&split.prefetch_map)?;
    std::fs::write(dir.join(MANIFEST), manifest)
        .with_context(|| format!("cannot write the manifest to {}", dir.display()))?;
    Ok(core)
}
