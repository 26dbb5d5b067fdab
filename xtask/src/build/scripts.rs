//! Scripts that are made of npm packages: `web/<name>.ts`, bundled with its imports into one module `pkg/<name>.js`.
//!
//! They are apart from the program of the pages, so that a page downloads them only when it needs them
//! (`app::script`). The compiler checks types only; esbuild drops the types and makes the bundle.

use std::{path::PathBuf, process::Command};

use anyhow::Result;

use super::{
    files::{files_of, is_older},
    npm,
};
use crate::paths;
use crate::shell::{self, cmd};

/// The names of the scripts.
const SCRIPTS: [&str; 2] = ["editor", "terminal"];

/// Browsers that the bundles are for: those that run the pages' wasm and style sheet.
const TARGET: &str = "--target=es2022";

/// Bundles all scripts if one of them is older than its sources.
pub fn build() -> Result<()> {
    let dir = paths::root().join("web");
    let sources = files_of(&dir, &["ts", "json"])?;
    let bundles = SCRIPTS.map(|name| paths::pkg().join(format!("{name}.js")));
    let is_outdated = |bundle: &PathBuf| sources.iter().any(|source| is_older(bundle, source));
    if !bundles.iter().any(is_outdated) {
        return Ok(());
    }
    let programs = npm::install(&dir)?.join(".bin");
    let tool = |name: &str| -> Command {
        let mut command = cmd::<&str>(&programs.join(name).to_string_lossy(), []);
        command.current_dir(&dir);
        command
    };
    shell::run_quiet(&mut tool("tsc"))?;
    shell::run_quiet(
        tool("esbuild")
            .args(SCRIPTS.map(|name| format!("{name}.ts")))
            .args(["--bundle", "--format=esm", "--minify", TARGET])
            .args([
                "--charset=utf8",
                "--log-level=warning",
                "--loader:.css=text",
            ])
            .arg(format!("--outdir={}", paths::pkg().display())),
    )
}
