//! The error type of all requests.
//!
//! A route returns [`Error`]. It is converted to RFC 9457 problem details and logged only here, once. The cause is for
//! the log and is never sent. The detail and the hint are for the user and never contain a secret.

use std::{any::Any, error::Error as StdError, fmt, time::Duration};

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::codes::{self, Code};

/// Time after which a request that the server could not take can be repeated.
const BUSY_FOR: Duration = Duration::from_secs(5);

/// The result of a route.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The code of a problem, as an extension of its response.
#[derive(Clone, Debug)]
pub struct ProblemCode(pub String);

/// A problem for the client.
#[derive(Debug)]
pub struct Error {
    problem: Box<api::Problem>,
    cause: Option<String>,
    retry_after: Option<Duration>,
}

impl Error {
    /// A problem with a code of the server. `detail` is the failed operation, its object and the reason.
    pub fn new(code: Code, detail: impl Into<String>) -> Error {
        Error::of(code.name, code.title, code.status, detail)
    }

    /// A problem with a code of another crate.
    pub fn of(code: &str, title: &str, status: StatusCode, detail: impl Into<String>) -> Error {
        Error {
            problem: Box::new(api::Problem {
                kind: format!("/errors/{code}"),
                title: title.to_owned(),
                status: status.as_u16(),
                code: code.to_owned(),
                detail: detail.into(),
                ..Default::default()
            }),
            cause: None,
            retry_after: None,
        }
    }

    /// The object does not exist or belongs to another project. Both get the same response.
    pub fn not_found(what: &str, id: &str) -> Error {
        Error::new(codes::NOT_FOUND, format!("This project has no {what} `{id}`."))
            .hint("It may have been removed, or belong to another project. Check the project that you are logged in to.")
    }

    /// A failure of the server itself. The cause is logged. The response shows that the request was not the reason.
    pub fn internal(doing: &str, cause: impl fmt::Display) -> Error {
        Error::new(codes::INTERNAL_ERROR, format!("The server failed while {doing}."))
            .hint("Try again. If the error stays, send the server's operator the `x-request-id` of this response. The log has the cause.")
            .caused_by(cause)
    }

    /// The database was not available for the session of a request. The cause is logged.
    pub fn session_unavailable(doing: &str, cause: impl fmt::Display) -> Error {
        let detail = format!("The database is not available for {doing}.");
        Error::new(codes::DATABASE_UNAVAILABLE, detail)
            .hint("Try again in a few seconds. Your login stays valid.")
            .retry_after(BUSY_FOR)
            .caused_by(cause)
    }

    /// The cloud's error, with its own message if it has one.
    pub fn from_cloud(error: &openstack::Error) -> Error {
        if error.is_unauthorized() {
            return Error::new(
                codes::NOT_SIGNED_IN,
                "The cloud no longer accepts this session's token.",
            )
            .hint("Log in again.")
            .caused_by(chain(error));
        }
        if let openstack::Error::NotPermitted(_) = error {
            let why = "this server has no lease at the moment, because its database did not answer in time";
            return engine::Error::Unavailable(why.into()).into();
        }
        let code = match error {
            openstack::Error::WrongCredentials { .. } => codes::WRONG_CREDENTIALS,
            openstack::Error::SecondFactor { .. } => codes::SECOND_FACTOR_NEEDED,
            openstack::Error::UnknownProject { .. } => codes::UNKNOWN_PROJECT,
            openstack::Error::UnknownRegion { .. } => codes::UNKNOWN_REGION,
            openstack::Error::Unreachable { .. }
            | openstack::Error::Untrusted { .. }
            | openstack::Error::NotOpenStack { .. }
            | openstack::Error::Connection { .. } => codes::CLOUD_UNREACHABLE,
            _ => codes::CLOUD_ERROR,
        };
        Error::new(code, sentence(&error.to_string())).caused_by(chain(error))
    }

