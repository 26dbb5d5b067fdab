//! The project's own commands, so that a fresh machine needs nothing but `cargo xtask run`.
//!
//! Each command is a file. They share five things: [`needs`] (programs that the machine must have, and their packages),
//! [`docker`] (daemon, base image, our images), [`build`] (pages and programs), [`progress`] (long work side by side) and
//! [`children`] (programs that we start and therefore stop). All state goes below `target/`, so that removing that folder removes
//! all of it.
//!
//! The crate stays light on purpose: everybody's first minute is spent compiling it. Programs that every
//! distribution has (`gzip`, `brotli`, `wasm-opt`, `npm`, `docker`) are called, not linked.

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
mod lab;
mod needs;
mod paths;
mod pictures;
mod progress;
mod run;
mod server;
mod shell;
mod test;
mod trials;
mod world;

use clap::{Parser, Subcommand};

/// Stackloom's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prepare the machine, build, start the lab cloud and the server, and say where they are.
    Run(run::Options),
    /// Prepare the machine and run every check and test, those in the browser included.
    Test(test::Options),
    /// Measure, and print one line a figure.
    Bench(bench::Options),
    /// Take pictures of the pages, in light and dark.
    Pictures(pictures::Options),
    /// Try every template below a folder, and compare with what Heat says of them.
    Corpus(trials::Corpus),
    /// Try templates that are broken on purpose.
    Fuzz(trials::Fuzz),
    /// Ask a cloud for all that we take for granted: the lab, or a real one.
    Contract(contract::Options),
    /// Build what the browser gets: wasm, style sheet, fonts and icons.
    Build(build::Options),
    /// Tell what is there and what is missing; change nothing.
    Doctor,
    /// The lab cloud by itself.
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
        Command::Doctor => doctor::run(),
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
