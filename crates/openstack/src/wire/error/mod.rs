//! Errors of calls and logins, with all inputs of the engine's retry rules and a message for the user.
//!
//! A message contains the action, its target, the cause and a remedy.

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
pub(super) use refusal::parse_message;

/// Cause of a failed call, login or look-up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Login: Keystone refuses the user, password, passcode, application credential or token.
    #[error("cloud `{cloud}` does not accept {}: {message}. {}", credentials(*method), credentials_hint(*method))]
    WrongCredentials {
        /// The cloud's name in the configuration.
        cloud: String,
        /// Login method of the credentials.
        method: LoginMethod,
        /// Message of Keystone.
        message: String,
        /// Request id of Keystone.
        request_id: Option<String>,
    },
    /// Login: the password is correct, and the cloud requires a one-time code as well.
    #[error(
        "cloud `{cloud}` wants a second factor of this user: give the code that the authenticator shows now"
    )]
    SecondFactor {
        /// The cloud's name in the configuration.
        cloud: String,
        /// Alternatives, each with its missing methods: `[["totp"]]`.
        missing: Vec<Vec<String>>,
        /// Receipt for the accepted password, valid for some minutes: see
        /// [`Credentials::Passcode`](crate::Credentials::Passcode).
        receipt: Secret,
        /// Request id of Keystone.
        request_id: Option<String>,
    },
    /// Login: the credentials are correct, but the project does not exist or the user has no role in it.
    #[error(
        "project `{project}` is not known in cloud `{cloud}`, or you have no role in it{}",
        list_projects(accessible)
    )]
    UnknownProject {
        /// The cloud's name in the configuration.
        cloud: String,
        /// Project name, as given.
        project: String,
        /// Names of the user's accessible projects; empty if Keystone does not list them.
        accessible: Vec<String>,
    },
    /// Login: no response from the cloud's URL.
    #[error(
        "cloud `{cloud}` cannot be reached at {url}: {why}. Check the address, the network and whether the cloud is up"
    )]
    Unreachable {
        /// The cloud's name in the configuration.
        cloud: String,
        /// URL of the call.
        url: String,
        /// Error of the network.
        why: String,
    },
    /// Login: one side refuses the other's certificate. A retry does not help.
    #[error(
        "cloud `{cloud}` cannot be talked to at {url}, because certificates do not fit: {why}. {}",
        certificate_hint(*side)
    )]
    Untrusted {
        /// The cloud's name in the configuration.
        cloud: String,
        /// URL of the call.
        url: String,
        /// Side with the refused certificate.
        side: Certificate,
        /// Error of the TLS library.
        why: String,
    },
    /// Login: the server at the URL is not Keystone.
    #[error(
        "cloud `{cloud}` does not answer like an OpenStack identity service at {url}: {why}. Check `auth_url`"
    )]
    NotOpenStack {
        /// The cloud's name in the configuration.
        cloud: String,
        /// URL of the call.
        url: String,
        /// Unexpected part of the response.
        why: String,
    },
    /// Login: the credentials are correct, but the catalogue does not contain the configured region.
    #[error(
        "the catalogue of cloud `{cloud}` has no region `{region}`; it has {}. Correct `region_name` in clouds.yaml",
        list_regions(known)
    )]
    UnknownRegion {
        /// The cloud's name in the configuration.
        cloud: String,
        /// Region in the configuration.
        region: String,
        /// Regions of the catalogue; never empty.
        known: Vec<String>,
    },
    /// The catalogue has no endpoint of the service in this region on this interface.
    #[error(
        "cloud `{cloud}` offers no {service} service{}: ask its administrator, or check `region_name` and `interface`",
        in_region(region)
    )]
    NoService {
        /// The cloud's name in the configuration.
        cloud: String,
        /// The missing service.
        service: Service,
        /// Region of the search. `None` means any region.
        region: Option<String>,
    },
    /// A service responded with an error status.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// No response to a call.
    #[error("{method} {path} to the {service} service failed: {why} (request {request_id})")]
    Connection {
        /// Service of the call.
        service: Service,
        /// HTTP method.
        method: String,
        /// Path, without query.
        path: String,
        /// Type of the failure.
        wire: ConnectionFailure,
        /// Error of the network.
        why: String,
        /// Request id, for the cloud's logs if the call arrived.
        request_id: String,
    },
    /// The call was not sent, because the permission of its task has ended ([`crate::while_permitted`]).
    #[error(transparent)]
    NotPermitted(#[from] crate::NotPermitted),
    /// The response does not match the API.
    #[error(
        "the {service} service answered {method} {path} with something that we cannot read: {why} (request {request_id})"
    )]
    Malformed {
        /// Service of the call.
        service: Service,
        /// HTTP method.
        method: String,
        /// Path, without query.
        path: String,
        /// Unexpected part of the response.
        why: String,
        /// Request id, for the cloud's logs.
        request_id: String,
    },
    /// No resource has this name or id.
    #[error(
        "there is no {what} named `{name}` in this project; check the name, or choose one that the cloud has"
    )]
    Unknown {
        /// Resource type: `image`, `network` ...
        what: String,
        /// Name or id, as given.
        name: String,
    },
    /// Several resources have this name.
    #[error("{} {what}s are named `{name}` ({}); give the id of the one you mean", ids.len(), ids.join(", "))]
    Ambiguous {
        /// Resource type: `image`, `network` ...
        what: String,
        /// Name, as given.
        name: String,
        /// Ids of all resources with the name.
        ids: Vec<String>,
    },
    /// The configuration of the cloud is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Type of a connection failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionFailure {
    /// Connection refused.
    Refused,
    /// Connection closed during the call.
    Reset,
    /// Timeout.
    Timeout,
    /// Name resolution failed.
    Name,
    /// Certificates or encryption.
    Tls,
    /// Anything else.
    Other,
}

