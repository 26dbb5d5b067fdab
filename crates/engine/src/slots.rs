//! Semaphores by key: a limit on what one project, or one client address, has under way at the same time.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Number of keys from which idle ones are removed.
const KEYS_MAX: usize = 1000;

/// A semaphore per key, each with the same number of slots. Clones share them.
#[derive(Clone, Debug)]
pub struct Slots<K> {
    each: usize,
    all: Arc<Mutex<HashMap<K, Arc<Semaphore>>>>,
}

impl<K: Eq + Hash + Clone> Slots<K> {
    /// `each` slots for every key.
    pub fn new(each: usize) -> Slots<K> {
        Slots {
            each,
            all: Arc::default(),
        }
    }

    /// The slots of a key. They stay the same while a permit is held or awaited.
    pub fn of(&self, key: &K) -> Arc<Semaphore> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEYS_MAX {
            all.retain(|_, slots| Arc::strong_count(slots) > 1);
        }
        let slots = all.entry(key.clone());
        let slots = slots.or_insert_with(|| Arc::new(Semaphore::new(self.each)));
        slots.clone()
    }

    /// A slot of a key, when it is its turn. It is held until the permit is dropped.
    pub async fn turn(&self, key: &K) -> OwnedSemaphorePermit {
        let slot = self.of(key).acquire_owned().await;
        slot.expect("slots are never closed")
    }
}
