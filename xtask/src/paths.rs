//! The project's folders, defined here for all commands.

use std::path::PathBuf;

/// The root of the source tree.
pub fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map(PathBuf::from).unwrap_or(manifest)
}

/// The build output: `CARGO_TARGET_DIR` if set, else `target`.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The static files of the server: `pkg/` and all below.
pub fn site() -> PathBuf {
    target().join("site")
}

/// Scripts, style sheet, fonts and icons.
pub fn pkg() -> PathBuf {
    site().join("pkg")
}

/// Artefacts of the wasm build, separate from the host's so that neither build invalidates the other.
pub fn web() -> PathBuf {
    target().join("web")
}

/// The state of `cargo xtask run`: `STACKLOOM_DATA` if set, else `target/data`.
pub fn data() -> PathBuf {
    match std::env::var_os("STACKLOOM_DATA") {
        Some(dir) => PathBuf::from(dir),
        None => target().join("data"),
    }
}
