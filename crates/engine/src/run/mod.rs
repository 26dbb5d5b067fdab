//! Runs at work: one task each, which asks the machine, writes the journal, and starts the steps.

mod address;
mod ansible;
mod known;
mod log;
mod outcome;
mod site;
mod software;
mod step;
mod task;

pub use address::Addresses;
pub use known::Known;
pub use site::{Opening, divide, parameters};
pub use task::{Command, RunTask, hidden_parameters_name};
