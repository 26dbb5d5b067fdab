//! The orders that a session gave Nova.
//!
//! An order tells that a server is on its way before the first look at the server does ([`crate::watch`]).

use std::sync::{Mutex, PoisonError};

/// The direction of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// It is being made.
    In,
    /// It is being deleted.
    Out,
}

/// Orders that Nova has accepted, by server, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Orders(Mutex<Vec<(String, Way)>>);

impl Orders {
    pub(super) fn add(&self, server: &str, way: Way) {
        self.lock().push((server.to_owned(), way));
    }

    /// All orders since the last call.
    pub(crate) fn take(&self) -> Vec<(String, Way)> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(String, Way)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