    /// An error of a cloud for a client that is not logged in: nothing about addresses and certificates inside. The log has the
    /// cause.
    pub fn from_login(error: &openstack::Error) -> Error {
        let detail = match error {
            openstack::Error::Unreachable { cloud, .. } => {
                format!("Cloud `{cloud}` cannot be reached from this server.")
            }
            openstack::Error::Untrusted { cloud, .. } => {
                format!("Cloud `{cloud}` has a certificate that this server does not trust.")
            }
            openstack::Error::NotOpenStack { cloud, .. } => {
                format!("The service at the address of cloud `{cloud}` is not OpenStack.")
            }
            _ => return Error::from_cloud(error),
        };
        Error::new(codes::CLOUD_UNREACHABLE, detail)
            .hint("Try again later, or ask the server's operator. The server's log has the cause.")
            .caused_by(chain(error))
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The code.
    pub fn code(&self) -> String {
        self.problem.code.clone()
    }

    /// Detail and hint, for clients that do not get the response.
    pub fn sentences(&self) -> String {
        let hint = self.problem.hint.iter().map(String::as_str);
        let parts: Vec<&str> = [self.problem.detail.as_str()]
            .into_iter()
            .chain(hint)
            .collect();
        parts.join(" ")
    }

    /// True if the problem has this code.
    pub fn is(&self, code: Code) -> bool {
        self.problem.code == code.name
    }

    /// Adds the next step for the user.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.problem.hint = Some(hint.into());
        self
    }

    /// Adds the time after which the same request can be repeated.
    pub fn retry_after(mut self, wait: Duration) -> Error {
        self.retry_after = Some(wait);
        self
    }

    /// Adds the path of the invalid field.
    pub fn path(mut self, path: impl Into<String>) -> Error {
        self.problem.path = Some(path.into());
        self
    }

    /// Adds all problems of a refused template. The position of the first error becomes the problem's.
    pub fn diagnostics(mut self, diagnostics: Vec<api::Diagnostic>) -> Error {
        if let Some(first) = diagnostics
            .iter()
            .find(|d| d.severity == api::Severity::Error)
        {
            self.problem.path = Some(first.path.clone()).filter(|path| !path.is_empty());
            self.problem.line = first.line;
        }
        self.problem.diagnostics = diagnostics;
        self
    }

    /// The problem details for the response.
    #[cfg(test)]
    pub fn into_problem(self) -> api::Problem {
        *self.problem
    }

    /// Adds the cause, for the log only.
    pub fn caused_by(mut self, cause: impl fmt::Display) -> Error {
        self.cause = Some(cause.to_string());
        self
    }
}

