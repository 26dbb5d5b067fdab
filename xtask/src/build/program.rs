//! The browser's program, in a folder of its own in `pkg`: `app-<hash>`, after what is in it.
//!
//! Scripts and modules refer to each other, and fit together only as one build made them. So they change their
//! place together: browsers keep them for good, and a tab that was opened before an update never mixes two builds. The
//! file `pkg/program` names the folder to the server. The folder of the build before stays, for the tabs and the server that
//! run on it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::files::{files_of, write_if_changed};
use super::split::Pieces;
use crate::paths;
use crate::shell::{self, cmd};

const PREFIX: &str = "app-";

/// What belongs to the program, apart from `snippets/`.
const KINDS: [&str; 3] = ["wasm", "js", "json"];

/// The program that was built last.
pub fn folder() -> Result<PathBuf> {
    let file = paths::pkg().join("program");
    let name = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}; was it built?", file.display()))?;
    Ok(paths::pkg().join(name.trim()))
}

/// Which files each piece of it needs.
pub fn pieces() -> Result<Pieces> {
    super::split::pieces(&folder()?)
}

/// Copies a new program to its place, names it, and takes old ones away.
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
    // Scripts that crates bring along inline; wasm-bindgen writes them beside its own.
    let snippets = from.join("snippets");
    if snippets.is_dir() {
        shell::run_quiet(cmd("cp", ["-R", "-T"]).args([&snippets, &folder.join("snippets")]))?;
    }
    write_if_changed(&paths::pkg().join("program"), name.as_bytes())?;
    tidy(&[Some(folder), before])
}

/// Removes all programs but these.
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
