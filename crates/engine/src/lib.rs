//! Runs workflows, and never loses one.
//!
//! The hard part is a pure function: [`machine::advance`] takes a run, an event and the time, and
//! answers with moves and effects. Everything else is a shell around it: the moves go to the
//! [`journal`] first, then the effects start; after a crash the journal is read and the same
//! function goes on. Effects may therefore start twice, and every one of them looks before it makes.
//!
//! Read in this order: the facade, then the machine, then what surrounds it.

pub mod config;
pub mod engine;
pub mod error;
pub mod tenant;

pub mod machine;

pub mod journal;
pub mod secrets;

mod run;
mod shared;

pub mod bastion;
pub mod sandbox;

pub mod driver;
pub mod drivers;

pub mod catalog;

#[cfg(test)]
mod testing;

pub use config::Config;
pub use engine::{Changes, Engine, Force, NewDeployment};
pub use error::{CODES, Error, Result};
pub use tenant::{Actor, Tenant, VaultKey};
