//! Cancellation of evaluations from outside.
//!
//! A thread cannot be killed. A caller with a deadline gives its thread a flag ([`within`]) and sets it at the
//! deadline. Each step of an expression, each match of a pattern and each value inserted into a template checks the
//! flag, and fails once it is set. There is at most one search between two checks; [`crate::pattern`] limits its cost.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// Cancellation flag of a thread. True means that its work must end.
pub type CancelFlag = Arc<AtomicBool>;

thread_local! {
    static CANCEL: RefCell<Option<CancelFlag>> = const { RefCell::new(None) };
}

/// Message of cancelled evaluations.
pub(super) const STOPPED: &str = "the evaluation took too long and was stopped";

/// Restores the flag of the outer work, also after a panic.
struct Restore(Option<CancelFlag>);

impl Drop for Restore {
    fn drop(&mut self) {
        CANCEL.set(self.0.take());
    }
}

/// Does the work on this thread. Evaluations in it fail as soon as the flag is set.
pub fn within<T>(flag: CancelFlag, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(CANCEL.replace(Some(flag)));
    work()
}

/// True if the work of this thread must end.
pub fn is_cancelled() -> bool {
    CANCEL.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Relaxed)))
}
