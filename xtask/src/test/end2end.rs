//! The browser tests: two at a time, each with a lab cloud and a server of its own.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};

use super::counted::{self, Counts};
use crate::progress::Part;
use crate::world::{self, TestEnvironment};
use crate::{build, docker, paths, progress, shell};

/// Installs Playwright while others compile: it mostly waits for the network.
pub fn installed() -> Part {
    Part::new("playwright", 1, |_| world::install_playwright())
}

/// Checks the types of the tests, builds, starts labs and servers, runs Playwright, and stops them.
pub fn run(options: &super::Options, stop: &AtomicBool) -> Result<Counts> {
    world::check_types()?;
    progress::run_concurrently(vec![
        docker::images(),
        build::pages(build::Profile::of_pages(options.dev)),
        build::tested_programs(),
    ])?;
    let programs = build::Programs::of(build::Profile::Dev);
    let world = TestEnvironment::start_several(2, &programs, &paths::root().join("catalog"))?;
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
            "the logs of labs and servers are below {}",
            world::dir().display()
        )
    })?;
    stopped?;
    // As in `end2end/support/app.ts`.
    if options.full || std::env::var_os("CI").is_none() {
        shell::headline("Screenshots are in end2end/test-results");
    }
    Ok(counts)
}
