//! Logins that fail: who guesses has to wait.
//!
//! Keystone locks nobody out by default, and a guess costs it much more than it costs who makes it. So failures in a row are
//! counted for each account: the first few are free, then each doubles the time until the next try, up to a minute. Whatever address
//! a guess comes from counts: addresses are cheap, and behind a proxy all people have the same. An account is never locked; but who
//! goes on guessing keeps its owner waiting, too, and those two race for the one try a minute.
//!
//! Names count as the same where a cloud's database might take them for the same ([`folded`]): spelling is no way around it either.
//!
//! A try counts as failed until it is known to be right: many at once are no way around it. What is counted is in memory only,
//! and forgotten a while after the last failure.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Failures in a row that cost nothing: people mistype.
const FREE: u32 = 5;
const WAIT_FIRST: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(60);
const REMEMBERED_FOR: Duration = Duration::from_secs(15 * 60);
/// Accounts that are remembered; of those with the fewest failures the one that failed longest ago makes room.
const REMEMBERED_MAX: usize = 10_000;

/// All accounts whose last login failed.
#[derive(Clone, Default)]
pub struct Attempts {
    failures: Arc<Mutex<HashMap<Account, Failures>>>,
}

/// Whose failures count together; a hash, so that long names take no more room than short ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Account([u8; 32]);

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Account {
    /// Of what names it: a cloud, a domain, a user.
    pub fn new(names: &[&str]) -> Account {
        let hash = names.iter().fold(Sha256::new(), |hash, name| {
            let name = folded(name);
            hash.chain_update((name.len() as u64).to_be_bytes())
                .chain_update(name)
        });
        Account(hash.finalize().into())
    }
}

/// A name without what MySQL's usual collations do not see: case, accents, spaces at the end. A letter of no accent that is not
/// ASCII might be equal to another, so all of them are one.
fn folded(name: &str) -> String {
    name.trim()
        .nfkd()
        .filter(|letter| !is_combining_mark(*letter))
        .flat_map(char::to_lowercase)
        .map(|letter| if letter.is_ascii() { letter } else { '?' })
        .collect()
}

impl Failures {
    fn are_remembered(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) < REMEMBERED_FOR
    }

    /// How long after the last failure the next try may come.
    fn wait(self) -> Duration {
        match self.count.checked_sub(FREE) {
            Some(doublings) => (WAIT_FIRST * (1 << doublings.min(6))).min(WAIT_MAX),
            None => Duration::ZERO,
        }
    }
}

impl Attempts {
    /// A try begins; it counts as a failure until [`Attempts::succeeded`] or [`Attempts::undecided`].
    ///
    /// # Errors
    /// How long to wait, where it comes too early; then it does not count.
    pub fn begin(&self, account: Account, now: Instant) -> Result<(), Duration> {
        let mut all = self.lock();
        if let Some(failures) = all.get_mut(&account)
            && failures.are_remembered(now)
        {
            let next = failures.last + failures.wait();
            if now < next {
                return Err(next - now);
            }
            failures.count = failures.count.saturating_add(1);
            failures.last = now;
            return Ok(());
        }
        if all.len() >= REMEMBERED_MAX {
            all.retain(|_, one| one.are_remembered(now));
        }
        if all.len() >= REMEMBERED_MAX
            && let Some((&least, _)) = all.iter().min_by_key(|(_, one)| (one.count, one.last))
        {
            all.remove(&least);
        }
        let first = Failures {
            count: 1,
            last: now,
        };
        all.insert(account, first);
        Ok(())
    }

    /// It was right: all that came before is forgotten.
    pub fn succeeded(&self, account: Account) {
        self.lock().remove(&account);
    }

    /// It was neither right nor wrong, for the cloud could not say: this one is forgotten.
    pub fn undecided(&self, account: Account) {
        let mut all = self.lock();
        if let Some(failures) = all.get_mut(&account) {
            failures.count = failures.count.saturating_sub(1);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Account, Failures>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> Account {
        Account::new(&["lab", "Default", "ada"])
    }

    #[test]
    fn who_guesses_waits_longer_each_time_and_a_minute_at_most() {
        let attempts = Attempts::default();
        let mut now = Instant::now();
        for _ in 0..FREE {
            assert_eq!(attempts.begin(ada(), now), Ok(()));
        }
        let mut waits = Vec::new();
        for _ in 0..9 {
            let wait = attempts.begin(ada(), now).unwrap_err();
            waits.push(wait.as_secs());
            assert!(attempts.begin(ada(), now + wait / 2).is_err(), "too early");
            now += wait;
            assert_eq!(attempts.begin(ada(), now), Ok(()));
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn others_do_not_wait_and_neither_does_who_got_in() {
        let attempts = Attempts::default();
        let now = Instant::now();
        while attempts.begin(ada(), now).is_ok() {}
        let other = Account::new(&["lab", "Defaultada", ""]);
        assert_eq!(attempts.begin(other, now), Ok(()));
        attempts.succeeded(ada());
        assert_eq!(attempts.begin(ada(), now), Ok(()));
    }

    #[test]
    fn spelling_a_name_otherwise_is_no_way_around() {
        for same in ["Ada", " ada ", "ADA", "\u{e5}da", "a\u{30a}d\u{e0}"] {
            assert_eq!(Account::new(&["lab", "default", same]), ada(), "{same:?}");
        }
        let other = Account::new(&["lab", "default", "adam"]);
        assert_ne!(other, ada());
    }

    #[test]
    fn made_up_names_do_not_push_out_the_one_that_is_guessed_at() {
        let attempts = Attempts::default();
        let now = Instant::now();
        while attempts.begin(ada(), now).is_ok() {}
        for number in 0..=REMEMBERED_MAX {
            let made_up = Account::new(&["lab", "default", &number.to_string()]);
            assert_eq!(attempts.begin(made_up, now), Ok(()));
        }
        assert!(attempts.begin(ada(), now).is_err());
    }

    #[test]
    fn a_cloud_that_does_not_answer_costs_nobody_a_try() {
        let attempts = Attempts::default();
        let now = Instant::now();
        for _ in 0..100 {
            assert_eq!(attempts.begin(ada(), now), Ok(()));
            attempts.undecided(ada());
        }
    }

    #[test]
    fn what_is_long_ago_is_forgotten() {
        let attempts = Attempts::default();
        let now = Instant::now();
        while attempts.begin(ada(), now).is_ok() {}
        let later = now + REMEMBERED_FOR;
        for _ in 0..FREE {
            assert_eq!(attempts.begin(ada(), later), Ok(()));
        }
    }
}
