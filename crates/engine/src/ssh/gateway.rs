//! The connection to a bastion, shared by the checks of a run.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::Mutex, time::Instant};

use super::{Client, Host, SshError};

/// Time for which a failed login applies to all waiting checks. Otherwise a thousand checks would try one after the
/// other.
const FAILURE_CACHED_FOR: Duration = Duration::from_secs(1);

/// The connection to a bastion, shared by the checks of a run. It is closed after its last use.
#[derive(Default)]
pub struct Gateway {
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    bastion: Option<Host>,
    client: Weak<Client>,
    failed: Option<(Instant, SshError)>,
}

impl Gateway {
    /// The connection to a bastion: the open one, or a new one.
    ///
    /// # Errors
    /// See [`SshError`].
    pub async fn client(
        &self,
        bastion: &Host,
        user: &str,
        private_key: &str,
    ) -> Result<Arc<Client>, SshError> {
        let mut last = self.last.lock().await;
        if last.bastion.as_ref() != Some(bastion) {
            // An update has replaced the bastion.
            *last = Last {
                bastion: Some(bastion.clone()),
                ..Last::default()
            };
        }
        if let Some(client) = last.client.upgrade().filter(|client| !client.is_closed()) {
            return Ok(client);
        }
        if let Some((at, error)) = &last.failed
            && at.elapsed() < FAILURE_CACHED_FOR
        {
            return Err(error.clone());
        }
        match Client::connect(bastion, user, private_key).await {
            Ok(client) => {
                let client = Arc::new(client);
                last.client = Arc::downgrade(&client);
                last.failed = None;
                Ok(client)
            }
            Err(error) => {
                last.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }
}
