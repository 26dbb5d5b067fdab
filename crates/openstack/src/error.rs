//! What can go wrong between us and a cloud, with all that the engine's rules and a person need.
//!
//! Each service words a refusal in its own JSON (or HTML); [`ApiError`] keeps what it said, so that
//! nobody above has to know the differences. Texts say what was tried, on what, what came back and
//! what to do next.

use std::time::Duration;

use serde_json::Value;

use crate::{ConfigError, LoginMethod, Secret, Service};

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

/// Whose certificate is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// The cloud's, by us.
    Theirs,
    /// Ours, by the cloud; or we have shown none.
    Ours,
}

/// A refusal, as the service worded it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{service} service: {method} {path} was answered with {status}: {message}{}",
    with_request_id(request_id)
)]
pub struct ApiError {
    /// Which service.
    pub service: Service,
    /// HTTP method.
    pub method: String,
    /// Path, without query.
    pub path: String,
    /// HTTP status.
    pub status: u16,
    /// The service's own words, or the status' meaning where it had none.
    pub message: String,
    /// The service's name for the error: `SecurityGroupInUse`, `itemNotFound`.
    pub kind: Option<String>,
    /// To find the call in the cloud's logs.
    pub request_id: Option<String>,
    /// How long the service asks us to wait.
    pub retry_after: Option<Duration>,
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

fn list_projects(accessible: &[String]) -> String {
    match accessible {
        [] => String::new(),
        names => format!("; you can use {}", names.join(", ")),
    }
}

fn list_regions(known: &[String]) -> String {
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn credentials(method: LoginMethod) -> &'static str {
    match method {
        LoginMethod::Password => "these credentials",
        LoginMethod::ApplicationCredential => "this application credential",
        LoginMethod::Token => "this token",
    }
}

fn credentials_hint(method: LoginMethod) -> &'static str {
    match method {
        LoginMethod::Password => "Check user, password and domain",
        LoginMethod::ApplicationCredential => {
            "Check its id and secret, and whether it has expired or was deleted"
        }
        LoginMethod::Token => {
            "It has expired or was revoked, or another cloud issued it: get a new one"
        }
    }
}

fn certificate_hint(whose: Certificate) -> &'static str {
    match whose {
        Certificate::Theirs => {
            "Give the authority that signed the cloud's certificate as `cacert` in clouds.yaml, or check that the address has the name that stands in the certificate"
        }
        Certificate::Ours => {
            "The cloud wants to know who calls: give a certificate that it trusts as `cert` and its key as `key` in clouds.yaml"
        }
    }
}

fn in_region(region: &Option<String>) -> String {
    region
        .as_ref()
        .map(|region| format!(" in region `{region}`"))
        .unwrap_or_default()
}

fn with_request_id(id: &Option<String>) -> String {
    id.as_ref()
        .map(|id| format!(" (request {id})"))
        .unwrap_or_default()
}

/// The service's words in the body of a refusal: (message, name of the error).
///
/// Keystone `{"error": {"message"}}`, Nova and Cinder `{"itemNotFound": {"message"}}`, Neutron
/// `{"NeutronError": {"type", "message"}}`, Barbican `{"title", "description"}`, Placement
/// `{"errors": [{"detail"}]}`, Octavia `{"faultstring"}`, Glance and load balancers HTML.
pub(crate) fn words(body: &[u8], status: u16) -> (String, Option<String>) {
    let text = String::from_utf8_lossy(body);
    let found = match serde_json::from_slice::<Value>(body) {
        Ok(json) => words_of_json(&json),
        Err(_) => Some((words_of_text(&text), None)),
    };
    let (message, kind) = found.unwrap_or_default();
    let message = message.trim().trim_end_matches('.').to_string();
    if message.is_empty() {
        (meaning(status).to_string(), kind)
    } else {
        (shorten(&message), kind)
    }
}

fn words_of_json(json: &Value) -> Option<(String, Option<String>)> {
    let object = json.as_object()?;
    const FLAT: [&str; 6] = [
        "message",
        "description",
        "detail",
        "faultstring",
        "error_msg",
        "error_message",
    ];
    let say = |map: &serde_json::Map<String, Value>| {
        FLAT.iter()
            .find_map(|key| {
                map.get(*key)
                    .and_then(Value::as_str)
                    .filter(|text| !text.is_empty())
            })
            .map(str::to_string)
    };
    if let Some(message) = say(object) {
        let kind = ["title", "faultcode", "error_code", "code"]
            .iter()
            .find_map(|key| object.get(*key)?.as_str())
            .map(str::to_string);
        return Some((message, kind));
    }
    if let Some(first) = object
        .get("errors")
        .and_then(Value::as_array)
        .and_then(|all| all.first())
    {
        let first = first.as_object()?;
        let kind = first
            .get("title")
            .and_then(Value::as_str)
            .map(str::to_string);
        return Some((say(first)?, kind));
    }
    let (key, inner) = object.iter().next()?;
    match inner {
        Value::String(text) => Some((text.clone(), Some(key.clone()))),
        Value::Object(inner) => {
            let kind = ["type", "title"]
                .iter()
                .find_map(|key| inner.get(*key)?.as_str())
                .map_or_else(|| key.clone(), str::to_string);
            Some((say(inner).unwrap_or_default(), Some(kind)))
        }
        _ => None,
    }
}

