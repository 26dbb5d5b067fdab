//! `cargo xtask test`: all checks in one command.
//!
//! Stages run in order of their cost: format, cycles, advisories, the build with lints, tests of the crates (including those with
//! the lab cloud and Docker), and tests in a real browser. After a failed stage, the others still run. A summary
//! follows.
//!
//! Each crate is compiled once: clippy is the compiler of the tests, and the browser tests use the programs of the
//! tests.

mod advisories;
mod circles;
mod cli;
mod counted;
mod end2end;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;

use crate::children;
use crate::progress::Part;
use crate::shell::{self, cargo};
use crate::{build, disk, docker, needs, paths, progress, trials};
use counted::Counts;

/// Options of `test`.
#[derive(clap::Args)]
pub struct Options {
    /// The stages to run. The default is all.
    stages: Vec<Stage>,
    /// Include the long suites: tests with the attribute `ignored`.
    #[arg(long)]
    full: bool,
    /// Run only browser tests with a matching title.
    #[arg(long, value_name = "PATTERN")]
    grep: Option<String>,
    /// Use a development build of the pages (`build --dev`) in the browser tests.
    #[arg(long)]
    dev: bool,
}

impl Options {
    fn stages(&self) -> &[Stage] {
        if self.stages.is_empty() {
            Stage::value_variants()
        } else {
            &self.stages
        }
    }

    fn runs(&self, stage: Stage) -> bool {
        self.stages().contains(&stage)
    }
}

/// A stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Stage {
    /// `cargo fmt --check`.
    Fmt,
    /// No cycles among the modules of a crate.
    Circles,
    /// No crate in `Cargo.lock` with a known vulnerability, where `cargo-audit` is installed and its list can be fetched.
    Advisories,
    /// Concurrently: images, release build of the pages, the tests, the `openstack` command line, and Playwright. Lints are errors.
    Build,
    /// `cargo test`: unit, property and integration tests.
    Unit,
    /// With `--full`: the templates in the folder `STACKLOOM_CORPUS`, compared with Heat's results in its `golden.csv`.
    /// Tests of the stage `unit` deploy some of them.
    Corpus,
    /// The `openstack` command line with the lab cloud.
    Cli,
    /// The browser tests.
    E2e,
}

/// Runs the stages and prints a summary.
pub fn run(options: &Options) -> Result<()> {
    let stop = children::stop_flag()?;
    let stages = options.stages();
    let uses_docker = stages
        .iter()
        .any(|stage| matches!(stage, Stage::Build | Stage::Unit | Stage::E2e));
    disk::warn_when_scarce(&paths::root());
    let begin = Instant::now();
    needs::ensure(&if uses_docker {
        needs::for_testing()
    } else {
        needs::for_building()
    })?;
    if options.runs(Stage::Cli) {
        needs::ensure(&[needs::PYTHON])?;
    }
    let _daemon = if uses_docker {
        docker::ensure_daemon()?
    } else {
        None
    };
    if options.runs(Stage::Unit) && !options.runs(Stage::Build) {
        progress::run_concurrently(vec![docker::images()])?;
    }
    let mut outcomes = vec![Outcome {
        name: "prepare".into(),
        took: begin.elapsed(),
        result: Ok(Counts::default()),
    }];
    for stage in stages {
        let name = format!("{stage:?}").to_lowercase();
        shell::headline(&format!("Stage {name}"));
        let begin = Instant::now();
        let result = stage.run(options, &stop);
        if let Err(error) = &result {
            eprintln!("error: {error:#}");
        }
        outcomes.push(Outcome {
            name,
            took: begin.elapsed(),
            result,
        });
        if children::is_raised(&stop) {
            bail!("stopped");
        }
    }
    sum_up(&outcomes)
}

impl Stage {
    fn run(self, options: &Options, stop: &AtomicBool) -> Result<Counts> {
        match self {
            Stage::Fmt => plain(cargo(["fmt", "--all", "--check"]), stop),
            Stage::Circles => circles::run().map(|()| Counts::default()),
            Stage::Advisories => advisories::run(),
            Stage::Build => build_all(options),
            Stage::Unit => {
                let tests = |selection, more: &[&str]| {
                    let mut test = build::lint(cargo(selection));
                    test.arg("--no-fail-fast").args(more);
                    counted::run(test, stop)
                };
                if options.full {
                    let every = &["--", "--include-ignored"];
                    let results = [ALL, OWN].map(|selection| tests(selection, every));
                    let [all, own] = results;
                    return Ok(all?.plus(own?));
                }
                // The sample mostly waits for servers, packages and leases.
                let (sample, others) = std::thread::scope(|scope| {
                    let sample = scope.spawn(|| tests(ALL, SAMPLE));
                    let others = [ALL, OWN].map(|selection| tests(selection, &[]));
                    (sample.join(), others)
                });
                let sample = sample.map_err(|_| anyhow!("the sample's thread panicked"))?;
                let [all, own] = others;
                Ok(all?.plus(own?).plus(sample?))
            }
            Stage::Corpus => match std::env::var_os("STACKLOOM_CORPUS").filter(|_| options.full) {
                Some(dir) => plain(trials::corpus_command(&PathBuf::from(dir))?, stop),
                None => Ok(Counts::default()),
            },
            Stage::Cli => cli::run(options, stop),
            Stage::E2e => end2end::run(options, stop),
        }
    }
}

