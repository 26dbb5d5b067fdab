//! Generated files, and checks whether they are current.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Writes a file only if its content differs, so that modification times reflect changes.
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

/// Files of a folder with one of these endings.
pub fn files_of(dir: &Path, kinds: &[&str]) -> Result<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
    let is_wanted = |path: &PathBuf| {
        let kind = path.extension().and_then(|kind| kind.to_str());
        kind.is_some_and(|kind| kinds.contains(&kind))
    };
    Ok(entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(is_wanted)
        .collect())
}
