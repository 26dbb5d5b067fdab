//! Locks by name: work on a server waits for earlier work on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// Who may go on, by name.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Turns {
    /// Wait until nobody else is at this name; others wait until the answer is dropped.
    pub async fn take(&self, name: &str) -> OwnedMutexGuard<()> {
        let turn = Arc::clone(self.all().entry(name.into()).or_default());
        turn.lock_owned().await
    }

    /// Nobody comes for this name any more.
    pub fn forget(&self, name: &str) {
        self.all().remove(name);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<tokio::sync::Mutex<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
