//! `cargo xtask pictures`: screenshots of the pages, in light and dark, for README and for reviews.
//!
//! They use the same environment as the browser tests, with real servers.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::world::{self, TestEnvironment};
use crate::{build, docker, needs, paths, progress, shell};

/// Options of `pictures`.
#[derive(clap::Args)]
pub struct Options {
    /// The folder of the screenshots.
    #[arg(long, value_name = "DIR", default_value = "docs/pictures")]
    to: PathBuf,
    /// Window sizes in CSS pixels. With several sizes, file names contain the size.
    #[arg(
        long,
        value_name = "WxH,WxH",
        value_delimiter = ',',
        default_value = "1440x900"
    )]
    sizes: Vec<String>,
    /// Include screenshots that are in no document.
    #[arg(long)]
    all: bool,
    /// Use a development build of the pages (`build --dev`) instead of a release build.
    #[arg(long)]
    dev: bool,
}

/// Builds, starts lab and server, takes the screenshots, and stops both.
pub fn run(options: &Options) -> Result<()> {
    needs::ensure(&needs::for_testing())?;
    let _daemon = docker::ensure_daemon()?;
    progress::run_concurrently(vec![
        docker::images(),
        build::pages(build::Profile::of_pages(options.dev)),
        build::programs(build::Profile::Dev),
    ])?;
    let folder = paths::root().join(&options.to);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let programs = build::Programs::of(build::Profile::Dev);
    let world = TestEnvironment::start(&programs, &paths::root().join("catalog"))?;
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
