//! Rate limits for failed logins.
//!
//! Keystone locks no accounts by default, and a guess costs the server much more than the attacker. Therefore
//! successive failures are counted three times:
//!
//! - For each account and client address. The first few failures are free. Each further one doubles the time until the
//!   next attempt, up to a minute.
//! - For each account over all addresses, because addresses are cheap. The rule is the same, with many more free
//!   failures.
//! - For each client address over all accounts and tokens, because names can be guessed with one password each. The
//!   rule is the same; the number of free failures is a setting, because an office can share an address.
//!
//! So an attacker at one address does not delay users elsewhere, including the account's owner. An attacker with
//! hundreds of addresses is limited as a whole. An account at an address with a recent successful login is subject to
//! the first limit only, so the owner can log in during such an attack. An account is never locked.
//!
//! An IPv6 address counts as its /64 network, because its owner has all of that network. Behind a proxy all clients
//! have the proxy's address, unless the settings list it as trusted (`Config::proxies`).
//!
//! Names are compared like in a cloud's database ([`folded`]), so that another spelling does not evade the limit.
//!
//! An attempt counts as failed until it is known to have succeeded, so parallel attempts do not evade the limit either.
//! Counts are in memory only and expire some time after the last failure.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Free failures in a row for one account and address, for mistyped passwords.
const FREE: u32 = 5;
/// Free failures in a row for one account over all addresses.
const FREE_IN_ALL: u32 = 50;
const WAIT_FIRST: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(60);
const REMEMBERED_FOR: Duration = Duration::from_secs(15 * 60);
/// Time after a login during which its address counts as known for the account.
const AT_HOME_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum number of stored counts, and of known addresses. When it is reached, the counts with the fewest failures are
/// removed, the oldest first.
const REMEMBERED_MAX: usize = 10_000;

/// Accounts with failed logins, and the addresses of successful ones.
#[derive(Clone, Default)]
pub struct Attempts {
    known: Arc<Mutex<Known>>,
    free_at_address: u32,
}

#[derive(Default)]
struct Known {
    /// Failures by account and address, and by account.
    failures: HashMap<Account, Failures>,
    /// Time of the last login, by account and address.
    at_home: HashMap<Account, Instant>,
}

/// A login attempt: the account and the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoginAttempt {
    account: Account,
    here: Account,
}

/// The key of an account's count. A hash, so that long names take no more memory than short ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Account([u8; 32]);

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
}

/// A client's address, for limits over all accounts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddressKey(Account);

impl AddressKey {
    /// The key of an address. All unknown addresses count as one.
    pub fn of(address: Option<IpAddr>) -> AddressKey {
        // An empty list of names is not a valid account.
        AddressKey(Account::new(&[]).from(address).here)
    }
}

impl Account {
    /// The account with these names: cloud, domain, user.
    pub fn new(names: &[&str]) -> Account {
        let hash = names.iter().fold(Sha256::new(), |hash, name| {
            let name = folded(name);
            hash.chain_update((name.len() as u64).to_be_bytes())
                .chain_update(name)
        });
        Account(hash.finalize().into())
    }

    /// An attempt from this address. All unknown addresses count as one.
    pub fn from(self, address: Option<IpAddr>) -> LoginAttempt {
        let place = match address.map(|address| address.to_canonical()) {
            Some(IpAddr::V6(address)) => {
                let network = address.to_bits() >> 64 << 64;
                Some(IpAddr::V6(Ipv6Addr::from_bits(network)))
            }
            other => other,
        };
        let place = place.map(|place| place.to_string()).unwrap_or_default();
        let hash = Sha256::new().chain_update(self.0).chain_update(place);
        LoginAttempt {
            account: self,
            here: Account(hash.finalize().into()),
        }
    }
}

/// A name without the differences that MySQL's usual collations ignore: case, accents and trailing spaces. Other
/// non-ASCII letters can compare as equal, so all of them become one character.
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

    /// Time of the next allowed attempt, with `free` free failures.
    fn next(self, free: u32) -> Instant {
        let wait = match self.count.checked_sub(free) {
            Some(doublings) => (WAIT_FIRST * (1 << doublings.min(6))).min(WAIT_MAX),
            None => Duration::ZERO,
        };
        self.last + wait
    }
}

