//! The database: every SQL statement of the program.
//!
//! One file per entity: its row, the conversion of columns, its queries. Function names begin with the entity, then the verb:
//! `run_insert`, `run_list`.
//!
//! - [`Store`] is the handle for requests and runs. Each function on rows of a project takes the [`Tenant`] that owns them, and
//!   has it in its `WHERE`. Rows of another project are not found.
//! - [`Transaction`] does the same for several writes that take effect together.
//! - [`Appender`] writes the journal of runs: rows and numbered events in one transaction.
//! - [`Operator`] has the queries across tenants: recovery, the deletion of expired sessions, metrics. Only [`open`] creates one,
//!   and routes do not get it.
//!
//! The store does not seal or open values: the caller does.
//!
//! The database is SQLite. Statements use only syntax that PostgreSQL supports too: `$n` parameters, `ON CONFLICT` with a target,
//! no functions of SQLite outside [`open`] and the migrations. No rule depends on SQLite's single writer: rules are keys,
//! conditional updates, or both.

mod column;
mod database;
mod error;
mod migrations;
mod tenant;

mod append;
mod catalog;
mod creation;
mod deployment;
mod design;
mod entry;
mod event;
mod hidden;
mod resource;
mod run;
mod sealed;
mod session;
mod step;

mod operator;

#[cfg(feature = "testing")]
pub mod testing;

pub use append::{Appended, Appender, Write};
pub use catalog::{ItemRow, Pin};
pub use column::{now_text, to_json, to_text};
pub use creation::{Creation, CreationKey, CreationsNow, Namesakes};
pub use database::{Outcome, Store, Transaction};
pub use deployment::{DeploymentContent, DeploymentRow, Good, Seen};
pub use design::{DesignContent, VersionLimits};
pub use entry::{Ending, Entry, ResourceChange, Wanted};
pub use error::{Error, Result};
pub use operator::{Operator, open};
pub use resource::ResourceRow;
pub use run::{NewRun, RunRow, Standing};
pub use sealed::SealedKind;
pub use session::SessionRow;
pub use tenant::Tenant;
