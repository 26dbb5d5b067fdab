//! The database: every SQL statement of the program.
//!
//! One file per entity: its row, the conversion of columns, its queries. A function is named after its entity first, then the
//! verb: `run_insert`, `run_list`.
//!
//! - [`Store`] is the handle for requests and runs. Each function on rows of a project takes the [`Tenant`] whose rows it may
//!   touch, and says so in its `WHERE`. Rows of another project are not found.
//! - [`Transaction`] does the same for several writes that take effect together.
//! - [`Appender`] writes the journal of runs: rows and numbered events in one transaction.
//! - [`Operator`] has the queries across tenants: recovery, the sweep of sessions, metrics. Only [`open`] makes one, and no
//!   route is given it.
//!
//! The store keeps sealed values as it is given them: sealing and opening is the caller's.
//!
//! The database is SQLite. Statements stay within what PostgreSQL understands too: `$n` parameters, `ON CONFLICT` with a
//! target, no functions of SQLite's own outside [`open`] and the migrations. No rule rests on SQLite's single writer: rules are
//! keys, conditional updates, or both.

mod column;
mod database;
mod error;
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
