//! Secrets: sealing, storage, and masking in logs.
//!
//! There are two keys with two lifetimes. Secrets of a *run* (the token, hidden parameters, the vault key) are sealed
//! with the server's own key and removed when the run ends. Secrets of a *deployment* (private keys, hidden parameters)
//! are in the cloud's key manager under the user's token, or sealed with a key that only the user can derive: without
//! the user, neither the server nor its operator can open them.

pub(crate) mod attributes;
pub(crate) mod hidden_parameters;
mod mask;
mod run;
mod seal;
mod vault;

pub use mask::Mask;
pub use run::RunSecrets;
pub(crate) use run::{load_run, seal_run};
pub use seal::{SealingKey, Unsealable};
pub use vault::RunVault;
