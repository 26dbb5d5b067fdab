//! Signals from outside to resources: wait condition handles and the like.

use async_trait::async_trait;
use serde_json::Value;
use store::Signal;

use super::DriverError;

/// The signed address of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalAddress {
    /// The URL without the signature. It alone gives no permission.
    pub endpoint: String,
    /// The signature: sent as the header `X-Auth-Token`.
    pub token: String,
}

impl SignalAddress {
    /// The URL with the signature, for senders that set no headers. It is a secret.
    pub fn url(&self) -> String {
        format!("{}?signature={}", self.endpoint, self.token)
    }
}

/// The signals to a wait condition handle.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// The transport is `NO_SIGNAL`: nobody waits for signals.
    NotAwaited,
    /// All signals so far, one for each id.
    Signals(Vec<Signal>),
}

/// Access to signals, for the resource of a call.
#[async_trait]
pub trait Signals: Send + Sync {
    /// The resource's address. `None` if the cloud's servers cannot reach this server.
    fn address(&self) -> Option<SignalAddress>;

    /// The command that signals to the resource, if its signals are fetched over SSH. It takes curl's options.
    fn command(&self) -> Option<String>;

    /// The signals to the handle with this reference. `None` if the deployment has no such handle.
    async fn received(&self, handle: &Value) -> Result<Option<Received>, DriverError>;

    /// Deletes the failures that were signalled to a handle, so that the next wait does not end with them.
    async fn forget_failures(&self, handle: &Value) -> Result<(), DriverError>;

    /// Deletes all signals to the resource itself.
    async fn forget(&self) -> Result<(), DriverError>;
}

/// No signals, for calls that only read.
pub(super) struct NoSignals;

#[async_trait]
impl Signals for NoSignals {
    fn address(&self) -> Option<SignalAddress> {
        None
    }

    fn command(&self) -> Option<String> {
        None
    }

    async fn received(&self, _: &Value) -> Result<Option<Received>, DriverError> {
        Ok(None)
    }

    async fn forget_failures(&self, _: &Value) -> Result<(), DriverError> {
        Ok(())
    }

    async fn forget(&self) -> Result<(), DriverError> {
        Ok(())
    }
}
