//! Rate limits by key: a burst, then one in each interval.
//!
//! Each key has one time: when all that it used is regained (the generic cell rate algorithm). [`crate::attempts`] limits
//! failures only, and lets successes pass at any rate.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Maximum number of keys with something left to regain. Beyond it, new keys are refused.
const KEYS_MAX: usize = 100_000;

/// A rate limit, the same for every key. Clones share the counts.
#[derive(Clone)]
pub struct Rates<K> {
    burst: u32,
    every: Duration,
    regained_at: Arc<Mutex<HashMap<K, Instant>>>,
}

impl<K: Eq + Hash> Rates<K> {
    /// `burst` at once, then one `every` interval.
    pub fn new(burst: u32, every: Duration) -> Rates<K> {
        Rates {
            burst,
            every,
            regained_at: Arc::default(),
        }
    }

    /// Consumes one unit of the rate.
    ///
    /// # Errors
    /// The time until the next unit is available. Nothing is consumed then.
    pub fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let all = self.regained_at.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEYS_MAX {
            all.retain(|_, at| *at > now);
        }
        let used = all.get(&key).map_or(now, |at| (*at).max(now));
        let after = used + self.every;
        let wait = after.saturating_duration_since(now + self.every * self.burst);
        if !wait.is_zero() {
            return Err(wait);
        }
        if all.len() >= KEYS_MAX && !all.contains_key(&key) {
            return Err(self.every);
        }
        all.insert(key, after);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_one_in_each_interval() {
        let rates = Rates::new(3, Duration::from_secs(2));
        let start = Instant::now();
        let taken = |seconds: u64| rates.take("a", start + Duration::from_secs(seconds));
        assert_eq!([taken(0), taken(0), taken(0)], [Ok(()); 3]);
        assert_eq!(taken(0), Err(Duration::from_secs(2)));
        assert_eq!(taken(1), Err(Duration::from_secs(1)));
        assert_eq!(taken(2), Ok(()));
        assert!(taken(2).is_err());
        assert_eq!(
            [taken(8), taken(8), taken(8)],
            [Ok(()); 3],
            "all is regained"
        );
        assert!(taken(8).is_err());
    }

    #[test]
    fn keys_do_not_share_a_limit_and_their_number_is_bounded() {
        let rates = Rates::new(1, Duration::from_secs(1));
        let start = Instant::now();
        for key in 0..KEYS_MAX {
            assert_eq!(rates.take(key, start), Ok(()));
        }
        assert!(rates.take(KEYS_MAX, start).is_err());
        assert_eq!(rates.take(KEYS_MAX, start + Duration::from_secs(1)), Ok(()));
    }
}
