//! Requests that a service has accepted and executes later.
//!
//! A service that responds before the work can fail afterwards. The resource then often just returns to its former
//! state. A driver therefore records such a request when it is accepted, and
//! [`Driver::progress`](super::Driver::progress) and [`Driver::is_gone`](super::Driver::is_gone) compare it with the
//! state of the resource. Requests of earlier attempts are not in the list: their failures do not belong to this
//! attempt.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::DriverError;

/// Time within which a service records the result of a request.
const SETTLING: Duration = Duration::from_secs(3);

/// The requests of one attempt at a step, oldest first.
#[derive(Debug, Default)]
pub struct Accepted(Mutex<Vec<Request>>);

/// One accepted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The service's name of the action: `resize`, `detach_interface` ...
    pub action: &'static str,
    /// Id of the request's subject: the resource itself, or the port or volume that is attached or detached.
    pub subject: String,
    /// The service's id of the request; empty if the service keeps no record of requests.
    pub id: String,
    noted: Instant,
}

impl Accepted {
    /// Records an accepted request.
    pub fn note(&self, action: &'static str, subject: &str, id: String) {
        let request = Request {
            action,
            subject: subject.to_owned(),
            id,
            noted: Instant::now(),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(request);
    }

    /// Records a request if it was accepted. A missing resource is success, and nothing is recorded.
    ///
    /// # Errors
    ///
    /// Any other refusal.
    pub fn note_unless_gone(
        &self,
        action: &'static str,
        subject: &str,
        answer: Result<String, openstack::Error>,
    ) -> Result<(), DriverError> {
        match answer {
            Ok(id) => self.note(action, subject, id),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// All requests for an action.
    pub fn all(&self, action: &str) -> Vec<Request> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_action = all.iter().filter(|request| request.action == action);
        of_action.cloned().collect()
    }

    /// The newest request for an action about a subject.
    pub fn newest(&self, action: &str, subject: &str) -> Option<Request> {
        let mut all = self.all(action);
        all.retain(|request| request.subject == subject);
        all.pop()
    }
}

impl Request {
    /// Whether the service can still record the result of the request.
    pub fn may_be_settling(&self) -> bool {
        self.noted.elapsed() < SETTLING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_request_about_a_subject_counts() {
        let accepted = Accepted::default();
        accepted.note("detach_interface", "port-1", "req-1".into());
        accepted.note("detach_interface", "port-2", "req-2".into());
        accepted.note("detach_interface", "port-1", "req-3".into());
        let newest = accepted.newest("detach_interface", "port-1").unwrap();
        assert_eq!(newest.id, "req-3");
        assert_eq!(accepted.newest("resize", "server-1"), None);
        assert_eq!(accepted.all("detach_interface").len(), 3);
    }
}
