//! Active runs: one task each, which calls the machine, writes the journal, and starts the steps.

mod ansible;
mod asked;
mod at_work;
mod change;
mod context;
mod create;
mod log;
mod origin;
mod outcome;
mod parameters;
mod reach;
mod remove;
mod software;
mod step;
pub mod strays;
mod sweep;
mod task;
mod work;

pub use asked::{Names, asked};
pub use at_work::{Command, RunsAtWork};
pub use context::{Opening, RunContext};
pub use parameters::{defaults, divide, parameters, pseudo_parameters};
pub use task::RunTask;
