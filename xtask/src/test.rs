//! tests
use anyhow::Result;
/// Options of `test`.
#[derive(clap::Args)]
pub struct Options {}
/// Runs.
pub fn run(_: &Options) -> Result<()> {
    Ok(())
}
