//! `cargo xtask pictures`: the pages as they are, in light and dark, for README and for a critical look.
//!
//! The same world as the browser tests have, with real servers, so that a picture shows what a person gets.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::world::{self, World};
use crate::{build, docker, needs, paths, progress, shell};

/// Options of `pictures`.
#[derive(clap::Args)]
pub struct Options {
    /// Where they go.
    #[arg(long, value_name = "DIR", default_value = "docs/pictures")]
    to: PathBuf,
    /// The window's sizes in CSS pixels; of several, each picture has its size in its name.
    #[arg(
        long,
        value_name = "WxH,WxH",
        value_delimiter = ',',
        default_value = "1440x900"
    )]
    sizes: Vec<String>,
    /// Those too that no document shows.
    #[arg(long)]
    all: bool,
    /// With pages that were built for a look (`build --dev`), not as they are shipped.
    #[arg(long)]
    dev: bool,
}

/// Builds what is needed, starts lab and server, takes the pictures, stops both.
pub fn run(options: &Options) -> Result<()> {
    needs::ensure(&needs::for_testing())?;
    let _daemon = docker::ensure_daemon()?;
    progress::side_by_side(vec![
        docker::images(),
        build::pages(build::Profile::of_pages(options.dev)),
        build::programs(build::Profile::Dev),
    ])?;
    let folder = paths::root().join(&options.to);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let programs = build::Programs::of(build::Profile::Dev);
    let world = World::start(&programs, &paths::root().join("catalog"))?;
    let mut camera = world.playwright(&["--config", "pictures.config.ts"]);
    camera
        .env("STACKLOOM_PICTURES", &folder)
        .env("STACKLOOM_SIZES", options.sizes.join(","));
    if options.all {
        camera.env("STACKLOOM_ALL", "1");
    }
    let taken = shell::run(&mut camera);
    let stopped = world.stop();
    taken.with_context(|| {
        format!(
            "the logs of lab and server are in {}",
            world::dir().display()
        )
    })?;
    stopped?;
    shell::headline(&format!("Pictures are in {}", folder.display()));
    Ok(())
}