/// Messages of temporary failures of a backend: from a proxy, or from Nova and Cinder with status 500 while Neutron,
/// Keystone, the message broker or the database is down.
const BACKEND_FAILURES: [&str; 6] = [
    "backend server is unreachable",
    "keystoneauth1.exceptions.connection",
    "keystoneauth1.exceptions.discovery",
    "oslo_messaging.exceptions.MessagingTimeout",
    "oslo_db.exception.DBConnectionError",
    "Connection to neutron failed",
];

/// Messages of refusals by policy, in order: Keystone, Nova and Cinder, Neutron, Octavia, Glance, Barbican.
const POLICY: [&str; 6] = [
    "not authorized to perform the requested action",
    "Policy doesn't allow",
    "disallowed by policy",
    "Policy does not allow",
    "not authorized to complete",
    "not allowed - please review your user/project privileges",
];

impl Error {
    /// Whether the same call can succeed later without a change.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Api(error) => {
                matches!(error.status, 429 | 502 | 503 | 504)
                    || BACKEND_FAILURES
                        .iter()
                        .any(|sign| error.message.contains(sign))
            }
            Error::Connection { wire, .. } => {
                matches!(
                    wire,
                    ConnectionFailure::Refused
                        | ConnectionFailure::Reset
                        | ConnectionFailure::Timeout
                )
            }
            Error::Unreachable { .. } => true,
            _ => false,
        }
    }

    /// Whether the service can still execute a failed change: it was sent without a response, the response is
    /// unreadable, or the service failed internally.
    pub fn may_still_commit(&self) -> bool {
        let (method, is_open) = match self {
            Error::Api(error) => (&error.method, error.status >= 500 || error.status == 408),
            Error::Connection { method, wire, .. } => {
                let was_sent = matches!(
                    wire,
                    ConnectionFailure::Reset
                        | ConnectionFailure::Timeout
                        | ConnectionFailure::Other
                );
                (method, was_sent)
            }
            Error::Malformed { method, .. } => (method, true),
            _ => return false,
        };
        is_open && !matches!(method.as_str(), "GET" | "HEAD")
    }

    /// Whether the resource does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// Whether the resource exists already or is in use. For a moment after a server's deletion, its ports and groups
    /// still count as used, so a retry can help.
    pub fn is_conflict(&self) -> bool {
        self.status() == Some(409)
    }

    /// Whether the token is expired or revoked and a new login is needed.
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
    }

    /// Whether the user's roles do not allow the call. An exhausted quota has the same status, but another message.
    pub fn is_not_allowed(&self) -> bool {
        self.api().is_some_and(|error| {
            error.status == 403 && POLICY.iter().any(|sign| error.message.contains(sign))
        })
    }

    /// HTTP status of the refusal.
    pub fn status(&self) -> Option<u16> {
        self.api().map(|error| error.status)
    }

    /// Message of the service, if any.
    pub fn message(&self) -> Option<&str> {
        match self {
            Error::Api(error) => Some(&error.message),
            Error::WrongCredentials { message, .. } => Some(message),
            _ => None,
        }
    }

    /// Service of the call.
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
            Error::Unknown { .. }
            | Error::Ambiguous { .. }
            | Error::Config(_)
            | Error::NotPermitted(_) => None,
        }
    }

    /// Request id, for the cloud's logs.
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

    /// Pause requested by the service.
    pub fn retry_after(&self) -> Option<Duration> {
        self.api().and_then(|error| error.retry_after)
    }

    /// The refusal, if a service responded.
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
            wire: ConnectionFailure::Refused,
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
        let cut = |method: &str, wire: ConnectionFailure| Error::Connection {
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
            cut("POST", ConnectionFailure::Timeout),
            cut("PUT", ConnectionFailure::Reset),
        ] {
            assert!(open.may_still_commit(), "{open}");
        }
        for certain in [
            api("POST", 400),
            api("POST", 409),
            api("POST", 429),
            api("GET", 504),
            cut("POST", ConnectionFailure::Refused),
            cut("GET", ConnectionFailure::Timeout),
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
