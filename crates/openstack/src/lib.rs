//! A thin client for OpenStack: what the drivers, the login and the forms need, and no more.
//!
//! [`Clouds`] says which clouds may be reached. [`Session::login`] turns [`Credentials`] into a
//! token with its service catalogue; a session is cheap to clone and knows one user in one project.
//! Each service is a module ([`compute`], [`network`], [`image`], [`block_storage`], [`key_manager`], [`load_balancer`],
//! [`identity`]), typed where our code reads an answer and JSON where a driver writes a body. Things of
//! administrators ([`collection`]) are JSON both ways.
//!
//! Why not the maintained SDK: it brings a crate per service and minutes of compile time for the
//! forty calls that we make, and it hides what the engine's rules live on: the status, the service's
//! own words, the request id and `Retry-After` of every refusal (see [`Error`]).
//!
//! What this crate does *not* do: wait until something is so, or repeat what changes something. Look-ups
//! that meet a busy service are tried again shortly (`wire`), and many who wait share a call
//! ([`watch`]); for all else it says whether a failure is
//! worth another try ([`Error::is_transient`]), and the engine decides. It never follows a redirect and
//! sends a token only to the cloud's own catalogue. No token, password or body appears in a log or an
//! error.
//!
//! The real cloud is the judge. `tests/contract` holds what we take for granted (statuses, bodies, filters, pages,
//! conflicts, quotas) once. It runs against the lab in every `cargo test`, and against a real cloud by
//! `cargo xtask contract`.
//!
//! Folders, from the bottom up: `wire` makes one exchange, `auth` makes a [`Session`] of credentials, `services` has a file or
//! folder per service, which adds its entry point to [`Session`], and [`watch`] looks at many things at once. Nothing below names
//! anything above.

mod auth;
mod services;
pub mod watch;
mod wire;

pub use auth::catalog::Catalog;
pub use auth::clouds::Clouds;
pub use auth::config::CloudConfig;
pub use auth::credentials::{ApplicationCredential, Credentials, Domain, Identifier, Scope};
pub use auth::session::{Project, Role, Session, User};
pub use auth::{clouds, config, credentials, session};
pub use reqwest::Method;
pub use services::block_storage::{self, messages, volume_types};
pub use services::compute::{self, flavors, server_actions};
pub use services::network::{self, inside, qos};
pub use services::{collection, identity, image, key_manager, load_balancer, quota_sets};
pub use wire::answer::Answer;
pub use wire::call::Call;
pub use wire::client::{ConnectionSettings, Tls};
pub use wire::endpoint::Microversion;
pub use wire::error::{ApiError, Certificate, ConfigError, Error, LoginMethod, Wire};
pub use wire::gate::goes_before;
pub use wire::id::looks_like_id;
pub use wire::secret::Secret;
pub use wire::service::Service;
