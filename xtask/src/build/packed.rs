//! Copies that are compressed ahead: `.br` and `.gz` beside each text and each wasm file.
//!
//! Brotli at its best level takes seconds; done once here, the server need not do a worse job at every request.

use std::path::Path;

use anyhow::{Context, Result};

use super::files::{files_of, is_older};
use crate::shell::{self, cmd};

const KINDS: [&str; 4] = ["js", "wasm", "css", "svg"];

/// Makes the copies that are missing or older than their original.
pub fn build(dir: &Path) -> Result<()> {
    let packers = [
        ("br", "brotli", ["-f", "-k", "-q", "11"]),
        ("gz", "gzip", ["-f", "-k", "-9", "-n"]),
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

/// Takes the copies away, lest an old one is served in place of a new original.
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
