//! Limits on requests that cause calls to a cloud's Keystone without a login: logins, and tokens that are not known
//! yet.
//!
//! Any client can send them, and runs need the same connections to the cloud. So their parallel number is limited, with
//! a lower limit per address. Others wait in order of arrival for a short time, and are refused then.

use std::{sync::Arc, time::Duration};

use engine::slots::Slots;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{
    attempts::AddressKey,
    codes,
    problem::{Error, Result},
};

/// Longest wait for a permit.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The limits of logins to all clouds.
#[derive(Clone)]
pub struct Doors {
    in_all: Arc<Semaphore>,
    places: Slots<AddressKey>,
}

/// The permits of a login in progress.
pub struct Entered {
    _address: OwnedSemaphorePermit,
    _in_all: OwnedSemaphorePermit,
}

impl Doors {
    /// Limits for parallel logins, in total and per address.
    pub fn new(in_all: usize, per_address: usize) -> Doors {
        Doors {
            in_all: Arc::new(Semaphore::new(in_all)),
            places: Slots::new(per_address),
        }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// `too-many-logins` if no permit is free in time.
    pub async fn enter(&self, place: AddressKey) -> Result<Entered> {
        let enter = async {
            let address = self.places.of(&place).acquire_owned().await;
            let in_all = self.in_all.clone().acquire_owned().await;
            Some(Entered {
                _address: address.ok()?,
                _in_all: in_all.ok()?,
            })
        };
        let entered = timeout(TIMEOUT, enter).await.ok().flatten();
        entered.ok_or_else(|| {
            Error::new(
                codes::TOO_MANY_LOGINS,
                "Too many logins are under way, so this one was not tried.",
            )
            .hint("Wait a few seconds, then try again.")
            .retry_after(TIMEOUT)
        })
    }
}

/// The refusal of an address with many failed logins.
pub fn too_many_here(wait: Duration) -> Error {
    let seconds = wait.as_secs_f64().ceil();
    Error::new(
        codes::TOO_MANY_ATTEMPTS,
        format!("Many logins from this address failed. The next one is possible in {seconds} s."),
    )
    .hint("Wait, then try again. Accounts that logged in from here before do not wait.")
    .retry_after(wait)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::time::Instant;

    use super::*;

    fn place(number: u8) -> AddressKey {
        AddressKey::of(Some(Ipv4Addr::new(192, 0, 2, number).into()))
    }

    #[tokio::test]
    async fn logins_of_one_address_leave_room_for_others_and_all_have_a_limit() {
        let doors = Doors::new(2, 1);
        let first = doors.enter(place(1)).await.ok().unwrap();
        // The address that has a login under way waits, and takes no permit of others meanwhile.
        let (again, second) = tokio::join!(doors.enter(place(1)), async {
            let begun = Instant::now();
            let second = doors.enter(place(2)).await.ok().unwrap();
            assert!(begun.elapsed() < TIMEOUT, "it did not wait");
            // Both permits of the server are taken.
            let third = doors.enter(place(3)).await.err().unwrap();
            assert!(third.is(codes::TOO_MANY_LOGINS));
            second
        });
        assert!(again.err().unwrap().is(codes::TOO_MANY_LOGINS));
        drop((first, second));
        assert!(doors.enter(place(1)).await.is_ok());
    }
}
