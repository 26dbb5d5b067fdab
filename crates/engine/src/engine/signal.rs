//! Receives signals to resources. The sender has no login: the signature of the address is its permission.

use store::{SIGNALS_MAX, SignalOutcome, SignalTarget};

use super::Engine;
use crate::{Error, Result, signals};

impl Engine {
    /// The resource of a signed address: its last part, and its token. Reads nothing from the database.
    ///
    /// # Errors
    /// If the address was not signed by this server's keys.
    pub fn signal_target(&self, name: &str, token: &str) -> Result<SignalTarget> {
        signals::target(&self.core.keys, name, token).ok_or(Error::SignalRefused)
    }

    /// Receives a signal to a resource, as the body of a request.
    ///
    /// # Errors
    /// If the resource is gone or was replaced, takes no signals, or cannot take this one.
    pub async fn signal(&self, target: &SignalTarget, body: &[u8]) -> Result<()> {
        let store = &self.core.store;
        let resource_type = store.signal_target_type(target).await?;
        let resource_type = resource_type.ok_or(Error::SignalRefused)?;
        if resource_type == hot::template::members::SCALING_POLICY {
            return Err(Error::NotPossibleNow(format!(
                "nobody has permitted this deployment to scale by itself. A member of the project can apply `{}` on the \
                 deployment's page",
                target.resource
            )));
        }
        if !types::is_wait_condition_handle(&resource_type) {
            return Err(Error::SignalRefused);
        }
        let signal = signals::parse(body).map_err(Error::SignalInvalid)?;
        match store.signal_put(target, &signal).await? {
            SignalOutcome::Stored => Ok(()),
            SignalOutcome::NoTarget => Err(Error::SignalRefused),
            SignalOutcome::Full => Err(Error::SignalInvalid(format!(
                "the handle has {SIGNALS_MAX} signals, and keeps no more; repeat an `id` to replace one of them"
            ))),
        }
    }
}