/// The tests of all host crates. `frontend` has features that exclude the server's. With xtask in the selection, its
/// dependencies would be compiled again, with other features than in the running xtask.
pub const ALL: &[&str] = &[
    "test",
    "--workspace",
    "--exclude",
    "frontend",
    "--exclude",
    "xtask",
];

/// A sample of the tests with real servers, sandboxes and databases, and all tests of the lab on Docker: tests that wait. `--full`
/// runs every test.
const SAMPLE: &[&str] = &[
    "--test",
    "sandbox",
    "--test",
    "software",
    "--test",
    "docker",
    "--test",
    "docker_life",
    "--test",
    "docker_services",
    "--test",
    "kill",
    "--",
    "--ignored",
    "it_reaches_its_own_server_through_the_bastion_and_nothing_else",
    "ten_ticks_in_ten_seconds_arrive_one_by_one",
    "a_crash_in_the_middle_of_a_script_repeats_neither_the_script_nor_a_line",
    "items::nginx",
    "packets_follow_networks_routers_and_security_groups",
    "a_restart_keeps_everything_and_a_reset_nothing",
    "servers_get_metadata_snapshots_and_a_load_balancer",
    "a_load_balancer_is_running_its_last_change",
    "a_killed_primary_loses_no_acknowledged_write",
];

/// The tests of xtask.
const OWN: &[&str] = &["test", "--package", "xtask"];

fn build_all(options: &Options) -> Result<Counts> {
    let tests = Part::new("tests", 15, |step| {
        for selection in [ALL, &[ALL, cli::TEST].concat(), OWN] {
            step.cargo(build::lint(cargo(selection)).arg("--no-run"))?;
        }
        Ok(())
    });
    let pages = build::pages(build::Profile::of_pages(options.dev));
    let mut parts = vec![docker::images(), pages, tests];
    if options.runs(Stage::Cli) {
        parts.push(cli::installed());
    }
    if options.runs(Stage::E2e) {
        parts.push(end2end::installed());
    }
    progress::run_concurrently(parts)?;
    Ok(Counts::default())
}

fn plain(command: std::process::Command, stop: &AtomicBool) -> Result<Counts> {
    counted::run(command, stop).map(|_| Counts::default())
}

struct Outcome {
    name: String,
    took: Duration,
    result: Result<Counts>,
}

fn sum_up(outcomes: &[Outcome]) -> Result<()> {
    let mut total = Counts::default();
    println!("\n{:<10} {:>12}", "stage", "time");
    for Outcome { name, took, result } in outcomes {
        let note = match result {
            Ok(counts) if *counts == Counts::default() => "ok".to_owned(),
            Ok(counts) if counts.unchecked > 0 => "NOT CHECKED, see above".to_owned(),
            Ok(counts) => format!("ok, {} tests", counts.passed),
            Err(error) => format!(
                "FAILED: {}",
                error.to_string().lines().next().unwrap_or_default()
            ),
        };
        println!("{name:<10} {:>12}  {note}", shell::duration(*took));
        match result {
            Ok(counts) => total = total.plus(*counts),
            Err(error) => {
                let counts = error.downcast_ref::<counted::Failed>().map_or(
                    Counts {
                        failed: 1,
                        ..Counts::default()
                    },
                    |f| f.0,
                );
                total = total.plus(Counts {
                    failed: counts.failed.max(1),
                    ..counts
                });
            }
        }
    }
    if let Some(free) = disk::free(&paths::root()) {
        println!("\n{} of disk free", disk::gigabytes(free));
    }
    let flaky = match total.flaky {
        0 => String::new(),
        some => format!("{some} flaky, "),
    };
    let unchecked = match total.unchecked {
        0 => String::new(),
        some => format!("{some} not checked, "),
    };
    println!(
        "\n{} passed, {flaky}{unchecked}{} failed",
        total.passed, total.failed
    );
    match outcomes
        .iter()
        .filter(|outcome| outcome.result.is_err())
        .count()
    {
        0 => Ok(()),
        failed => bail!("{failed} of {} stages failed", outcomes.len()),
    }
}
