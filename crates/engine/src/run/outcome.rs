//! Maps errors of a step to the classes of the retry rules. Pure.

use std::time::Duration;

use hot::expr::Unresolved;

use crate::{
    machine::{Failure, FailureClass},
    sandbox::SandboxError,
};
use drivers::DriverError;

/// The ending of an attempt that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The attempt failed.
    Failed(Failure),
    /// The attempt was stopped on request.
    Stopped,
    /// The token has expired.
    NoToken,
}

impl Ended {
    /// A failure without a retry, because another attempt would repeat it.
    pub fn lasting(message: impl Into<String>) -> Ended {
        Ended::Failed(Failure::new(FailureClass::Lasting, message))
    }

    /// A failure that passes: another attempt comes soon.
    pub fn transient(message: impl Into<String>) -> Ended {
        Ended::Failed(Failure::new(FailureClass::Transient, message))
    }

    /// A failure inside the cloud.
    pub fn infrastructure(message: impl Into<String>) -> Ended {
        Ended::Failed(Failure::new(FailureClass::Infrastructure, message))
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Failed(failure) => out.write_str(&failure.message),
            Ended::Stopped => out.write_str("it was stopped"),
            Ended::NoToken => out.write_str("the login has ended"),
        }
    }
}

/// Pause before a retry after a conflict: the conflicting resource is usually about to be deleted.
const CONFLICT_PAUSE: Duration = Duration::from_secs(1);

/// The remedy for a refusal by the cloud's policy.
const NOT_ALLOWED: &str = "Your roles in this project do not allow it: log in as somebody who may (mostly somebody with the role \
    `admin`), or have an administrator make it and refer to it by `external_id`";

impl From<DriverError> for Ended {
    fn from(error: DriverError) -> Ended {
        let message = error.to_string();
        match error {
            DriverError::Cloud(error) if error.is_unauthorized() => Ended::NoToken,
            DriverError::Cloud(error) if error.is_transient() => Ended::Failed(Failure {
                class: FailureClass::Transient,
                message,
                retry_after: error.retry_after(),
            }),
            DriverError::Cloud(error) if error.is_not_allowed() => {
                Ended::lasting(format!("{message}. {NOT_ALLOWED}"))
            }
            DriverError::Cloud(error) if error.is_conflict() => Ended::Failed(Failure {
                class: FailureClass::Infrastructure,
                message,
                retry_after: Some(CONFLICT_PAUSE),
            }),
            DriverError::Cloud(
                openstack::Error::Unknown { .. }
                | openstack::Error::Ambiguous { .. }
                | openstack::Error::NoService { .. },
            ) => Ended::lasting(message),
            DriverError::Cloud(_) => Ended::infrastructure(message),
            DriverError::Property { .. } => Ended::lasting(message),
            DriverError::Storage(_) => Ended::transient(message),
            DriverError::Other(_) => Ended::infrastructure(message),
        }
    }
}

impl From<openstack::Error> for Ended {
    fn from(error: openstack::Error) -> Ended {
        DriverError::Cloud(error).into()
    }
}

impl From<SandboxError> for Ended {
    fn from(error: SandboxError) -> Ended {
        match error {
            SandboxError::Stopped => Ended::Stopped,
            SandboxError::NoImage(_) | SandboxError::Protocol(_) => {
                Ended::lasting(error.to_string())
            }
            SandboxError::Docker(_) | SandboxError::NotPermitted(_) => {
                Ended::transient(error.to_string())
            }
        }
    }
}

impl From<store::Error> for Ended {
    fn from(error: store::Error) -> Ended {
        Ended::transient(error.to_string())
    }
}

impl From<Unresolved> for Ended {
    fn from(error: Unresolved) -> Ended {
        Ended::lasting(error.to_string())
    }
}
