//! Copies that are compressed ahead: `.br` and `.gz` beside each text and each wasm file.
//!
//! Brotli at its best level takes seconds; done once here, the server need not do a worse job at every request.

use std::path::Path;

use anyhow::{Context, Result};

use crate::shell::{self, cmd};

const KINDS: [&str; 4] = ["js", "wasm", "css", "svg"];

/// Makes the copies that are missing or older than their original.
pub fn build(dir: &Path) -> Result<()> {
    let packers = [
        ("br", "brotli", ["-f", "-k", "-q", "11"]),
        ("gz", "gzip", ["-f", "-k", "-9", "-n"]),
    ];
    for file in originals(dir)? {
        for (suffix, program, args) in packers {
            let copy = with_suffix(&file, suffix);
            if shell::has(program) && is_older(&copy, &file) {
                shell::run_quiet(cmd(program, args).arg(&file))?;
            }
        }
    }
    Ok(())
}

/// Takes the copies away, lest an old one is served in place of a new original.
pub fn remove(dir: &Path) -> Result<()> {
    for file in originals(dir)? {
        for suffix in ["br", "gz"] {
            let copy = with_suffix(&file, suffix);
            if copy.exists() {
                std::fs::remove_file(&copy)
                    .with_context(|| format!("cannot remove {}", copy.display()))?;
            }
        }
    }
    Ok(())
}

/// Writes only what differs, so that times tell about contents.
pub fn write_if_changed(file: &Path, content: &[u8]) -> Result<()> {
    if std::fs::read(file).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    std::fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}

/// Whether `file` is missing or older than `than`.
pub fn is_older(file: &Path, than: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    match (time(file), time(than)) {
        (Some(file), Some(than)) => file < than,
        (None, _) => true,
        (Some(_), None) => false,
    }
}

fn originals(dir: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries =
        std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
    Ok(entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|kind| KINDS.iter().any(|known| kind == *known))
        })
        .collect())
}

fn with_suffix(file: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}
