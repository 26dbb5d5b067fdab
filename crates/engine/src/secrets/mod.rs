//! Secrets: what seals them, where they are kept, and how they are kept out of the log.
//!
//! Two keys, two lives. What a *run* needs (the token, hidden parameters, the key to the vault) is
//! sealed under the server's own key and gone when the run ends. What a *deployment* keeps (private
//! keys, hidden parameters) is in the cloud's key manager under the person's token, or sealed under
//! a key that only the person can make: without them, neither the server nor who runs it opens it.

pub(crate) mod kept;
mod mask;
mod run;
mod seal;
pub(crate) mod shelf;
mod vault;

pub use mask::Mask;
pub use run::RunSecrets;
pub(crate) use run::{load_run, seal_run};
pub use seal::{SealingKey, Unsealable};
pub use vault::RunVault;
