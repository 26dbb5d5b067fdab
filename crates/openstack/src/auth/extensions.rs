//! Values with the lifetime of a session, one of each type.
//!
//! Services keep their caches here, so the session does not depend on them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The values, by their type.
#[derive(Debug, Default)]
pub(super) struct Extensions(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Extensions {
    /// The value of a type. The first call creates its default.
    pub(super) fn get<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::<T>::default());
        let value = value.clone().downcast();
        value.unwrap_or_else(|_| unreachable!("each value is stored under its own type"))
    }
}