impl Known {
    /// Time until the next allowed attempt.
    fn wait(&self, account: Account, free: u32, now: Instant) -> Duration {
        let failures = self.failures.get(&account);
        let failures = failures.filter(|failures| failures.are_remembered(now));
        failures.map_or(Duration::ZERO, |failures| {
            failures.next(free).saturating_duration_since(now)
        })
    }

    fn is_at_home(&self, one: LoginAttempt, now: Instant) -> bool {
        let last = self.at_home.get(&one.here);
        last.is_some_and(|last| now.saturating_duration_since(*last) < AT_HOME_FOR)
    }

    fn count(&mut self, account: Account, now: Instant) {
        let all = &mut self.failures;
        if let Some(failures) = all.get_mut(&account)
            && failures.are_remembered(now)
        {
            failures.count = failures.count.saturating_add(1);
            failures.last = now;
            return;
        }
        if all.len() >= REMEMBERED_MAX {
            all.retain(|_, one| one.are_remembered(now));
        }
        if all.len() >= REMEMBERED_MAX {
            // A tenth of them at once, so that a flood of names does not cause a scan for each name.
            let mut least: Vec<_> = all
                .iter()
                .map(|(of, one)| (one.count, one.last, *of))
                .collect();
            least.sort_unstable_by_key(|(count, last, _)| (*count, *last));
            for (_, _, of) in least.into_iter().take(REMEMBERED_MAX / 10) {
                all.remove(&of);
            }
        }
        let first = Failures {
            count: 1,
            last: now,
        };
        all.insert(account, first);
    }

    /// Removes one counted failure.
    fn uncount(&mut self, account: Account) {
        if let Some(failures) = self.failures.get_mut(&account) {
            failures.count = failures.count.saturating_sub(1);
        }
    }
}

impl Attempts {
    /// Attempts with this number of free failures of one address over all accounts.
    pub fn new(free_at_address: u32) -> Attempts {
        Attempts {
            free_at_address,
            ..Attempts::default()
        }
    }

    /// Begins an attempt at an address, for `one` if it is for an account. It counts as a failure until
    /// [`Attempts::withdraw`].
    ///
    /// # Errors
    /// As [`Attempts::begin`].
    pub fn begin_at(
        &self,
        place: AddressKey,
        one: Option<LoginAttempt>,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut known = self.lock();
        let wait = known.wait(place.0, self.free_at_address, now);
        if !wait.is_zero() && !one.is_some_and(|one| known.is_at_home(one, now)) {
            return Err(wait);
        }
        known.count(place.0, now);
        Ok(())
    }

    /// The attempt did not fail, or did not take place.
    pub fn withdraw(&self, place: AddressKey) {
        self.lock().uncount(place.0);
    }

    /// Begins an attempt. It counts as a failure until [`Attempts::succeeded`] or [`Attempts::undecided`].
    ///
    /// # Errors
    /// The remaining wait if the attempt is too early. Such an attempt is not counted.
    pub fn begin(&self, one: LoginAttempt, now: Instant) -> Result<(), Duration> {
        let mut known = self.lock();
        let mut wait = known.wait(one.here, FREE, now);
        if !known.is_at_home(one, now) {
            wait = wait.max(known.wait(one.account, FREE_IN_ALL, now));
        }
        if !wait.is_zero() {
            return Err(wait);
        }
        known.count(one.here, now);
        known.count(one.account, now);
        Ok(())
    }

    /// The login succeeded: failures from this address are removed, and the address is known.
    pub fn succeeded(&self, one: LoginAttempt, now: Instant) {
        let mut known = self.lock();
        known.failures.remove(&one.here);
        known.uncount(one.account);
        if known.at_home.len() >= REMEMBERED_MAX
            && let Some((&oldest, _)) = known.at_home.iter().min_by_key(|(_, last)| **last)
        {
            known.at_home.remove(&oldest);
        }
        known.at_home.insert(one.here, now);
    }

