//! Secrets: sealing, storage, and masking in logs.
//!
//! Secrets have one of two lifetimes.
//!
//! - Secrets of a *run* (the token, hidden parameters, the vault key) are sealed with the server's own key
//!   ([`SealingKeys`]) and removed when the run ends.
//! - Secrets of a *deployment* (private keys, hidden parameters) are in the cloud's key manager under the user's token,
//!   or sealed with a key that is derived from the user's credential. Without the user, neither the server nor its
//!   operator can open them.
//!
//! A standing permission ([`PermissionSecrets`]) is an exception that a user makes: while it lasts, the server's key
//! opens the secrets that this user can open.

pub(crate) mod attributes;
mod command;
pub(crate) mod hidden_parameters;
mod keys;
mod mask;
mod permission;
mod run;
mod seal;
mod vault;

pub(crate) use command::{CommandContent, Configuration};
pub use keys::{KeySource, SealingKeys};
pub use mask::Mask;
pub(crate) use permission::{PermissionSecrets, purpose as permission_purpose};
pub use run::RunSecrets;
pub(crate) use run::{load_run, purpose as run_purpose, seal_run};
pub use seal::{SealingKey, Unsealable};
pub use vault::RunVault;
