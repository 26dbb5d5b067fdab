//! `cargo xtask item test DIR`: the test of one catalogue item, on the lab, with its output shown.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::test::ALL;
use crate::{build, docker, needs, progress, shell};

/// Options of `item`.
#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    command: ItemCommand,
}

#[derive(clap::Subcommand)]
enum ItemCommand {
    /// Run the test that an item brings along: `tests/design.yaml` and `tests/change.yaml` in its folder.
    Test {
        /// The folder of the item, such as `catalog/nginx`.
        folder: PathBuf,
    },
}

/// Runs the command.
pub fn run(options: &Options) -> Result<()> {
    let ItemCommand::Test { folder } = &options.command;
    let folder = std::path::absolute(folder)?;
    for file in ["item.yml", "tests/design.yaml", "tests/change.yaml"] {
        if !folder.join(file).is_file() {
            bail!(
                "{} has no `{file}`; docs/items.md says what a test of an item is",
                folder.display()
            );
        }
    }
    needs::ensure(&needs::for_testing())?;
    let _daemon = docker::ensure_daemon()?;
    progress::run_concurrently(vec![docker::images()])?;
    let mut test = build::lint(shell::cargo(ALL));
    test.args([
        "--test",
        "software",
        "--",
        "--ignored",
        "--nocapture",
        "--exact",
    ]);
    test.arg("authors::an_item_of_an_author_passes_its_test");
    test.env("STACKLOOM_ITEM", &folder);
    shell::run(&mut test)
}
