//! A call: the parts of a request that handlers of all services need.

use std::collections::HashMap;
use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::kit::microversion::Microversion;
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::kit::token::{Member, Token};

/// The cloud, as far as a call needs it.
pub trait Tokens: Send + Sync + Clone + 'static {
    /// The valid token with this text.
    fn token(&self, text: &str) -> Option<Token>;
}

/// A call of an API. It is an extractor that never fails: handlers ask for a token or a member, so that each service refuses in
/// its own order.
#[derive(Debug, Clone)]
pub struct Call<A> {
    /// The running cloud.
    pub app: A,
    /// The query string, in order, with repeats.
    pub query: Vec<(String, String)>,
    /// The URL at which the client found the lab. Links in answers begin with it.
    pub base: String,
    /// The microversion of the request; the oldest one where the client names none.
    pub version: Microversion,
    /// The id of the request.
    pub request_id: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The path.
    pub path: String,
    token: Option<Token>,
    parts: HashMap<String, String>,
}

impl<A> Call<A> {
    /// The caller's token, or 401.
    pub fn token(&self) -> Result<&Token, Refusal> {
        self.token.as_ref().ok_or_else(Refusal::unauthorized)
    }

    /// The caller and the token's project, or 401 or 403. A project in the path has to be the token's.
    pub fn member(&self) -> Result<Member, Refusal> {
        let token = self.token()?;
        let project_id = token.project_id.clone().ok_or_else(|| {
            Refusal::forbidden("Policy doesn't allow this without a project scope.")
        })?;
        let tenant = self.parts.get(TENANT);
        if tenant.is_some_and(|tenant| *tenant != project_id) {
            return Err(Refusal::bad_request("Malformed request url"));
        }
        Ok(Member {
            project_id,
            user_id: token.user_id.clone(),
            admin: token.is_admin(),
        })
    }

    /// A parameter of the path; empty where the route has none of this name.
    pub fn part(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    /// The parameter `id` of the path.
    pub fn id(&self) -> &str {
        self.part("id")
    }

    /// The query string, for calls that have had one since this microversion.
    pub fn query_since(&self, version: Microversion) -> &[(String, String)] {
        if self.version >= version {
            &self.query
        } else {
            &[]
        }
    }

    /// The first value of a name in the query string.
    pub fn asked(&self, name: &str) -> Option<&str> {
        query::value(&self.query, name)
    }
}

/// The path parameter for the caller's own project, which Cinder has in its URLs.
pub const TENANT: &str = "tenant";

impl<A: Tokens> FromRequestParts<A> for Call<A> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &A) -> Result<Self, Infallible> {
        let Ok(version) = Microversion::from_request_parts(parts, app).await;
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, app).await;
        let query = query::Query::from_request_parts(parts, app).await;
        let text = parts.headers.get("x-auth-token");
        let text = text.and_then(|value| value.to_str().ok());
        Ok(Self {
            app: app.clone(),
            query: query.map(|Query(query)| query).unwrap_or_default(),
            base: base_url(&parts.headers),
            version,
            request_id: RequestId::of(parts),
            path: parts.uri.path().to_owned(),
            token: app.token(text.unwrap_or_default()),
            parts: path.map(|Path(path)| path).unwrap_or_default(),
            headers: parts.headers.clone(),
        })
    }
}

/// The id of a request, which its answer bears and which some services store.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

impl RequestId {
    fn of(parts: &Parts) -> String {
        let found = parts.extensions.get::<Self>();
        found.map(|id| id.0.clone()).unwrap_or_default()
    }
}

fn base_url(headers: &HeaderMap) -> String {
    let host = headers
        .get(header::HOST)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("127.0.0.1");
    format!("http://{host}")
}
