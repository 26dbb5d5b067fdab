//! Active runs: one task each, which calls the machine, writes the journal, and starts the steps.

mod ansible;
mod asked;
mod at_work;
mod log;
mod make;
mod origin;
mod outcome;
mod remove;
mod site;
mod software;
mod step;
pub mod strays;
mod sweep;
mod task;

pub use asked::{Names, asked};
pub use at_work::{Command, RunsAtWork};
pub use site::{Opening, defaults, divide, parameters, pseudo_parameters};
pub use step::Site;
pub use task::RunTask;
