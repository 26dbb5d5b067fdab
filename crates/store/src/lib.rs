//! The database: every SQL statement of the program.
//!
//! One file per entity: its row, the conversion of columns, its queries. Function names begin with the entity, then the
//! verb: `run_insert`, `run_list`.
//!
//! - [`Store`] is the handle for requests and runs. Each function on rows of a project takes their [`Tenant`], and has
//!   it in its `WHERE`. Rows of another project are not found.
//! - [`Transaction`] does the same for several writes that take effect together.
//! - [`Appender`] writes the journal of runs: rows and numbered events in one transaction.
//! - [`Operator`] has the queries across tenants: recovery, the deletion of expired sessions, metrics. Only [`open`]
//!   and [`connect`](connect()) create one, and routes do not get it.
//!
//! The store does not seal or open values: the caller does.
//!
//! # Two databases
//!
//! The database is a SQLite file, the default, or PostgreSQL. Every statement is written once and runs on both, through
//! `sqlx::Any`. Our columns are text, 64-bit integers and bytes, which `Any` supports; parameters are `$n`, which both
//! databases accept. There are two alternatives. With two pools in an enum, each query needs two branches, and the rows
//! have two types. Functions that are generic over sqlx's `Database` each need a dozen bounds, and all code is compiled
//! twice. The disadvantages of `Any`: values are copied once more, there are no types of only one database (JSON,
//! timestamps), and [`database::parameters`] replaces sqlx's `QueryBuilder`, which writes `?`.
//!
//! Statements use only syntax of both databases: `ON CONFLICT`, row values, window functions. Functions of only one of
//! them are used only in [`connect`](mod@connect), [`database`] and the migrations. Each database has a folder of
//! migrations, and a test compares the schemas.
//!
//! No rule depends on SQLite's single writer: rules are keys, conditional updates, or both. On PostgreSQL transactions
//! run at READ COMMITTED. There a conditional update waits for the row and then checks its newest version, so there are
//! no serialisation failures. Deadlocks are avoided by an order: the row of the deployment, then that of its run, then
//! the rest. The appender, which no caller can repeat, retries after both kinds of failures.

mod column;
mod connect;
mod database;
mod error;
mod migrations;
mod tenant;

mod append;
mod audit;
mod bastion;
mod catalog;
mod creation;
mod deployment;
mod design;
mod entry;
mod event;
mod hidden;
mod lease;
mod log;
mod notice;
mod permission;
mod removal;
mod resource;
mod run;
mod sealed;
mod server_item;
mod session;
mod signal;
mod snapshot;
mod step;
mod viewer;

mod operator;

#[cfg(feature = "testing")]
pub mod testing;

pub use append::{Appended, Appender, Write};
pub use audit::NewAuditEvent;
pub use bastion::{BastionLeaving, BastionUser, BastionUserKind, SealedTerminal};
pub use catalog::{ItemRow, Pin};
pub use column::{now_text, to_json, to_text};
pub use connect::DatabaseUrl;
pub use creation::{Creation, CreationKey, CreationsNow, Namesakes};
pub use database::{Outcome, Page, Store, Transaction};
pub use deployment::{
    DeploymentContent, DeploymentCount, DeploymentRevision, DeploymentRow, LastGoodContent,
};
pub use design::{DesignContent, VersionLimits};
pub use entry::{Ending, Entry, Health, ResourceChange, Wanted};
pub use error::{Error, Result};
pub use event::EventFilter;
pub use lease::{HeldRun, ServerRow};
pub use log::{LogQuota, Range};
pub use notice::{Listener, Notice};
pub use operator::{Operator, connect, open};
pub use permission::{NewPermission, PermissionRow};
pub use resource::{LastHealth, ResourceRow};
pub use run::{NewRun, RunProgress, RunRow};
pub use sealed::{SealedKind, SealedResource, SealedRun};
pub use server_item::ServerItemRow;
pub use session::{OpenSessions, OwnedSession, SessionOwner, SessionRow};
pub use signal::{NewSignal, SIGNALS_MAX, Signal, SignalOutcome, SignalStatus, SignalTarget};
pub use snapshot::{SnapshotPartRow, SnapshotRow};
pub use step::{LockingStep, StepDuration};
pub use tenant::Tenant;
pub use viewer::ViewerRow;
