//! The engine: runs workflows, and continues them after a crash.
//!
//! The core is a pure function: [`machine::advance`] takes a run, an event and the time, and returns moves and effects.
//! All other modules are a shell around it. The moves are written to the [`journal`] first, then the effects start.
//! After a crash the journal is read and the same function continues. An effect can therefore start twice, so every
//! effect checks for existing resources before it creates one.
//!
//! # A deployment
//!
//! [`Engine`] plans again, because a browser's plan is not trusted, and stores deployment, run, workflow and sealed
//! token in one transaction. Hidden parameters are already in the vault, under a name that the deployment refers to
//! only from this transaction on. A task per run starts each step whose predecessors are done. A create step resolves
//! its properties, calls its driver, stores the id and polls until the resource is ready. When the first server with
//! software is active, `bastion:open` allows SSH from the orchestrator's address. `…:ssh` waits for cloud-init and
//! checks the host key that we generated; the engine has its own [`ssh`] client. `…:configure` starts a [`sandbox`]
//! without a network, passes role, inventory, keys and variables over standard input, connects its SSH to the step's
//! server, and turns each event of our Ansible callback into a log line. `bastion:close` runs on every ending.
//!
//! # A crash
//!
//! At start the engine takes runs without an ending that no server holds, removes sandboxes with our label, opens the
//! sealed token and passes the stored states to [`machine::advance`]. Steps that were running start again. Their drivers
//! adopt the resource of the first attempt if it is visible by then; otherwise they create another one. Requests that
//! were in flight have an unknown outcome: the cloud can carry them out seconds later. The run does not wait for them;
//! the sweep at its end removes late resources. An expired token pauses the run until the user resumes it.
//!
//! # Several servers
//!
//! Each server that shares a PostgreSQL database has a lease, under which it holds runs. Any server answers any request;
//! the task of a run is at its holder. When a server is gone for longer than its lease and the timeout of a request, the
//! others take its runs and continue them as after a crash. With a SQLite file, one server holds all runs, by the same
//! code.
//!
//! # Beside a change
//!
//! A deployment has one change at a time; enforced only by the unique index of its unfinished runs. Commands and checks run
//! beside it. A step that works on a server locks it, so a command and a change take turns on each server (`run::lock`,
//! `store::Store::step_lock`). A check locks nothing and leaves out what runs work on (`engine::at_work`).
//!
//! # A request without a response
//!
//! A broken connection, a proxy's timeout or a 500 ends the attempt. Unless the cloud returned an id or a refusal, the
//! journal records in the same transaction that the outcome is unknown. The step is repeated by the retry rules, and
//! the sweep follows.
//!
//! # An undeployment
//!
//! While requests of unknown outcome are left, nothing is deleted until their horizon has passed, because late
//! resources block the deletion of networks. The last step searches for the markers of all resources that the
//! deployment ever began to create, and deletes those that no deployment has recorded. It leaves resources that the
//! template retains, and volumes with a copied marker that no unknown request can have made. It does not search
//! snapshots and backups. If resources cannot be deleted, the run fails and lists their types and ids; a forced run
//! ends anyway.
//!
//! # Attributes and outputs
//!
//! A driver returns most attributes when its resource is ready, and the journal stores them. Attributes that need extra
//! requests (`drivers::OnDemand`: a server's `addresses`, a port's `network`) are read when a property or an output
//! uses them, and are never stored. A described attribute without a value fails the step whose property uses it. A
//! missing part of a path resolves to null, as in Heat, and the step's log names it. Outputs are read from the cloud
//! when a user opens the deployment (`engine::outputs`), with that user's token. Stored attributes are the fallback,
//! and each output has the time of its values.
//!
//! # Login to servers
//!
//! cloud-init creates a user `stackloom` with the deployment's public key on every image, and installs an SSH host key
//! that we generated; its public half is pinned. At the first login the server makes its own key, and that is pinned
//! instead: programs on the server can read its user data. The user's own user data is kept: ours is an additional MIME part.
//! Servers without a public address are reached through the bastion: the marked server, or else the first public one.
//! Its security group allows TCP 22 from the orchestrator's address only, and only while it has a user: a run, or a
//! person's [`terminal`]. The users are rows in the store, so that the last one closes the rule, also after a crash.
//!
//! Reading order: the facade [`Engine`], then the machine, then the modules around it.

pub mod compute;
pub mod config;
pub mod engine;
pub mod error;
pub mod slots;
pub mod tenant;

pub mod machine;

mod disk;
mod ended;
pub mod journal;
mod lease;
pub mod secrets;
mod signals;

mod resources;
mod run;
mod shared;

pub mod bastion;
pub mod health;
pub mod sandbox;
pub mod ssh;
pub mod terminal;

pub mod catalog;

#[cfg(test)]
mod testing;

pub use config::Config;
pub use engine::{
    Changes, DueCheck, Engine, Force, Hidden, LogFilter, LogSearch, NewDeployment, PermittedCheck,
    PermittedScaling, PolicySignal, Preview, RollBack, SignalReceiver, Workload,
};
pub use error::{CODES, Error, Result};
pub use signals::SIGNAL_BYTES_MAX;
pub use store::{EventFilter, LogQuota, Page, Range};
pub use tenant::{Actor, Tenant, VaultKey};
