//! Free disk space. A full disk leads to misleading errors: a package that cannot be installed in a container, a
//! truncated archive.

use std::path::Path;

use crate::shell::{self, cmd};

/// Disk space that a complete test writes below a clean tree and into the container daemon, rounded up, in bytes.
pub const WANTED: u64 = 10_000_000_000;

/// Free bytes of the file system with `path`. `None` if `df` fails.
pub fn free(path: &Path) -> Option<u64> {
    let mut df = cmd("df", ["--output=avail", "--block-size=1"]);
    shell::read(df.arg(path))
        .ok()?
        .lines()
        .last()?
        .trim()
        .parse()
        .ok()
}

/// Warns if there could be too little space for a complete run. A tree with an earlier build needs less, so this is no
/// error.
pub fn warn_when_scarce(path: &Path) {
    if let Some(free) = free(path).filter(|free| *free < WANTED) {
        eprintln!(
            "warning: {} of disk free; a build and a test of everything may need {}",
            gigabytes(free),
            gigabytes(WANTED)
        );
    }
}

/// A size in gigabytes with one decimal.
pub fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
