//! Time-limited permission to change things in a cloud.
//!
//! A cloud does not know leases: it carries out every call that it gets. So a program that acts under a lease checks
//! the rest of the lease just before each changing call, and no call outlasts it. Callers ask for the same permission
//! before other effects of their own ([`permitted_for`]).

use std::{sync::Arc, time::Duration};

/// A time-limited permission.
pub trait Permit: Send + Sync {
    /// The remaining time. `None` after the end.
    fn remaining(&self) -> Option<Duration>;
}

tokio::task_local! {
    static PERMIT: Arc<dyn Permit>;
}

/// Runs `work` under a permission. After its end, changing calls fail with
/// [`Error::NotPermitted`](crate::Error::NotPermitted) and are not sent.
pub async fn while_permitted<F: Future>(permit: Arc<dyn Permit>, work: F) -> F::Output {
    PERMIT.scope(permit, work).await
}

/// `work` under the permission of this task, to be spawned as a separate task.
pub fn under_same_permit<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let permit = current_permit();
    async move {
        match permit {
            Some(permit) => PERMIT.scope(permit, work).await,
            None => work.await,
        }
    }
}

/// The permission of this task, for work that goes on in tasks of others. `None` if the task needs none.
pub fn current_permit() -> Option<Arc<dyn Permit>> {
    PERMIT.try_with(Arc::clone).ok()
}

/// The rest of this task's permission. `None` if the task needs none.
///
/// # Errors
/// If its permission has ended.
pub fn permitted_for() -> Result<Option<Duration>, NotPermitted> {
    let remaining = PERMIT.try_with(|permit| permit.remaining());
    match remaining {
        Err(_no_permission_needed) => Ok(None),
        Ok(Some(remaining)) => Ok(Some(remaining)),
        Ok(None) => Err(NotPermitted),
    }
}

/// The permission of a task has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this server no longer holds the run; another one carries it on")]
pub struct NotPermitted;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    struct Rest(Mutex<Option<Duration>>);

    impl Permit for Rest {
        fn remaining(&self) -> Option<Duration> {
            *self.0.lock().unwrap()
        }
    }

    #[tokio::test]
    async fn a_permission_is_checked_each_time() {
        assert_eq!(permitted_for(), Ok(None), "no permission is needed");
        let second = Duration::from_secs(1);
        let rest = Arc::new(Rest(Mutex::new(Some(second))));
        while_permitted(rest.clone(), async {
            assert_eq!(permitted_for(), Ok(Some(second)));
            *rest.0.lock().unwrap() = None;
            assert_eq!(permitted_for(), Err(NotPermitted));
            let task = tokio::spawn(async { permitted_for() });
            assert_eq!(task.await.unwrap(), Ok(None), "a task of its own");
            let task = tokio::spawn(under_same_permit(async { permitted_for() }));
            assert_eq!(task.await.unwrap(), Err(NotPermitted));
        })
        .await;
    }
}
