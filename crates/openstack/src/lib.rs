//! A thin client for OpenStack: what the drivers, the login and the forms need, and no more.
//!
//! [`Clouds`] says which clouds may be reached. [`Session::login`] turns [`Credentials`] into a
//! token with its service catalogue; a session is cheap to clone and knows one user in one project.
//! From it hangs one module a service ([`compute`], [`network`], [`image`], [`block_storage`],
//! [`key_manager`], [`load_balancer`], [`identity`]), typed where our code reads an answer and JSON where a driver writes a body.
//! What administrators keep ([`collection`]) is JSON both ways.
//!
//! Why not the maintained SDK: it brings a crate per service and minutes of compile time for the
//! forty calls that we make, and it hides what the engine's rules live on: the status, the service's
//! own words, the request id and `Retry-After` of every refusal (see [`Error`]).
//!
//! What this crate does *not* do: wait until something is so, or repeat what changes something. Look-ups
//! that meet a busy service are tried again shortly (`transport`), and many who wait share a call
//! ([`watch`]); for all else it says whether a failure is
//! worth another try ([`Error::is_transient`]), and the engine decides. It never follows a redirect and
//! sends a token only to the cloud's own catalogue. No token, password or body appears in a log or an
//! error.
//!
//! The real cloud is the judge. `tests/contract` holds what we take for granted (statuses, bodies, filters, pages,
//! conflicts, quotas) once. It runs against the lab in every `cargo test`, and against a real cloud by
//! `cargo xtask contract`.
//!
//! Read in this order: [`clouds`] → [`config`] → [`credentials`] → `login` → [`session`] →
//! [`catalog`] → `discovery` → `transport` → the services.

pub mod block_storage;
pub mod catalog;
pub mod clouds;
pub mod collection;
pub mod compute;
pub mod config;
pub mod credentials;
mod discovery;
pub mod error;
pub mod flavors;
mod gate;
pub mod identity;
pub mod image;
pub mod inside;
pub mod key_manager;
pub mod load_balancer;
mod login;
mod lookups;
pub mod messages;
pub mod network;
mod pages;
pub mod qos;
pub mod quota_sets;
mod secret;
pub mod server_actions;
pub mod session;
mod transport;
pub mod volume_types;
pub mod watch;

pub use catalog::{Catalog, Service};
pub use clouds::Clouds;
pub use config::{CloudConfig, ConfigError, LoginMethod};
pub use credentials::{ApplicationCredential, Credentials, Domain, Identifier, Scope};
pub use discovery::Microversion;
pub use error::{ApiError, Certificate, Error, Wire};
pub use gate::goes_before;
pub use reqwest::Method;
pub use secret::Secret;
pub use session::{Call, Project, Role, Session, User};
pub use transport::Answer;
