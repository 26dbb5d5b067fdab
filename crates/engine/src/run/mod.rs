//! Active runs: one task each, which calls the machine, writes the journal, and starts the steps.

mod access;
mod active_runs;
mod ansible;
mod change;
mod command;
mod context;
mod create;
mod deployment;
mod detached;
mod driver_input;
mod execution;
#[cfg(test)]
mod figures;
mod guard;
mod health;
mod hook;
mod host_key;
mod hosts;
mod install;
mod jobs;
mod lock;
mod log;
mod origin;
mod outcome;
mod parameters;
mod registry;
mod removal;
mod remove;
mod requested;
mod signals;
mod snapshot;
mod software;
mod spool;
mod step;
pub mod strays;
mod suspension;
mod sweep;
mod task;

pub use active_runs::{ActiveRuns, Attendance, Command};
pub use context::{Opening, RunContext};
pub use origin::{Origins, hidden_in};
pub use parameters::{defaults, divide, parameters, pseudo_parameters};
pub use requested::{Names, requested_attributes};
pub use snapshot::{delete_part, restoration_of};
pub use task::RunTask;
