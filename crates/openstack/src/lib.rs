//! A thin client for OpenStack, limited to the needs of drivers, login and forms.
//!
//! [`Clouds`] contains the configured clouds. [`Session::login`] exchanges [`Credentials`] for a token with its service
//! catalogue. A session belongs to one user in one project and is cheap to clone. Each service is a module
//! ([`compute`], [`network`], [`image`], [`block_storage`], [`key_manager`], [`load_balancer`], [`dns`], [`object_store`],
//! [`alarming`], [`identity`]).
//! Responses have types where our code reads them; request bodies of drivers are JSON. Resources of administrators
//! ([`collection`]) are JSON in both directions.
//!
//! Reasons against the maintained SDK: it needs a crate per service and minutes of compile time for about forty calls,
//! and it hides the inputs of the engine's retry rules: status, error text, request id and `Retry-After` of every
//! refusal (see [`Error`]).
//!
//! Limits: this crate does not poll for a state and does not repeat calls that change something. Reads that meet a busy
//! service are retried shortly (`wire`), and several waiters share a call ([`poll`]). For all other failures,
//! [`Error::is_transient`] returns whether a retry can help, and the engine decides. The client never follows a
//! redirect and sends a token only to endpoints of the cloud's own catalogue. No token, password or body appears in a
//! log or an error.
//!
//! `tests/contract` checks all assumptions about OpenStack (statuses, bodies, filters, pages, conflicts, quotas) in one
//! place. It runs against the lab in every `cargo test`, and against a real cloud with `cargo xtask contract`.
//!
//! Folders, from the bottom up: `wire` makes one HTTP exchange, `auth` creates a [`Session`] from credentials,
//! `services` has a file or folder per service, which adds its entry point to [`Session`], and [`poll`] observes many
//! resources at once. Lower folders never depend on upper ones.

mod auth;
mod permit;
pub mod poll;
mod services;
mod wire;

pub use auth::catalog::Catalog;
pub use auth::clouds::Clouds;
pub use auth::config::CloudConfig;
pub use auth::credentials::{ApplicationCredential, Credentials, Domain, Identifier, Scope};
pub use auth::session::{Project, Role, Session, User};
pub use auth::{clouds, config, credentials, session};
pub use permit::{
    NotPermitted, Permit, current_permit, permitted_for, under_same_permit, while_permitted,
};
pub use reqwest::Method;
pub use services::block_storage::{self, messages, volume_types};
pub use services::compute::{self, flavors, server_actions};
pub use services::network::{self, nested, qos};
pub use services::{
    alarming, application_credentials, collection, dns, identity, image, key_manager,
    load_balancer, object_store, quota_sets,
};
pub use wire::answer::Answer;
pub use wire::call::Call;
pub use wire::client::{ConnectionSettings, Tls};
pub use wire::concurrency::with_priority;
pub use wire::endpoint::Microversion;
pub use wire::error::{ApiError, Certificate, ConfigError, ConnectionFailure, Error, LoginMethod};
pub use wire::id::looks_like_id;
pub use wire::secret::Secret;
pub use wire::service::Service;
