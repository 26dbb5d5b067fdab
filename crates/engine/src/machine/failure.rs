//! Failures of steps, divided into the classes that the retry rules need.

use std::time::Duration;

/// The class of a failure. Each class has its own retry rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The cloud refused or failed to create or delete a resource. One retry, at once.
    Infrastructure,
    /// The cloud could not be reached or was overloaded. Up to five retries, with a pause.
    Transient,
    /// Ansible's exit code 4: the host could not be reached. One retry, at once.
    HostUnreachable,
    /// The server is active but does not respond over SSH. The run fails at once: parallel steps get no grace.
    SshTimeout,
    /// All other failures. No retry, because it would fail again.
    Lasting,
}

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The class, which selects the retry rule.
    pub class: FailureClass,
    /// The action, the response and the remedy. Secrets are masked.
    pub message: String,
    /// The pause that the cloud requested. `None` if it requested none.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure without a requested pause.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Failure {
        Failure {
            class,
            message: message.into(),
            retry_after: None,
        }
    }
}

/// Number of retries that a step has used, by rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    transient: u32,
    infrastructure: u32,
    unreachable: u32,
}

/// The longest accepted pause that a cloud requests.
const RETRY_AFTER_LONGEST: Duration = Duration::from_secs(300);

impl Retries {
    /// The pause before the next retry, and the new count. `None` if the rule allows no more retries.
    pub fn next(self, failure: &Failure, retry_pause: Duration) -> Option<(Duration, Retries)> {
        let mut used = self;
        let (count, limit, pause) = match failure.class {
            FailureClass::Transient => (
                &mut used.transient,
                5,
                failure
                    .retry_after
                    .map_or(retry_pause, |requested| requested.min(RETRY_AFTER_LONGEST)),
            ),
            FailureClass::Infrastructure => (
                &mut used.infrastructure,
                1,
                failure
                    .retry_after
                    .unwrap_or_default()
                    .min(RETRY_AFTER_LONGEST),
            ),
            FailureClass::HostUnreachable => (&mut used.unreachable, 1, Duration::ZERO),
            FailureClass::SshTimeout | FailureClass::Lasting => return None,
        };
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some((pause, used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(class: FailureClass) -> usize {
        let failure = Failure::new(class, "no");
        let mut used = Retries::default();
        let mut count = 1;
        while let Some((_, next)) = used.next(&failure, Duration::ZERO) {
            used = next;
            count += 1;
        }
        count
    }

    #[test]
    fn the_retry_table_gives_the_number_of_attempts() {
        assert_eq!(tries(FailureClass::Transient), 6);
        assert_eq!(tries(FailureClass::Infrastructure), 2);
        assert_eq!(tries(FailureClass::HostUnreachable), 2);
        assert_eq!(tries(FailureClass::SshTimeout), 1);
        assert_eq!(tries(FailureClass::Lasting), 1);
    }

    #[test]
    fn a_pause_that_the_cloud_asks_for_is_honoured_within_reason() {
        let mut failure = Failure::new(FailureClass::Transient, "slow down");
        let pause = |failure: &Failure| {
            Retries::default()
                .next(failure, Duration::from_secs(10))
                .map(|(pause, _)| pause)
        };
        assert_eq!(pause(&failure), Some(Duration::from_secs(10)));
        failure.retry_after = Some(Duration::from_secs(3));
        assert_eq!(pause(&failure), Some(Duration::from_secs(3)));
        failure.retry_after = Some(Duration::from_secs(86_400));
        assert_eq!(pause(&failure), Some(RETRY_AFTER_LONGEST));
    }
}
