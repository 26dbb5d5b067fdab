//! The program for the browser, in a separate folder in `pkg`: `app-<hash>`, named by the hash of its content.
//!
//! Scripts and modules refer to each other, and work only with files of the same build. So all of them get new URLs
//! together: browsers can cache them forever, and a tab that was opened before an update never mixes two builds. The
//! file `pkg/program` contains the folder's name for the server. The folder of the previous build stays, for tabs and a
//! server that still use it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::files::{files_of, write_if_changed};
use super::split::Pieces;
use crate::paths;
use crate::shell::{self, cmd};

const PREFIX: &str = "app-";

/// The types of the program's files, apart from `snippets/`.
const KINDS: [&str; 3] = ["wasm", "js", "json"];

/// The folder of the latest build.
pub fn folder() -> Result<PathBuf> {
    let file = paths::pkg().join("program");
    let name = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}; was it built?", file.display()))?;
    Ok(paths::pkg().join(name.trim()))
}

/// The files of each piece.
pub fn pieces() -> Result<Pieces> {
    super::split::pieces(&folder()?)
}

/// Copies a new program to its folder, updates `pkg/program`, and removes old folders.
pub fn publish(from: &Path) -> Result<()> {
    let before = folder().ok();
    let mut files = files_of(from, &KINDS)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    let mut read = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap_or_default();
        let bytes =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        (name, &bytes).hash(&mut hasher);
        read.push((name, bytes));
    }
    let name = format!("{PREFIX}{:016x}", hasher.finish());
    let folder = paths::pkg().join(&name);
    for (name, bytes) in read {
        write_if_changed(&folder.join(name), &bytes)?;
    }
    // Inline scripts of dependencies. wasm-bindgen writes them beside its own.
    let snippets = from.join("snippets");
    if snippets.is_dir() {
        shell::run_quiet(cmd("cp", ["-R", "-T"]).args([&snippets, &folder.join("snippets")]))?;
    }
    write_if_changed(&paths::pkg().join("program"), name.as_bytes())?;
    tidy(&[Some(folder), before])
}

/// Removes all programs except these.
fn tidy(keep: &[Option<PathBuf>]) -> Result<()> {
    let pkg = paths::pkg();
    let entries =
        std::fs::read_dir(&pkg).with_context(|| format!("cannot list {}", pkg.display()))?;
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_program = name.is_some_and(|name| name.starts_with(PREFIX));
        if is_program && !keep.iter().flatten().any(|kept| *kept == path) {
            std::fs::remove_dir_all(&path)
                .with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}
