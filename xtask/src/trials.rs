//! `cargo xtask corpus` and `cargo xtask fuzz`: tests of the template language.
//!
//! The crate `trials` contains the tests and is built only for them, so `xtask` does not depend on the template
//! language and compiles quickly.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::paths;
use crate::shell::{self, cargo};

/// Options of `corpus`.
#[derive(clap::Args)]
#[command(after_help = "\
A template is a file with `heat_template_version` at its top; environments and payloads are not counted. Files that a \
template includes are looked for beside it.

  parsed    text and structure are without error
  valid     no check finds an error, no values given for parameters (Heat's `validate` call, which as here looks at
            names and not yet at the types and constraints of properties' values)
  planned   a plan for a new deployment has no error: parameters without a default get stand-in values that fit, names
            are not looked up in a cloud, and what we order but cannot make (resource-type-not-deployable,
            software-unsupported) is told in the remark and does not count as an error
  deployable  as planned, and every resource can be made
  edges     what must exist before what, between the template's own resources
  laws      an edit taken back leaves the same bytes, no step waits for itself, and a template compared with itself
            has no change; with every type taken as one that can be made

The golden table has the columns path, needs_external_files, needs_env, heat_validate, heat_create_validate,
graph_nodes and edges_before>after. The last line is
`templates T parsed P valid V planned L deployable D edges E/G extra X`: E of G golden edges found, X edges of ours that it lacks.")]
pub struct Corpus {
    /// The folder with the templates.
    dir: PathBuf,
    /// Heat's results. The default is DIR/golden.csv, if it exists.
    #[arg(long)]
    golden: Option<PathBuf>,
    /// Fail if a result differs from the golden table.
    #[arg(long)]
    check: bool,
}

/// Options of `fuzz`.
#[derive(clap::Args)]
pub struct Fuzz {
    /// A folder with additional templates.
    dir: Option<PathBuf>,
    /// Time limit in minutes.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Seed of the random numbers. The same seed gives the same texts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The build profile of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Fast to build.
    Debug,
    /// Fast to run.
    Release,
}

/// A command of the program `trials`.
pub fn command(profile: Profile, name: &str) -> Command {
    let mut args = vec!["run", "--quiet", "--package", "trials"];
    if profile == Profile::Release {
        args.push("--release");
    }
    args.extend(["--", name]);
    cargo(args)
}

/// Tests a corpus.
pub fn corpus(options: &Corpus) -> Result<()> {
    let mut command = command(Profile::Debug, "corpus");
    command.arg(absolute(&options.dir)?);
    if let Some(golden) = &options.golden {
        command.arg("--golden").arg(absolute(golden)?);
    }
    if options.check {
        command.arg("--check");
    }
    shell::run(&mut command)
}

/// The command for a corpus that fails if it differs from its golden table.
pub fn corpus_command(dir: &std::path::Path) -> Result<Command> {
    let mut command = command(Profile::Debug, "corpus");
    command.arg(absolute(dir)?).arg("--check");
    Ok(command)
}

/// Tries broken templates.
pub fn fuzz(options: &Fuzz) -> Result<()> {
    let mut command = command(Profile::Release, "fuzz");
    if let Some(dir) = &options.dir {
        command.arg(absolute(dir)?);
    }
    command.args(["--minutes", &options.minutes.to_string()]);
    command.args(["--seed", &options.seed.to_string()]);
    command.arg("--keep").arg(paths::target().join("fuzz"));
    shell::run(&mut command)
}

/// Makes a path absolute, since the program runs in the root of the tree.
fn absolute(path: &std::path::Path) -> Result<PathBuf> {
    path.canonicalize()
        .with_context(|| format!("there is no {}", path.display()))
}
