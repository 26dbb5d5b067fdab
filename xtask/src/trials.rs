//! `cargo xtask corpus` and `cargo xtask fuzz`: the language put to the test.
//!
//! The work is done by the crate `trials`, which is built when it is asked for: `xtask` itself stays without the template
//! language, and so quick to build.

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
            are not looked up in a cloud, and types that we order but cannot make (resource-type-not-deployable) are
            told in the remark and do not count as errors
  edges     what must exist before what, between the template's own resources
  laws      an edit taken back leaves the same bytes, no step waits for itself, and a template compared with itself
            has no change; with every type taken as one that can be made

The golden table has the columns path, needs_external_files, needs_env, heat_validate, heat_create_validate,
graph_nodes and edges_before>after. The last line is
`templates T parsed P valid V planned L edges E/G extra X`: E of G golden edges found, X edges of ours that it lacks.")]
pub struct Corpus {
    /// Where the templates are.
    dir: PathBuf,
    /// Heat's answers; DIR/golden.csv where that is there.
    #[arg(long)]
    golden: Option<PathBuf>,
    /// Fail when anything differs from the golden table.
    #[arg(long)]
    check: bool,
}

/// Options of `fuzz`.
#[derive(clap::Args)]
pub struct Fuzz {
    /// Templates to break, beside our own.
    dir: Option<PathBuf>,
    /// How long.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Another seed, other texts; the same seed, the same texts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// How the program is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build.
    Debug,
    /// Quick to run.
    Release,
}

/// A command of the crate `trials`.
pub fn command(profile: Profile, name: &str) -> Command {
    let mut args = vec!["run", "--quiet", "--package", "trials"];
    if profile == Profile::Release {
        args.push("--release");
    }
    args.extend(["--", name]);
    cargo(args)
}

/// Tries a corpus.
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

/// The command that fails where a corpus differs from its golden table.
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

/// The program runs in the root of the tree, and the person may stand elsewhere.
fn absolute(path: &std::path::Path) -> Result<PathBuf> {
    path.canonicalize()
        .with_context(|| format!("there is no {}", path.display()))
}
