//! Locks by name: operations on a server run one after the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// The locks, by name.
#[derive(Debug, Default)]
pub struct NamedLocks(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl NamedLocks {
    /// Acquires the lock of a name. It is released when the guard is dropped.
    pub async fn lock(&self, name: &str) -> OwnedMutexGuard<()> {
        let lock = Arc::clone(self.all().entry(name.into()).or_default());
        lock.lock_owned().await
    }

    /// Removes the lock of a name that is no longer used.
    pub fn remove(&self, name: &str) {
        self.all().remove(name);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<tokio::sync::Mutex<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
