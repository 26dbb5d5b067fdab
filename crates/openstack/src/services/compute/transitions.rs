//! Transitions of servers that a session requested.
//!
//! The request tells that a server is being built or deleted before the first poll does ([`crate::poll`]).

use std::sync::{Mutex, PoisonError};

/// A change of a server that takes Nova some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Transition {
    /// The server is being built.
    Building,
    /// The server is being deleted.
    Deleting,
}

/// Accepted requests: server id and transition, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Requested(Mutex<Vec<(String, Transition)>>);

impl Requested {
    pub(super) fn add(&self, server: &str, transition: Transition) {
        self.lock().push((server.to_owned(), transition));
    }

    /// All entries since the last call.
    pub(crate) fn take(&self) -> Vec<(String, Transition)> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(String, Transition)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
