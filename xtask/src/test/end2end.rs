//! The browser tests, with a separate lab cloud and server.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};

use super::counted::{self, Counts};
use crate::world::{self, TestEnvironment};
use crate::{build, docker, paths, progress, shell};

/// Builds, starts lab and server, runs Playwright, and stops both.
pub fn run(options: &super::Options, stop: &AtomicBool) -> Result<Counts> {
    progress::run_concurrently(vec![
        docker::images(),
        build::pages(build::Profile::of_pages(options.dev)),
        build::tested_programs(),
    ])?;
    let programs = build::Programs::of(build::Profile::Dev);
    let world = TestEnvironment::start(&programs, &paths::root().join("catalog"))?;
    let mut playwright = world.playwright(&[]);
    if let Some(grep) = &options.grep {
        playwright.args(["--grep", grep]);
    }
    if options.full {
        playwright.env("STACKLOOM_FULL", "1");
    }
    let result = counted::run(playwright, stop);
    let stopped = world.stop();
    let counts = result.with_context(|| {
        format!(
            "the logs of lab and server are in {}",
            world::dir().display()
        )
    })?;
    stopped?;
    shell::headline("Screenshots are in end2end/test-results");
    Ok(counts)
}
