//! Errors of calls and logins, with all that the engine's rules and a person need.
//!
//! A text says what was tried, on what, what came back and what to do next.

mod config;
mod login;
mod refusal;

use std::time::Duration;

use crate::{Secret, Service};
use login::{
    certificate_hint, credentials, credentials_hint, in_region, list_projects, list_regions,
};

pub use config::ConfigError;
pub use login::{Certificate, LoginMethod};
pub use refusal::ApiError;
pub(super) use refusal::words;

/// Why a call, a login or a look-up failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Login: user, password, passcode, application credential or token are not accepted.
    #[error("cloud `{cloud}` does not accept {}: {message}. {}", credentials(*method), credentials_hint(*method))]
    WrongCredentials {
        /// The cloud's name in the configuration.
        cloud: String,
        /// What was given.
        method: LoginMethod,
        /// Keystone's words.
        message: String,
        /// Its request id.
        request_id: Option<String>,
    },
    /// Login: the password is right, and the cloud wants a one-time code as well.
    #[error(
        "cloud `{cloud}` wants a second factor of this user: give the code that the authenticator shows now"
    )]
    SecondFactor {
        /// The cloud's name in the configuration.
        cloud: String,
        /// What would do, each way with all that it still takes: `[["totp"]]`.
        missing: Vec<Vec<String>>,
        /// What was given is kept for some minutes under this: see [`Credentials::Passcode`](crate::Credentials::Passcode).
        receipt: Secret,
        /// Keystone's request id.
        request_id: Option<String>,
    },
    /// Login: the credentials are right, but there is no such project or no role in it.
    #[error(
        "project `{project}` is not known in cloud `{cloud}`, or you have no role in it{}",
        list_projects(accessible)
    )]
    UnknownProject {
        /// The cloud's name in the configuration.
        cloud: String,
        /// As it was given.
        project: String,
        /// Names of the projects that the person can use; empty where the cloud does not tell.
        accessible: Vec<String>,
    },
    /// Login: nobody answers at the cloud's address.
    #[error(
        "cloud `{cloud}` cannot be reached at {url}: {why}. Check the address, the network and whether the cloud is up"
    )]
    Unreachable {
        /// The cloud's name in the configuration.
        cloud: String,
        /// What was called.
        url: String,
        /// What the network said.
        why: String,
    },
    /// Login: somebody answers, but we do not trust them, or they do not trust us. Trying again is of no use.
    #[error(
        "cloud `{cloud}` cannot be talked to at {url}, because certificates do not fit: {why}. {}",
        certificate_hint(*whose)
    )]
    Untrusted {
        /// The cloud's name in the configuration.
        cloud: String,
        /// What was called.
        url: String,
        /// Which side refuses.
        whose: Certificate,
        /// What TLS said.
        why: String,
    },
    /// Login: somebody answers, but it is not Keystone.
    #[error(
        "cloud `{cloud}` does not answer like an OpenStack identity service at {url}: {why}. Check `auth_url`"
    )]
    NotOpenStack {
        /// The cloud's name in the configuration.
        cloud: String,
        /// What was called.
        url: String,
        /// What was odd.
        why: String,
    },
    /// Login: the credentials are right, but the catalogue has nothing in the region that the configuration names.
    #[error(
        "the catalogue of cloud `{cloud}` has no region `{region}`; it has {}. Correct `region_name` in clouds.yaml",
        list_regions(known)
    )]
    UnknownRegion {
        /// The cloud's name in the configuration.
        cloud: String,
        /// As the configuration has it.
        region: String,
        /// Regions of the catalogue; never empty.
        known: Vec<String>,
    },
    /// The catalogue has no such service in this region on this interface.
    #[error(
        "cloud `{cloud}` offers no {service} service{}: ask its administrator, or check `region_name` and `interface`",
        in_region(region)
    )]
    NoService {
        /// The cloud's name in the configuration.
        cloud: String,
        /// Which.
        service: Service,
        /// The region that was looked in.
        region: Option<String>,
    },
    /// A service answered with an error status.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// The call did not get through.
    #[error("{method} {path} to the {service} service failed: {why} (request {request_id})")]
    Connection {
        /// Which service.
        service: Service,
        /// HTTP method.
        method: String,
        /// Path, without query.
        path: String,
        /// What kind of failure.
        wire: Wire,
        /// What the network said.
        why: String,
        /// To find the call in the cloud's logs, if it got there.
        request_id: String,
    },
    /// The answer is not what the API promises.
    #[error(
        "the {service} service answered {method} {path} with something that we cannot read: {why} (request {request_id})"
    )]
    Malformed {
        /// Which service.
        service: Service,
        /// HTTP method.
        method: String,
        /// Path, without query.
        path: String,
        /// What was odd.
        why: String,
        /// To find the call in the cloud's logs.
        request_id: String,
    },
    /// Nothing in the cloud has this name or id.
    #[error(
        "there is no {what} named `{name}` in this project; check the name, or choose one that the cloud has"
    )]
    Unknown {
        /// `image`, `network` ...
        what: String,
        /// As it was given.
        name: String,
    },
    /// More than one thing has this name.
    #[error("{} {what}s are named `{name}` ({}); give the id of the one you mean", ids.len(), ids.join(", "))]
    Ambiguous {
        /// `image`, `network` ...
        what: String,
        /// As it was given.
        name: String,
        /// All that have it.
        ids: Vec<String>,
    },
    /// The configuration of the cloud does not work.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// How a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Nobody listens.
    Refused,
    /// Cut while we talked.
    Reset,
    /// No answer in time.
    Timeout,
    /// The host's name has no address.
    Name,
    /// Certificates or encryption.
    Tls,
    /// Anything else.
    Other,
}

