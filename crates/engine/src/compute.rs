//! Computations on users' templates: parsing, checking, planning, conversion, outputs.
//!
//! They are pure and can take seconds, so they do not run on the threads that handle requests. Each runs on a thread of
//! its own with a low priority, at most [`Limits::parallel`] at once and [`Limits::per_project`] of one project. Others
//! wait in order of arrival, and are refused after [`Limits::patience`].
//!
//! A thread cannot be killed. At the deadline the caller gets an error, and a stop flag is set (`yaql::cancel`). YAQL
//! expressions, matches of patterns and insertions into templates check that flag, because they can be long. Parsing,
//! composition and passes do not check it: their time is proportional to the template, whose size is limited. A
//! computation keeps its slot until its thread has ended, so the number of threads is limited in any case. A dropped
//! caller sets the flag as well.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, oneshot},
    time::{Instant, timeout, timeout_at},
};
use yaql::cancel::{self, CancelFlag};

use crate::{Error, Result, Tenant, slots::Slots};

/// The priority (`nice`) of computing threads: below all other threads of the server.
const PRIORITY: i32 = 10;

/// Limits of computations.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of parallel computations.
    pub parallel: usize,
    /// Maximum number of parallel computations of one project.
    pub per_project: usize,
    /// Maximum time to wait for a slot.
    pub patience: Duration,
    /// Time after which a computation is stopped.
    pub deadline: Duration,
}

/// The slots for computations.
pub(crate) struct Computations {
    limits: Limits,
    slots: Arc<Semaphore>,
    projects: Slots<Tenant>,
}

/// Stops the computation when its caller is dropped.
struct EndOnDrop(CancelFlag);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Computations {
    pub fn new(limits: Limits) -> Computations {
        Computations {
            limits,
            slots: Arc::new(Semaphore::new(limits.parallel)),
            projects: Slots::new(limits.per_project),
        }
    }

    /// Computes on a separate thread.
    ///
    /// # Errors
    /// If no slot is free in time, or the computation takes too long.
    pub async fn run<T: Send + 'static>(
        &self,
        tenant: &Tenant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let late = Instant::now() + self.limits.patience;
        let project = timeout_at(late, self.projects.of(tenant).acquire_owned());
        let project = project.await.map_err(|_late| Error::ProjectComputes)?;
        let slot = timeout_at(late, self.slots.clone().acquire_owned());
        let slot = slot.await.map_err(|_late| Error::ServerComputes)?;
        let stop = CancelFlag::default();
        let _end = EndOnDrop(stop.clone());
        let (done, outcome) = oneshot::channel();
        let span = tracing::Span::current();
        let thread = std::thread::Builder::new().name("computation".into());
        let started = thread.spawn(move || {
            let _slots = (project, slot);
            let _in_span = span.entered();
            lower_priority();
            // Sending fails if the caller has been dropped.
            let _ = done.send(cancel::within(stop, work));
        });
        started
            .map_err(|error| Error::Unavailable(format!("no thread could be started: {error}")))?;
        match timeout(self.limits.deadline, outcome).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(_panicked)) => Err(Error::ComputationBroke),
            Err(_late) => Err(Error::ComputesTooLong(self.limits.deadline)),
        }
    }
}

/// Gives precedence to the threads that handle requests. On Linux, a priority belongs to a thread.
fn lower_priority() {
    let lowered = rustix::process::setpriority_process(Some(rustix::thread::gettid()), PRIORITY);
    let _ = lowered.inspect_err(|error| tracing::debug!("the priority stays: {error}"));
}

/// Evaluates for a step of a run, without blocking other tasks of this thread. The cost of each expression is limited.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(project: &str) -> Tenant {
        Tenant {
            cloud: "lab".into(),
            project_id: project.into(),
        }
    }

    fn computations(parallel: usize, per_project: usize, deadline: Duration) -> Arc<Computations> {
        Arc::new(Computations::new(Limits {
            parallel,
            per_project,
            patience: Duration::from_millis(20),
            deadline,
        }))
    }

    /// Computes until it is stopped.
    fn endless() {
        while !cancel::is_cancelled() {
            std::thread::yield_now();
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_project_has_its_slots_and_others_have_theirs() {
        let all = computations(2, 1, LONG);
        let busy = tokio::spawn({
            let all = all.clone();
            async move { all.run(&tenant("a"), endless).await }
        });
        while all.slots.available_permits() == 2 {
            tokio::task::yield_now().await;
        }
        let refused = all.run(&tenant("a"), || ()).await;
        assert!(matches!(refused, Err(Error::ProjectComputes)));
        assert_eq!(all.run(&tenant("b"), || 5).await.unwrap(), 5);
        // The caller is dropped, and its computation ends.
        busy.abort();
        while all.slots.available_permits() < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(all.run(&tenant("a"), || 6).await.unwrap(), 6);
    }

    #[tokio::test]
    async fn a_long_computation_is_told_to_end_and_its_caller_is_answered() {
        let all = computations(1, 1, Duration::from_millis(30));
        let late = all.run(&tenant("a"), endless).await;
        assert!(matches!(late, Err(Error::ComputesTooLong(_))));
        while all.slots.available_permits() == 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_full_server_says_so() {
        let all = computations(1, 1, LONG);
        let _busy = all.slots.clone().acquire_owned().await.unwrap();
        let refused = all.run(&tenant("a"), || ()).await;
        assert!(matches!(refused, Err(Error::ServerComputes)));
    }

    #[tokio::test]
    async fn both_slots_are_waited_for_within_one_time() {
        let all = Computations::new(Limits {
            parallel: 1,
            per_project: 1,
            patience: Duration::from_secs(1),
            deadline: LONG,
        });
        let patience = all.limits.patience;
        let project = all.projects.of(&tenant("a")).acquire_owned().await.unwrap();
        let _busy = all.slots.clone().acquire_owned().await.unwrap();
        let begun = Instant::now();
        let release = async {
            // The wait for the first slot is the case that is tested.
            tokio::time::sleep(patience * 3 / 4).await;
            drop(project);
        };
        let tenant = tenant("a");
        let (refused, ()) = tokio::join!(all.run(&tenant, || ()), release);
        assert!(matches!(refused, Err(Error::ServerComputes)));
        assert!(begun.elapsed() < patience * 3 / 2);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_frees_the_slot() {
        // The thread of the first computation may still unwind when the second one asks for its slot.
        let all = Arc::new(Computations::new(Limits {
            parallel: 1,
            per_project: 1,
            patience: LONG,
            deadline: LONG,
        }));
        let broken = all.run(&tenant("a"), || panic!("a mistake")).await;
        assert!(matches!(broken, Err::<(), _>(Error::ComputationBroke)));
        assert_eq!(all.run(&tenant("a"), || 7).await.unwrap(), 7);
    }
}
