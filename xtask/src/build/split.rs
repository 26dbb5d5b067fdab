//! Takes the pages that are loaded when they are opened (`app::lazy`) off the module.
//!
//! The splitter follows the relocations that the linker leaves in (`frontend/build.rs`): what is reached through a split point
//! alone goes to that point's piece, what several points reach to a piece that they share, all else stays in the core. A
//! script of its own fetches the pieces and ties them to the core; a manifest says which files a page needs, and Leptos names
//! them in the head of the page.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

/// As Leptos expects it where file names carry no hash.
const SCRIPT: &str = "./__wasm_split.______________________.js";
const MANIFEST: &str = "__wasm_split_manifest.json";

/// Name of a piece, as in `app::lazy`, to the stems of its files.
pub type Pieces = HashMap<String, Vec<String>>;

/// What the manifest says.
pub fn pieces(dir: &Path) -> Result<Pieces> {
    let file = dir.join(MANIFEST);
    let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is no manifest", file.display()))
}

/// Writes pieces, script and manifest to `dir`, and gives the core: a module for wasm-bindgen.
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
