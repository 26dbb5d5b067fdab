//! Precompressed copies: `.br` and `.gz` beside each text and wasm file.
//!
//! Brotli at its best level takes seconds. Precompression avoids a lower level at every request.

use std::path::Path;

use anyhow::{Context, Result};

use super::files::{files_of, is_older};
use crate::shell::{self, cmd};

const KINDS: [&str; 4] = ["js", "wasm", "css", "svg"];

/// Creates the copies that are missing or older than their original.
pub fn build(dir: &Path) -> Result<()> {
    let packers = [
        // `-n`: with the original's time, which brotli cuts to seconds, each copy would look outdated.
        ("br", "brotli", ["-f", "-k", "-n", "-Z"]),
        ("gz", "gzip", ["-f", "-k", "-n", "-9"]),
    ];
    for file in files_of(dir, &KINDS)? {
        for (suffix, program, args) in packers {
            let copy = with_suffix(&file, suffix);
            if shell::has(program) && is_older(&copy, &file) {
                shell::run_quiet(cmd(program, args).arg(&file))?;
            }
        }
    }
    Ok(())
}

/// Removes the copies, so that no outdated one is served.
pub fn remove(dir: &Path) -> Result<()> {
    for file in files_of(dir, &KINDS)? {
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

fn with_suffix(file: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}
