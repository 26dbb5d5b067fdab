//! The project's commands, so that a fresh machine needs only `cargo xtask run`.
//!
//! Each command is a file. Shared modules are [`needs`] (required programs, and their packages), [`docker`] (daemon,
//! base image, our images), [`build`] (pages and programs), [`progress`] (concurrent work), [`children`] (child
//! processes) and [`modules`] (the crates' modules and their imports). All state is below `target/`, so that removing
//! that folder removes all of it; only packages of npm are in `node_modules` beside their lists.
//!
//! The crate has few dependencies, since every first run compiles it. Programs that all distributions have (`gzip`,
//! `brotli`, `wasm-opt`, `npm`, `docker`) are called, not linked.

mod apt;
mod bench;
mod build;
mod children;
mod clouds;
mod compiler;
mod contract;
mod disk;
mod docker;
mod doctor;
mod http;
mod item;
mod lab;
mod layers;
mod modules;
mod needs;
mod package;
mod paths;
mod pictures;
mod postgres;
mod progress;
mod restart;
mod run;
mod server;
mod shell;
mod test;
mod trials;
mod world;

use clap::{Parser, Subcommand};

/// Commands of the Stackloom project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prepare the machine, build, start the lab cloud and the server, and show their addresses.
    Run(run::Options),
    /// Prepare the machine and run all checks and tests, including those in the browser.
    Test(test::Options),
    /// Measure, and print one line per figure.
    Bench(bench::Options),
    /// Take screenshots of the pages, in light and dark.
    Pictures(pictures::Options),
    /// Test all templates below a folder, and compare the results with Heat's.
    Corpus(trials::Corpus),
    /// Test randomly broken templates.
    Fuzz(trials::Fuzz),
    /// Test the assumptions about a cloud: the lab, or a real one.
    Contract(contract::Options),
    /// Build the files for the browser: wasm, style sheet, fonts and icons.
    Build(build::Options),
    /// Build and pack what an installation needs: docs/production.md.
    Package(package::Options),
    /// Print every crate's modules in layers: each module is above those that it imports.
    Layers(layers::Options),
    /// Show present and missing requirements. Changes nothing.
    Doctor,
    /// Commands for authors of catalogue items: docs/items.md.
    Item(item::Options),
    /// Commands for the lab cloud.
    Lab(lab::Options),
}

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(options) => run::run(&options),
        Command::Test(options) => test::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Pictures(options) => pictures::run(&options),
        Command::Corpus(options) => trials::corpus(&options),
        Command::Fuzz(options) => trials::fuzz(&options),
        Command::Contract(options) => contract::run(&options),
        Command::Build(options) => build::run(&options),
        Command::Package(options) => package::run(&options),
        Command::Layers(options) => layers::run(&options),
        Command::Doctor => doctor::run(),
        Command::Item(options) => item::run(&options),
        Command::Lab(options) => lab::run(&options),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
