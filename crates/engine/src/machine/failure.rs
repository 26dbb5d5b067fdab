//! Why a step failed, as far as the retry rules must tell failures apart.

use std::time::Duration;

/// What kind of failure it was; each kind has its own rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The cloud refused or gave up on making or removing something. One more try, at once.
    Infrastructure,
    /// The cloud could not be reached or was overloaded. Up to five more tries, with a pause.
    Transient,
    /// Ansible's exit code 4: the host could not be reached. One more try, at once.
    HostUnreachable,
    /// The server is active and yet does not answer over SSH. The run fails at once: parallel steps get no grace.
    SshTimeout,
    /// Everything else: trying again would give the same.
    Lasting,
}

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which rule applies.
    pub class: FailureClass,
    /// What was tried, what came back, what to do. Secrets are masked.
    pub message: String,
    /// The pause that the cloud asked for.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// Without a pause that anybody asked for.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Failure {
        Failure {
            class,
            message: message.into(),
            retry_after: None,
        }
    }
}

/// Tries that a step has used up beyond the first, by rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    transient: u32,
    infrastructure: u32,
    unreachable: u32,
}

/// The longest pause that a cloud can talk us into.
const RETRY_AFTER_LONGEST: Duration = Duration::from_secs(300);

impl Retries {
    /// The pause before one more try and the count after it; `None` where the rule allows no more.
    pub fn next(self, failure: &Failure, retry_pause: Duration) -> Option<(Duration, Retries)> {
        let mut used = self;
        let (count, limit, pause) = match failure.class {
            FailureClass::Transient => (
                &mut used.transient,
                5,
                failure
                    .retry_after
                    .map_or(retry_pause, |asked| asked.min(RETRY_AFTER_LONGEST)),
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
    fn as_many_tries_as_the_table_says() {
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
