//! `cargo xtask build`: the files for the browser, in `target/site/pkg`.
//!
//! `app-<hash>/` with scripts and modules from the `frontend` crate, `stackloom.css` from `style/main.css`, `fonts/`
//! and `icons.svg` from npm packages, and the scripts of `web/` with the npm packages that they import. Each part is
//! rebuilt only if its sources have changed.

mod assets;
mod css;
mod files;
mod host;
pub mod npm;
mod precompressed;
mod program;
mod scripts;
mod split;
mod wasm;

pub use host::{Programs, lint, programs, tested_programs};
pub use program::{folder as program, pieces};

use anyhow::Result;

use crate::progress::{self, Part};
use crate::{needs, paths};

/// The priority of a build: build time, or speed and size of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Pages without link-time optimisation, `wasm-opt` and compression; programs as `cargo test` compiles them.
    Dev,
    /// The build of a release.
    Release,
}

impl Profile {
    /// The profile for an option `--dev`.
    pub fn of_pages(is_dev: bool) -> Profile {
        if is_dev {
            Profile::Dev
        } else {
            Profile::Release
        }
    }
}

/// Options of `build`.
#[derive(clap::Args)]
pub struct Options {
    /// A fast build for development: larger and slower code, no compression.
    #[arg(long)]
    dev: bool,
    /// Skip the wasm: style sheet, fonts, icons and scripts only.
    #[arg(long)]
    no_wasm: bool,
}

/// Builds, after installing missing tools.
pub fn run(options: &Options) -> Result<()> {
    needs::ensure(&needs::for_building())?;
    let profile = Profile::of_pages(options.dev);
    if options.no_wasm {
        small_files(profile)?;
        compress(profile)?;
    } else {
        progress::run_concurrently(vec![pages(profile)])?;
    }
    eprintln!("built {}", paths::pkg().display());
    Ok(())
}

/// The whole of `target/site`.
pub fn pages(profile: Profile) -> Part {
    Part::new("pages", 10, move |step| {
        step.note("fonts, icons and scripts");
        small_files(profile)?;
        wasm::build(profile, step)?;
        step.note("compressing");
        compress(profile)
    })
}

/// Style sheet, fonts, icons and scripts.
fn small_files(profile: Profile) -> Result<()> {
    std::fs::create_dir_all(paths::pkg())?;
    assets::build()?;
    scripts::build()?;
    css::build(profile)
}

fn compress(profile: Profile) -> Result<()> {
    for folder in [Ok(paths::pkg()), program::folder()].into_iter().flatten() {
        match profile {
            Profile::Release => precompressed::build(&folder)?,
            Profile::Dev => precompressed::remove(&folder)?,
        }
    }
    Ok(())
}
