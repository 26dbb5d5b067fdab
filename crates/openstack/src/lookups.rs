//! What names mean, kept for half a minute: images, flavors, networks outside.
//!
//! A deployment of a hundred servers names the same image a hundred times, all at once. The first who
//! asks fetches, the others wait for that answer. What belongs to a project is kept for a moment only,
//! since such things come and go within a run; what was not found is not kept at all.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;

/// What belongs to the cloud.
pub(crate) const LONG: Duration = Duration::from_secs(30);
/// What belongs to a project: long enough for those who ask together.
pub(crate) const SHORT: Duration = Duration::from_secs(1);

type Slot = Arc<tokio::sync::Mutex<Option<(Instant, Value)>>>;

/// Of one session.
#[derive(Debug, Default)]
pub(crate) struct Lookups(Mutex<HashMap<(&'static str, String), Slot>>);

impl Lookups {
    /// What `name` means; fetched unless it is kept. `keep` says for how long it may be.
    pub(crate) async fn find<T, F>(
        &self,
        kind: &'static str,
        name: &str,
        keep: impl FnOnce(&T) -> Duration,
        fetch: impl FnOnce() -> F,
    ) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T, Error>>,
    {
        let slot = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            slots.entry((kind, name.to_string())).or_default().clone()
        };
        let mut kept = slot.lock().await;
        if let Some((until, value)) = kept.as_ref()
            && Instant::now() < *until
            && let Ok(found) = serde_json::from_value(value.clone())
        {
            return Ok(found);
        }
        *kept = None;
        let found = fetch().await?;
        if let Ok(value) = serde_json::to_value(&found) {
            *kept = Some((Instant::now() + keep(&found), value));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn many_askers_cost_one_call() {
        let lookups = Arc::new(Lookups::default());
        let calls = Arc::new(AtomicUsize::new(0));
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..10 {
            let (lookups, calls) = (lookups.clone(), calls.clone());
            asking.spawn(async move {
                let fetch = || async {
                    tokio::task::yield_now().await;
                    Ok(calls.fetch_add(1, Ordering::SeqCst))
                };
                lookups.find("image", "debian", |_| LONG, fetch).await
            });
        }
        for found in asking.join_all().await {
            assert_eq!(found.unwrap(), 0);
        }
        let other = async |name: &str, keep: Duration| {
            let fetch = || async { Ok(calls.fetch_add(1, Ordering::SeqCst)) };
            lookups.find("image", name, |_| keep, fetch).await.unwrap()
        };
        assert_eq!(other("own", Duration::ZERO).await, 1);
        assert_eq!(other("own", Duration::ZERO).await, 2);
    }
}
