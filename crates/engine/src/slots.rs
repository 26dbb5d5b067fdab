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

    /// A key's slots for work of many parts.
    pub fn share(&self, key: &K) -> Share {
        Share {
            own: Arc::new(Semaphore::new(self.each)),
            slots: self.of(key),
        }
    }

    /// A slot of a key, when it is its turn. It is held until the permit is dropped.
    pub async fn turn(&self, key: &K) -> OwnedSemaphorePermit {
        let slot = self.of(key).acquire_owned().await;
        slot.expect("slots are never closed")
    }
}

/// The slots of a key for one work of many parts. Only as many parts as there are slots hold one or wait for it, so that
/// other work of the key need not wait for all of them.
#[derive(Clone, Debug)]
pub struct Share {
    own: Arc<Semaphore>,
    slots: Arc<Semaphore>,
}

impl Share {
    /// A slot for a part of the work, when it is its turn. It is held until the permits are dropped.
    pub async fn turn(&self) -> [OwnedSemaphorePermit; 2] {
        let own = self.own.clone().acquire_owned().await;
        let slot = self.slots.clone().acquire_owned().await;
        [own, slot].map(|permit| permit.expect("slots are never closed"))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn work_of_many_parts_delays_other_work_of_its_key_by_a_turn_only() {
        let slots = Slots::new(2);
        let [large, small] = [(); 2].map(|()| slots.share(&"a"));
        let mut parts: Vec<_> = (0..100).map(|_| Box::pin(large.turn())).collect();
        let parts = parts.iter_mut();
        let begun: Vec<_> = parts
            .filter_map(|part| part.as_mut().now_or_never())
            .collect();
        assert_eq!(begun.len(), 2);
        let mut part = Box::pin(small.turn());
        assert!(part.as_mut().now_or_never().is_none());
        drop(begun);
        assert!(part.as_mut().now_or_never().is_some());
    }
}
