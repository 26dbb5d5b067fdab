//! Cached look-ups of names: images, flavors, external networks.
//!
//! A deployment of 100 servers looks up the same image 100 times, all at once. The first look-up fetches it, and the
//! others wait for the result. Resources of a project are cached only for a moment, since they change within a run.
//! Failed look-ups are not cached.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Session};

/// Cache lifetime of cloud-wide resources.
pub(super) const LONG: Duration = Duration::from_secs(30);
/// Cache lifetime of a project's resources: long enough for concurrent look-ups.
pub(super) const SHORT: Duration = Duration::from_secs(1);

type Slot = Arc<tokio::sync::Mutex<Option<(Instant, Value)>>>;

impl Session {
    pub(super) fn lookups(&self) -> Arc<Lookups> {
        self.extension()
    }
}

/// The look-ups of a session.
#[derive(Debug, Default)]
pub(super) struct Lookups(Mutex<HashMap<(&'static str, String), Slot>>);

impl Lookups {
    /// The resource with this name, from the cache or from `fetch`. `cache_lifetime` gives the lifetime of a new entry.
    pub(super) async fn find<T, F>(
        &self,
        kind: &'static str,
        name: &str,
        cache_lifetime: impl FnOnce(&T) -> Duration,
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
        let mut cached = slot.lock().await;
        if let Some((until, value)) = cached.as_ref()
            && Instant::now() < *until
            && let Ok(found) = serde_json::from_value(value.clone())
        {
            return Ok(found);
        }
        *cached = None;
        let found = fetch().await?;
        if let Ok(value) = serde_json::to_value(&found) {
            *cached = Some((Instant::now() + cache_lifetime(&found), value));
        }
        Ok(found)
    }
}

/// The only resource with a name.
///
/// # Errors
/// [`Error::Unknown`] without a resource of this name, [`Error::Ambiguous`] with more than one.
pub(super) fn only<T>(
    mut named: Vec<T>,
    what: &str,
    name: &str,
    id: impl Fn(&T) -> &str,
) -> Result<T, Error> {
    match named.len() {
        1 => Ok(named.remove(0)),
        0 => Err(Error::Unknown {
            what: what.into(),
            name: name.into(),
        }),
        _ => Err(Error::Ambiguous {
            what: what.into(),
            name: name.into(),
            ids: named.iter().map(|entity| id(entity).to_string()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn concurrent_lookups_share_one_call() {
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
        let other = async |name: &str, cache_lifetime: Duration| {
            let fetch = || async { Ok(calls.fetch_add(1, Ordering::SeqCst)) };
            lookups
                .find("image", name, |_| cache_lifetime, fetch)
                .await
                .unwrap()
        };
        assert_eq!(other("own", Duration::ZERO).await, 1);
        assert_eq!(other("own", Duration::ZERO).await, 2);
    }

    #[test]
    fn a_name_must_mean_one_thing() {
        let none = only(Vec::<String>::new(), "image", "debian", |id| id).unwrap_err();
        assert_eq!(
            none.to_string(),
            "there is no image named `debian` in this project; check the name, or choose one that the cloud has"
        );
        let two = only(
            vec!["a".to_string(), "b".to_string()],
            "image",
            "debian",
            |id| id,
        )
        .unwrap_err();
        assert_eq!(
            two.to_string(),
            "2 images are named `debian` (a, b); give the id of the one you mean"
        );
    }
}