/// Signs that a service failed for the sake of one behind it, which will come back: a proxy's words, and
/// what Nova and Cinder say with status 500 when Neutron, Keystone, the broker or the database is away.
const SICK: [&str; 6] = [
    "backend server is unreachable",
    "keystoneauth1.exceptions.connection",
    "keystoneauth1.exceptions.discovery",
    "oslo_messaging.exceptions.MessagingTimeout",
    "oslo_db.exception.DBConnectionError",
    "Connection to neutron failed",
];

/// Signs that a service's policy refused: Keystone's words, Nova's and Cinder's, Neutron's, Octavia's, Glance's,
/// Barbican's.
const POLICY: [&str; 6] = [
    "not authorized to perform the requested action",
    "Policy doesn't allow",
    "disallowed by policy",
    "Policy does not allow",
    "not authorized to complete",
    "not allowed - please review your user/project privileges",
];

impl Error {
    /// Whether the same call may well succeed a little later, without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Api(error) => {
                matches!(error.status, 429 | 502 | 503 | 504)
                    || SICK.iter().any(|sign| error.message.contains(sign))
            }
            Error::Connection { wire, .. } => {
                matches!(wire, Wire::Refused | Wire::Reset | Wire::Timeout)
            }
            Error::Unreachable { .. } => true,
            _ => false,
        }
    }

    /// Whether the service may carry out, or have carried out, a call that changes something although it failed for us: it was
    /// sent and not answered, answered with something unreadable, or the service broke down over it.
    pub fn may_still_commit(&self) -> bool {
        let (method, is_open) = match self {
            Error::Api(error) => (&error.method, error.status >= 500 || error.status == 408),
            Error::Connection { method, wire, .. } => {
                let was_sent = matches!(wire, Wire::Reset | Wire::Timeout | Wire::Other);
                (method, was_sent)
            }
            Error::Malformed { method, .. } => (method, true),
            _ => return false,
        };
        is_open && !matches!(method.as_str(), "GET" | "HEAD")
    }

    /// The thing is not there.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// Something stands in the way: it exists already, or is still in use. Right after a server's
    /// deletion its ports and groups count as used for a moment, so one more try is worth it.
    pub fn is_conflict(&self) -> bool {
        self.status() == Some(409)
    }

    /// The token has ended or was revoked: a new login is needed.
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
    }

    /// The user's roles do not allow the call. A quota that is used up has the same status, and other words.
    pub fn is_not_allowed(&self) -> bool {
        self.api().is_some_and(|error| {
            error.status == 403 && POLICY.iter().any(|sign| error.message.contains(sign))
        })
    }

    /// HTTP status of the refusal.
    pub fn status(&self) -> Option<u16> {
        self.api().map(|error| error.status)
    }

    /// The service's own words, where there are any.
    pub fn message(&self) -> Option<&str> {
        match self {
            Error::Api(error) => Some(&error.message),
            Error::WrongCredentials { message, .. } => Some(message),
            _ => None,
        }
    }

    /// The service that was called.
    pub fn service(&self) -> Option<Service> {
        match self {
            Error::Api(error) => Some(error.service),
            Error::NoService { service, .. }
            | Error::Connection { service, .. }
            | Error::Malformed { service, .. } => Some(*service),
            Error::WrongCredentials { .. }
            | Error::SecondFactor { .. }
            | Error::UnknownProject { .. }
            | Error::UnknownRegion { .. }
            | Error::Unreachable { .. }
            | Error::Untrusted { .. }
            | Error::NotOpenStack { .. } => Some(Service::Identity),
            Error::Unknown { .. } | Error::Ambiguous { .. } | Error::Config(_) => None,
        }
    }

    /// To find the call in the cloud's logs.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Error::Api(error) => error.request_id.as_deref(),
            Error::WrongCredentials { request_id, .. } | Error::SecondFactor { request_id, .. } => {
                request_id.as_deref()
            }
            Error::Connection { request_id, .. } | Error::Malformed { request_id, .. } => {
                Some(request_id)
            }
            _ => None,
        }
    }

    /// How long the service asks us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.api().and_then(|error| error.retry_after)
    }

    /// The refusal, if a service answered.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Error::Api(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_credentials_name_their_kind() {
        let refused = |method| {
            let error = Error::WrongCredentials {
                cloud: "prod".into(),
                method,
                message: "Unauthorized".into(),
                request_id: None,
            };
            error.to_string()
        };
        assert_eq!(
            refused(LoginMethod::Password),
            "cloud `prod` does not accept these credentials: Unauthorized. Check user, password and domain"
        );
        assert_eq!(
            refused(LoginMethod::ApplicationCredential),
            "cloud `prod` does not accept this application credential: Unauthorized. Check its id and secret, and whether it has \
             expired or was deleted"
        );
        assert_eq!(
            refused(LoginMethod::Token),
            "cloud `prod` does not accept this token: Unauthorized. It has expired or was revoked, or another cloud issued it: get a new \
             one"
        );
    }

    fn api(status: u16, message: &str) -> Error {
        Error::Api(Box::new(ApiError {
            service: Service::Network,
            method: "DELETE".into(),
            path: "/v2.0/ports/abc".into(),
            status,
            message: message.into(),
            kind: None,
            request_id: Some("req-1".into()),
            retry_after: None,
        }))
    }

    #[test]
    fn transient_errors_are_tried_again() {
        for status in [429, 502, 503, 504] {
            assert!(api(status, "").is_transient(), "{status}");
        }
        for status in [400, 401, 403, 404, 409, 500] {
            assert!(!api(status, "").is_transient(), "{status}");
        }
        assert!(api(500, "The backend server is unreachable").is_transient());
        let behind =
            "Unexpected API Error. <class 'keystoneauth1.exceptions.connection.ConnectFailure'>";
        assert!(api(500, behind).is_transient());
        let refused = Error::Connection {
            service: Service::Compute,
            method: "GET".into(),
            path: "/".into(),
            wire: Wire::Refused,
            why: String::new(),
            request_id: "req-1".into(),
        };
        assert!(refused.is_transient());
    }

    #[test]
    fn a_request_without_a_response_may_still_be_carried_out() {
        let api = |method: &str, status: u16| match api(status, "") {
            Error::Api(error) => Error::Api(Box::new(ApiError {
                method: method.into(),
                ..*error
            })),
            other => other,
        };
        let cut = |method: &str, wire: Wire| Error::Connection {
            service: Service::Network,
            method: method.into(),
            path: "/".into(),
            wire,
            why: String::new(),
            request_id: "req-1".into(),
        };
        for open in [
            api("POST", 500),
            api("POST", 504),
            cut("POST", Wire::Timeout),
            cut("PUT", Wire::Reset),
        ] {
            assert!(open.may_still_commit(), "{open}");
        }
        for certain in [
            api("POST", 400),
            api("POST", 409),
            api("POST", 429),
            api("GET", 504),
            cut("POST", Wire::Refused),
            cut("GET", Wire::Timeout),
        ] {
            assert!(!certain.may_still_commit(), "{certain}");
        }
    }

    #[test]
    fn an_error_shows_the_request_and_the_response() {
        assert_eq!(
            api(409, "Port in use").to_string(),
            "network service: DELETE /v2.0/ports/abc was answered with 409: Port in use (request req-1)"
        );
    }
}
