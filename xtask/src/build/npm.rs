//! Packages from npm, with the exact versions of a folder's `package.json`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::files::is_older;
use crate::shell::{self, cmd};

/// Installs the packages of a folder if their list is newer than the installation. Returns their folder.
///
/// Scripts of packages do not run. None of ours needs one: Debian's Chromium is used, and esbuild comes as a package.
pub fn install(dir: &Path) -> Result<PathBuf> {
    let modules = dir.join("node_modules");
    let done = modules.join(".installed");
    if is_older(&done, &dir.join("package.json")) {
        let quiet = [
            "install",
            "--no-package-lock",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ];
        shell::fetch(cmd("npm", quiet).current_dir(dir))?;
        std::fs::write(&done, "").with_context(|| format!("cannot write {}", done.display()))?;
    }
    Ok(modules)
}