/// The response to a request whose handler has panicked.
pub fn of_panic(panic: Box<dyn Any + Send>) -> Response {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panic");
    Error::internal("answering this request", what).into_response()
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let Error {
            problem,
            cause,
            retry_after,
        } = self;
        let status =
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let cause = cause.unwrap_or_default();
        if status.is_server_error() {
            tracing::error!(code = problem.code, cause, "{}", problem.detail);
        } else {
            tracing::debug!(code = problem.code, cause, "{}", problem.detail);
        }
        let code = ProblemCode(problem.code.clone());
        let mut response = (status, Json(problem)).into_response();
        response.extensions_mut().insert(code);
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(wait) = retry_after {
            let seconds = wait.as_secs_f64().ceil() as u64;
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// The engine's messages are meant for users.
impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Error {
        let hint = error.hint();
        let status =
            StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let title = match &error {
            engine::Error::NotFound { what, id } => return Error::not_found(what, id),
            engine::Error::Cloud(cause) => return Error::from_cloud(cause),
            engine::Error::NameTaken(_) => "Name taken",
            engine::Error::BadName(_) => "Invalid name",
            engine::Error::Refused(_) => "Template refused",
            engine::Error::QuotaExceeded(_) => "Quota exceeded",
            engine::Error::Busy(_) => "A run is in progress",
            engine::Error::NotPossibleNow(_) | engine::Error::Lost(_) => "Not possible now",
            engine::Error::NoVault => "No place for secrets",
            engine::Error::ItemRefused(_) => "Item refused",
            engine::Error::RepositoryRefused(_) => "Repository refused",
            engine::Error::ItemNameTaken(_) => "Name taken",
            engine::Error::ItemVersionTaken { .. } => "Version taken",
            engine::Error::TooManyVersions { .. } | engine::Error::CatalogFull(_) => {
                "Catalogue full"
            }
            engine::Error::ItemOwned { .. } => "Item of another owner",
            engine::Error::ProjectFull { .. } => "Project full",
            engine::Error::Changed { .. } => "Deployment changed",
            engine::Error::PlanChanged => "Plan changed",
            engine::Error::GroupSize { .. } => "Group size out of range",
            engine::Error::Cooldown { .. } => "Scaled a short time ago",
            engine::Error::SignalRefused => "Signal refused",
            engine::Error::SignalInvalid(_) => "Invalid signal",
            engine::Error::NotPermitted(_) => "Not permitted",
            engine::Error::Unavailable(_) => "Engine unavailable",
            engine::Error::DiskAlmostFull => "Disk almost full",
            engine::Error::ProjectComputes => "Too many templates at once",
            engine::Error::ServerComputes => "Server busy",
            engine::Error::ComputesTooLong(_) => "Takes too long",
            engine::Error::ComputationBroke => "Internal error",
            engine::Error::CommandInvalid(_) => "Command refused",
            engine::Error::Storage(error) if error.is_transient() => "Database unavailable",
            engine::Error::Storage(_) => "Database failed",
        };
        let mut problem = Error::of(error.code(), title, status, sentence(&error.to_string()));
        if let Some(hint) = hint {
            problem = problem.hint(hint);
        }
        if status.is_server_error() {
            problem = problem.caused_by(chain(&error));
        }
        if matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            problem = problem.retry_after(BUSY_FOR);
        }
        match error {
            engine::Error::Refused(diagnostics)
            | engine::Error::QuotaExceeded(diagnostics)
            | engine::Error::ItemRefused(diagnostics) => problem.diagnostics(diagnostics),
            engine::Error::ItemNameTaken(_) => problem.path("item.yml.name"),
            engine::Error::ItemVersionTaken { .. } => problem.path("item.yml.version"),
            engine::Error::BadName(_) | engine::Error::NameTaken(_) => problem.path("name"),
            _ => problem,
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Error {
        Error::from(engine::Error::Storage(error))
    }
}

/// The text with a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut chars = text.trim().chars();
    let mut sentence: String = chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>())
        .unwrap_or_default();
    sentence.push_str(chars.as_str());
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

/// An error with its chain of sources, on one line.
pub fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use openstack::Certificate;

    use super::*;

    #[test]
    fn errors_before_a_login_show_nothing_of_the_inside() {
        const INSIDE: &str = "10.20.30.40";
        let (cloud, url) = ("lab".to_owned(), format!("https://{INSIDE}:5000/v3"));
        let why = format!("certificate of CN=keystone.internal at {INSIDE}");
        let errors = [
            openstack::Error::Unreachable {
                cloud: cloud.clone(),
                url: url.clone(),
                why: why.clone(),
            },
            openstack::Error::Untrusted {
                cloud: cloud.clone(),
                url: url.clone(),
                side: Certificate::Server,
                why: why.clone(),
            },
            openstack::Error::NotOpenStack { cloud, url, why },
        ];
        for error in errors {
            let inside = Error::from_cloud(&error).sentences();
            assert!(
                inside.contains(INSIDE),
                "it is there to be hidden: {inside}"
            );
            let shown = Error::from_login(&error);
            let cause = shown.cause.clone().unwrap_or_default();
            assert!(cause.contains(INSIDE), "the log has it: {cause}");
            let shown = serde_json::to_string(&shown.into_problem()).unwrap();
            assert!(
                !shown.contains(INSIDE) && !shown.contains("keystone.internal"),
                "{shown}"
            );
            assert!(shown.contains("`lab`"), "{shown}");
        }
    }
}
