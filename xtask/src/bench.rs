//! benchs
use anyhow::Result;
/// Options of `bench`.
#[derive(clap::Args)]
pub struct Options {}
/// Runs.
pub fn run(_: &Options) -> Result<()> {
    Ok(())
}