    /// The cloud could not decide, so this attempt is not counted.
    pub fn undecided(&self, one: LoginAttempt) {
        let mut known = self.lock();
        known.uncount(one.here);
        known.uncount(one.account);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: [&str; 3] = ["lab", "Default", "ada"];

    fn at(names: &[&str], address: &str) -> LoginAttempt {
        Account::new(names).from(Some(address.parse().unwrap()))
    }

    fn ada() -> LoginAttempt {
        at(&LAB, "192.0.2.1")
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
    fn the_owner_elsewhere_does_not_wait_for_who_goes_on_guessing() {
        let attempts = Attempts::default();
        let mut now = Instant::now();
        for _ in 0..30 {
            let Err(wait) = attempts.begin(ada(), now) else {
                continue;
            };
            now += wait;
            let elsewhere = at(&LAB, "198.51.100.7");
            assert_eq!(attempts.begin(elsewhere, now), Ok(()));
            attempts.succeeded(elsewhere, now);
        }
    }

    #[test]
    fn many_places_are_no_way_around_but_where_the_owner_got_in_before_is_free() {
        let attempts = Attempts::default();
        let now = Instant::now();
        let home = at(&LAB, "203.0.113.5");
        assert_eq!(attempts.begin(home, now), Ok(()));
        attempts.succeeded(home, now);
        let places = 0..=255;
        let free = places.filter(|place| {
            let place = at(&LAB, &format!("198.51.100.{place}"));
            attempts.begin(place, now).is_ok()
        });
        assert_eq!(free.count(), FREE_IN_ALL as usize);
        assert!(attempts.begin(at(&LAB, "203.0.113.6"), now).is_err());
        for _ in 0..FREE {
            assert_eq!(attempts.begin(home, now), Ok(()));
        }
        assert!(
            attempts.begin(home, now).is_err(),
            "guesses there wait, too"
        );
    }

    #[test]
    fn a_network_of_ipv6_is_one_place() {
        assert_eq!(
            at(&LAB, "2001:db8:1:2::1"),
            at(&LAB, "2001:db8:1:2:ffff::9")
        );
        assert_ne!(at(&LAB, "2001:db8:1:2::1"), at(&LAB, "2001:db8:1:3::1"));
        assert_eq!(at(&LAB, "::ffff:192.0.2.1"), ada());
    }

    #[test]
    fn others_do_not_wait_and_neither_does_who_got_in() {
        let attempts = Attempts::default();
        let now = Instant::now();
        while attempts.begin(ada(), now).is_ok() {}
        let other = at(&["lab", "Defaultada", ""], "192.0.2.1");
        assert_eq!(attempts.begin(other, now), Ok(()));
        attempts.succeeded(ada(), now);
        assert_eq!(attempts.begin(ada(), now), Ok(()));
    }

    #[test]
    fn spelling_a_name_otherwise_is_no_way_around() {
        for same in ["Ada", " ada ", "ADA", "\u{e5}da", "a\u{30a}d\u{e0}"] {
            let same_account = Account::new(&["lab", "default", same]);
            assert_eq!(same_account, Account::new(&LAB), "{same:?}");
        }
        let other = Account::new(&["lab", "default", "adam"]);
        assert_ne!(other, Account::new(&LAB));
    }

    #[test]
    fn made_up_names_do_not_push_out_the_one_that_is_guessed_at() {
        let attempts = Attempts::default();
        let now = Instant::now();
        while attempts.begin(ada(), now).is_ok() {}
        for number in 0..=REMEMBERED_MAX {
            let made_up = at(&["lab", "default", &number.to_string()], "192.0.2.1");
            assert_eq!(attempts.begin(made_up, now), Ok(()));
        }
        assert!(attempts.begin(ada(), now).is_err());
    }

    #[test]
    fn names_and_tokens_cannot_be_sprayed_from_one_address() {
        let attempts = Attempts::new(20);
        let now = Instant::now();
        let place = |address: &str| AddressKey::of(Some(address.parse().unwrap()));
        let here = place("192.0.2.1");
        assert_eq!(attempts.begin_at(here, Some(ada()), now), Ok(()));
        attempts.succeeded(ada(), now);
        attempts.withdraw(here);
        for _ in 0..20 {
            assert_eq!(attempts.begin_at(here, None, now), Ok(()));
        }
        let other = at(&["lab", "Default", "eve"], "192.0.2.1");
        assert!(attempts.begin_at(here, None, now).is_err());
        assert!(attempts.begin_at(here, Some(other), now).is_err());
        // An account with an earlier login from this address is not delayed by others.
        assert_eq!(attempts.begin_at(here, Some(ada()), now), Ok(()));
        assert_eq!(attempts.begin_at(place("192.0.2.2"), None, now), Ok(()));
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
