//! Room on the disk. A build, images and browser traces that fill it fail in ways that name everything but the
//! cause: a package that does not install in a container, an archive without an end.

use std::path::Path;

use crate::shell::{self, cmd};

/// What a test of everything writes below a clean tree and into the container daemon, rounded up, in bytes.
pub const WANTED: u64 = 10_000_000_000;

/// Free bytes of the file system that holds `path`; none where `df` cannot tell.
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

/// Says so where there may be too little room for a whole run. A tree that was built before needs less, so this is
/// no failure.
pub fn warn_when_scarce(path: &Path) {
    if let Some(free) = free(path).filter(|free| *free < WANTED) {
        eprintln!(
            "warning: {} of disk free; a build and a test of everything may need {}",
            gigabytes(free),
            gigabytes(WANTED)
        );
    }
}

/// For people: gigabytes with one digit behind the point.
pub fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
