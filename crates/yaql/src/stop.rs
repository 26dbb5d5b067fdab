//! The end of an evaluation from outside.
//!
//! A thread cannot be killed. A caller with a deadline gives its thread a flag ([`within`]) and sets it when the time
//! is up. Each step of an expression, each match of a pattern and each value that a template inserts looks at the flag,
//! and fails once it is set. Between two looks lies at most one search, whose cost [`crate::pattern`] limits.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The flag of a thread's work. True: the work shall end.
pub type Stop = Arc<AtomicBool>;

thread_local! {
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// The message of evaluations that were stopped.
pub(super) const STOPPED: &str = "the evaluation took too long and was stopped";

/// Restores the flag of the work around it, also after a panic.
struct Restore(Option<Stop>);

impl Drop for Restore {
    fn drop(&mut self) {
        STOP.set(self.0.take());
    }
}

/// Does the work on this thread. Evaluations in it fail as soon as the flag is set.
pub fn within<T>(stop: Stop, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(STOP.replace(Some(stop)));
    work()
}

/// True if the work of this thread shall end.
pub fn is_wanted() -> bool {
    STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop.load(Relaxed)))
}
