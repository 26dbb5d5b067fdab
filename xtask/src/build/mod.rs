//! `cargo xtask build`: what the browser gets, in `target/site/pkg`.
//!
//! `app-<hash>/` with scripts and modules from the `frontend` crate, `stackloom.css` from `style/main.css`, `fonts/` and
//! `icons.svg` from npm packages. Each part is made again only when what it is made from has changed.

mod assets;
mod compiler;
mod css;
mod host;
mod packed;
mod program;
mod split;
mod wasm;

pub use compiler::{DEBIAN_PACKAGES, has_rustup_target};
pub use host::{Profile, Programs, programs};
pub use packed::is_older;
pub use program::{folder as program, pieces};
pub use wasm::Speed;

use std::time::Instant;

use anyhow::Result;

use crate::{needs, paths, shell};

/// Options of `build`.
#[derive(clap::Args)]
pub struct Options {
    /// A fast build for looking at pages: larger and slower code, no compression.
    #[arg(long)]
    dev: bool,
    /// Leave the wasm alone: style sheet, fonts and icons only.
    #[arg(long)]
    no_wasm: bool,
}

/// Builds after making sure that the tools for it are there.
pub fn run(options: &Options) -> Result<()> {
    needs::ensure(&needs::for_building())?;
    let speed = if options.dev {
        Speed::Dev
    } else {
        Speed::Release
    };
    let start = Instant::now();
    site(speed, !options.no_wasm)?;
    eprintln!(
        "built {} in {}",
        paths::pkg().display(),
        shell::duration(start.elapsed())
    );
    Ok(())
}

/// The whole of `target/site`.
pub fn site(speed: Speed, with_wasm: bool) -> Result<()> {
    std::fs::create_dir_all(paths::pkg())?;
    assets::build()?;
    css::build(speed)?;
    if with_wasm {
        wasm::build(speed)?;
    }
    for folder in [Ok(paths::pkg()), program::folder()].into_iter().flatten() {
        if speed == Speed::Release {
            packed::build(&folder)?;
        } else {
            packed::remove(&folder)?;
        }
    }
    Ok(())
}