/// The text of a page without its markup, title and repeated heading.
fn words_of_text(text: &str) -> String {
    let body = match (text.find("<body"), text.find("</head>")) {
        (Some(start), _) => text[start..].split_once('>').map_or("", |(_, rest)| rest),
        (None, Some(end)) => &text[end..],
        (None, None) => text,
    };
    match (body.find("<h1>"), body.find("</h1>")) {
        (Some(start), Some(end)) if start < end => {
            let after = plain(&body[end..]);
            if after.is_empty() {
                plain(&body[start..end])
            } else {
                after
            }
        }
        _ => plain(body),
    }
}

fn plain(markup: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in markup.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                text.push(' ');
            }
            _ if !inside => text.push(c),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Enough for a person; a page of HTML is not.
fn shorten(message: &str) -> String {
    const CHARACTERS: usize = 500;
    match message.char_indices().nth(CHARACTERS) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_string(),
    }
}

fn meaning(status: u16) -> &'static str {
    match status {
        300..=399 => "it wants to send us elsewhere, which we refuse",
        400 => "the request is not valid",
        401 => "the token is not valid any more",
        403 => "your roles do not allow it",
        404 => "it does not exist",
        405 => "this cannot be done here",
        409 => "it is in conflict with something that exists",
        413 => "a quota or size limit is exceeded",
        429 => "too many calls",
        500 => "internal error of the service",
        502..=504 => "the service is not available",
        _ => "no reason given",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, message: &str, kind: Option<&str>) {
        let (found, found_kind) = words(body.as_bytes(), 404);
        assert_eq!(found, message, "{body}");
        assert_eq!(found_kind.as_deref(), kind, "{body}");
    }

    #[test]
    fn refused_credentials_are_told_by_their_kind() {
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

    #[test]
    fn every_service_is_understood() {
        check(
            r#"{"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}"#,
            "The request you have made requires authentication",
            Some("Unauthorized"),
        );
        check(
            r#"{"itemNotFound": {"code": 404, "message": "Instance abc could not be found."}}"#,
            "Instance abc could not be found",
            Some("itemNotFound"),
        );
        check(
            r#"{"NeutronError": {"type": "SecurityGroupInUse", "message": "Security Group abc in use.", "detail": ""}}"#,
            "Security Group abc in use",
            Some("SecurityGroupInUse"),
        );
        check(
            r#"{"code": 404, "title": "Not Found", "description": "Secret not found."}"#,
            "Secret not found",
            Some("Not Found"),
        );
        check(
            r#"{"errors": [{"status": 404, "title": "Not Found", "detail": "No resource provider"}]}"#,
            "No resource provider",
            Some("Not Found"),
        );
        check(
            "<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1>No image found with ID x<br /><br /></body></html>",
            "No image found with ID x",
            None,
        );
        check(
            r#"{"error_code": "APIGW.0301", "error_msg": "Incorrect IAM authentication information"}"#,
            "Incorrect IAM authentication information",
            Some("APIGW.0301"),
        );
        check("", "it does not exist", None);
        check("{}", "it does not exist", None);
        check("[1, 2]", "it does not exist", None);
    }

    #[test]
    fn a_page_of_a_load_balancer_is_shortened_to_its_words() {
        let (message, _) = words(
            b"<html><body><h1>503 Service Unavailable</h1>\n</body></html>",
            503,
        );
        assert_eq!(message, "503 Service Unavailable");
        let (long, _) = words("x".repeat(10_000).as_bytes(), 500);
        assert!(long.chars().count() <= 501);
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
    fn what_is_worth_another_try() {
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
    fn what_was_not_answered_may_still_be_carried_out() {
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
    fn the_text_says_what_was_tried_and_what_came_back() {
        assert_eq!(
            api(409, "Port in use").to_string(),
            "network service: DELETE /v2.0/ports/abc was answered with 409: Port in use (request req-1)"
        );
    }
}
