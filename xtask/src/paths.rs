//! Where things are. One place, so that no command invents a folder of its own.

use std::path::PathBuf;

/// The root of the source tree.
pub fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map(PathBuf::from).unwrap_or(manifest)
}

/// Build output: `CARGO_TARGET_DIR` where that is set, else `target`.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// What the server serves as files: `pkg/` and all below.
pub fn site() -> PathBuf {
    target().join("site")
}

/// Scripts, style sheet, fonts and icons.
pub fn pkg() -> PathBuf {
    site().join("pkg")
}

/// Artefacts of the wasm side, apart from the host's so that neither throws the other's away.
pub fn web() -> PathBuf {
    target().join("web")
}

/// State of `cargo xtask run`: `STACKLOOM_DATA` where that is set, else `target/data`.
pub fn data() -> PathBuf {
    match std::env::var_os("STACKLOOM_DATA") {
        Some(dir) => PathBuf::from(dir),
        None => target().join("data"),
    }
}
