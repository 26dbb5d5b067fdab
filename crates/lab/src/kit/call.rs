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

/// The part of the cloud that a call needs.
pub trait Tokens: Send + Sync + Clone + 'static {
    /// The valid token with this text.
    fn token(&self, text: &str) -> Option<Token>;
}

/// A call of an API. This extractor never fails: handlers request a token or a member, so that each service keeps its
/// own order of checks.
#[derive(Debug, Clone)]
pub struct Call<A> {
    /// The running cloud.
    pub app: A,
    /// The query string, in order, with repeats.
    pub query: Vec<(String, String)>,
    /// The URL of the lab from the request's `Host` header. Links in responses begin with it.
    pub base: String,
    /// The microversion of the request, or the oldest one if the request has none.
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

    /// The caller and the token's project, or 401 or 403. A project in the path must be the token's project, else 400.
    pub fn member(&self) -> Result<Member, Refusal> {
        let token = self.token()?;
        let project_id = token.project_id.clone().ok_or_else(|| {
            Refusal::forbidden("Policy doesn't allow this without a project scope.")
        })?;
        let tenant = self.parts.get(PATH_PROJECT);
        if tenant.is_some_and(|tenant| *tenant != project_id) {
            return Err(Refusal::bad_request("Malformed request url"));
        }
        Ok(Member {
            project_id,
            user_id: token.user_id.clone(),
            admin: token.is_admin(),
        })
    }

    /// A path parameter, or an empty string if the route has none of this name.
    pub fn part(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    /// The parameter `id` of the path.
    pub fn id(&self) -> &str {
        self.part("id")
    }

    /// The query string, or nothing before the microversion that introduced it for this call.
    pub fn query_since(&self, version: Microversion) -> &[(String, String)] {
        if self.version >= version {
            &self.query
        } else {
            &[]
        }
    }

    /// The first value of a name in the query string.
    pub fn query_value(&self, name: &str) -> Option<&str> {
        query::value(&self.query, name)
    }
}

/// The path parameter with the caller's project in Cinder's URLs.
pub const PATH_PROJECT: &str = "tenant";

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

/// The id of a request. Every response contains it, and some services store it.
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
