//! A cloud with only Keystone, and users with each role.
//!
//! | user | password | project | role |
//! | --- | --- | --- | --- |
//! | `demo` | `demo` | `demo` | `member` |
//! | `ada` | `ada` | `demo` | `reader` |
//! | `other` | `other` | `other` | `member` |
//! | `max` | `max` and the code `123456` | `demo` | `member` |
//! | `eve` | `eve` | `demo` | `reader`; her tokens end [`BRIEF`] after their making |

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Long enough to log in and open a socket.
pub const BRIEF: Duration = Duration::from_secs(5);

const PEOPLE: [(&str, &str, &str); 5] = [
    ("demo", "demo", "member"),
    ("ada", "demo", "reader"),
    ("other", "other", "member"),
    ("max", "demo", "member"),
    ("eve", "demo", "reader"),
];

/// Number of token validations, of revocations, and of attempts with a password.
#[derive(Clone, Default)]
pub struct CallCounts {
    checked: Arc<AtomicUsize>,
    revoked: Arc<AtomicUsize>,
    attempts: Arc<AtomicUsize>,
}

impl CallCounts {
    pub fn times(&self) -> usize {
        self.checked.load(Ordering::SeqCst)
    }

    pub fn attempts(&self) -> usize {
        self.attempts.load(Ordering::SeqCst)
    }

    pub fn revocations(&self) -> usize {
        self.revoked.load(Ordering::SeqCst)
    }
}

/// Starts the cloud. Returns its address, without the version.
pub async fn start() -> (String, CallCounts) {
    let calls = CallCounts::default();
    let router = Router::new()
        .route("/v3/auth/tokens", get(check).post(login).delete(revoke))
        .route("/v3/auth/projects", get(projects))
        .with_state(calls.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, router).into_future());
    (address, calls)
}

/// The token of a user and project: `token-of-demo-in-demo`.
pub fn token(user: &str, project: &str) -> String {
    format!("token-of-{user}-in-{project}")
}

async fn login(State(calls): State<CallCounts>, Json(request): Json<Value>) -> Response {
    let identity = &request["auth"]["identity"];
    let scope = &request["auth"]["scope"];
    let project = scope["project"]["name"].as_str();
    if let Some(proof) = identity["token"]["id"].as_str() {
        let mut people = PEOPLE.iter();
        let known = people.find(|(person, ..)| token(person, "nothing") == proof);
        return match known {
            Some((person, home, role)) if project == Some(home) => {
                answer(person, Some(home), role, StatusCode::CREATED)
            }
            _ => refused(),
        };
    }
    calls.attempts.fetch_add(1, Ordering::SeqCst);
    let user = &identity["password"]["user"];
    let (name, password) = (
        user["name"].as_str().unwrap_or_default(),
        user["password"].as_str().unwrap_or_default(),
    );
    match PEOPLE.iter().find(|(person, ..)| *person == name) {
        Some((person, ..)) if *person != password => refused(),
        Some(("max", ..)) if request["auth"]["identity"]["methods"] == json!(["password"]) => {
            let body = json!({"receipt": {"methods": ["password"]}, "required_auth_methods": [["password", "totp"]]});
            let receipt = [("openstack-auth-receipt", "gAAA")];
            (StatusCode::UNAUTHORIZED, receipt, Json(body)).into_response()
        }
        Some(("max", ..))
            if request["auth"]["identity"]["totp"]["user"]["passcode"] != "123456" =>
        {
            refused()
        }
        Some((person, home, role)) if project == Some(home) => {
            answer(person, Some(home), role, StatusCode::CREATED)
        }
        Some((person, ..)) if scope == "unscoped" => {
            answer(person, None, "none", StatusCode::CREATED)
        }
        _ => refused(),
    }
}

async fn check(State(calls): State<CallCounts>, headers: HeaderMap) -> Response {
    calls.checked.fetch_add(1, Ordering::SeqCst);
    let subject = headers
        .get("x-subject-token")
        .and_then(|token| token.to_str().ok())
        .unwrap_or_default();
    match PEOPLE
        .iter()
        .find(|(person, home, _)| token(person, home) == subject)
    {
        Some((person, home, role)) => answer(person, Some(home), role, StatusCode::OK),
        None => refused(),
    }
}

async fn revoke(State(calls): State<CallCounts>) -> StatusCode {
    calls.revoked.fetch_add(1, Ordering::SeqCst);
    StatusCode::NO_CONTENT
}

async fn projects() -> Json<Value> {
    Json(json!({"projects": [{"id": id("demo"), "name": "demo", "domain_id": "default"}]}))
}

fn answer(user: &str, project: Option<&str>, role: &str, status: StatusCode) -> Response {
    let domain = json!({"id": "default", "name": "Default"});
    let ends = match (user, status) {
        ("eve", StatusCode::CREATED) => (jiff::Timestamp::now() + BRIEF).to_string(),
        _ => "2999-01-01T00:00:00.000000Z".to_owned(),
    };
    let body = json!({"token": {
        "methods": ["password"],
        "user": {"id": format!("{user}-id"), "name": user, "domain": domain},
        "project": project.map(|name| json!({"id": id(name), "name": name, "domain": domain})),
        "roles": [{"id": role, "name": role}],
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "expires_at": ends,
        "catalog": [],
    }});
    (
        status,
        [("x-subject-token", token(user, project.unwrap_or("nothing")))],
        Json(body),
    )
        .into_response()
}

fn refused() -> Response {
    let message = "The request you have made requires authentication.";
    let body = json!({"error": {"code": 401, "title": "Unauthorized", "message": message}});
    (StatusCode::UNAUTHORIZED, Json(body)).into_response()
}

fn id(project: &str) -> String {
    format!("{project}-project-id")
}
