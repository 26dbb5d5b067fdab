//! Keystone v3: issue, validation and revocation of tokens.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, json_answer, read_json};
use crate::kit::ids::micros;
use crate::kit::record::Attributes;
use crate::kit::refusal::Refusal;
use crate::kit::token::{AccessRule, Token};
use crate::services::identity::account::{Grant, ScopeRequest};
use crate::services::identity::catalog::catalog;
use crate::services::identity::second_factor::Receipt;
use crate::services::identity::{DOMAIN_ID, domain_reference, needed, text};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/identity/v3")
        .get("/auth/tokens", show_token)
        .post("/auth/tokens", create_token)
        .delete("/auth/tokens", delete_token)
}

/// A domain's id or name.
fn domain_of(value: &Value) -> Option<&str> {
    let domain = value.get("domain")?;
    text(domain, "id").or_else(|| text(domain, "name"))
}

async fn create_token(call: Call, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    let auth = needed(&body, "auth")?;
    let identity = needed(auth, "identity")?;
    let methods: Vec<String> = needed(identity, "methods")?
        .as_array()
        .and_then(|methods| {
            methods
                .iter()
                .map(|method| method.as_str().map(str::to_owned))
                .collect()
        })
        .ok_or_else(|| Refusal::bad_request("'methods' is not a list of strings"))?;
    let scope = read_scope(auth)?;
    let earlier = call
        .headers
        .get(RECEIPT)
        .and_then(|value| value.to_str().ok());
    let result = call.app.change(|model| -> Result<_, Refusal> {
        let mut login = log_in(model, identity, &methods)?;
        if let Some(earlier) = earlier {
            let earlier = model.identity.receipt(earlier, &login.user_id)?;
            login.methods.extend(earlier.iter().cloned());
        }
        if let Some((text, receipt)) = model.identity.receipt_if_incomplete(&login.user_id, &login.methods) {
            return Ok(LoginResult::Receipt(text, receipt_document(model, &receipt)));
        }
        let user = model
            .identity
            .users
            .get(&login.user_id)
            .ok_or_else(Refusal::unauthorized)?;
        let project_id = match (login.bound_to, &scope) {
            (Some(project), ScopeRequest::Default) => Some(project),
            (Some(_), _) => {
                return Err(Refusal::new(
                    401,
                    "Unauthorized",
                    "Error authenticating with application credential: Application credentials cannot request a scope.",
                ));
            }
            (None, scope) => model.identity.resolve_scope(user, scope)?,
        };
        let roles = match (login.roles, &project_id) {
            (Some(roles), _) => roles,
            (None, Some(project)) => model.identity.roles_of(&login.user_id, project),
            (None, None) => Vec::new(),
        };
        let (text, token) = model.identity.issue(Grant {
            user_id: login.user_id,
            project_id,
            roles,
            unrestricted: login.unrestricted,
            credential: login.credential,
            access_rules: login.access_rules,
            methods: login.methods,
            expires: login.expires,
        });
        let shown = token_document(model, &token, &call.base);
        Ok(LoginResult::Token(text, shown))
    })?;
    let (text, shown) = match result {
        LoginResult::Token(text, shown) => (text, shown),
        LoginResult::Receipt(text, shown) => {
            let mut response = json_answer(401, shown);
            let receipt = HeaderValue::try_from(text).map_err(|_| Refusal::unauthorized())?;
            response.headers_mut().insert(RECEIPT, receipt);
            return Ok(response);
        }
    };
    let mut response = json_answer(201, shown);
    let subject = HeaderValue::try_from(text).map_err(|_| Refusal::unauthorized())?;
    response.headers_mut().insert("x-subject-token", subject);
    response
        .headers_mut()
        .insert("vary", HeaderValue::from_static("X-Auth-Token"));
    Ok(response)
}

/// The header of a receipt, in requests and responses.
const RECEIPT: &str = "openstack-auth-receipt";

/// The result of a login: the text of a token or receipt, and its document.
enum LoginResult {
    Token(String, Value),
    /// A receipt: further methods are required.
    Receipt(String, Value),
}

/// A successful authentication.
struct Login {
    user_id: String,
    methods: Vec<String>,
    expires: Option<jiff::Timestamp>,
    bound_to: Option<String>,
    /// The roles of an application credential. `None` gives the token the user's roles.
    roles: Option<Vec<String>>,
    unrestricted: bool,
    /// The id of the application credential.
    credential: Option<String>,
    access_rules: Option<Vec<AccessRule>>,
}

fn log_in(model: &Model, identity: &Value, methods: &[String]) -> Result<Login, Refusal> {
    let mut login: Option<Login> = None;
    for method in methods {
        let given = needed(identity, method)?;
        let found = match method.as_str() {
            "password" | "totp" => {
                let user = needed(given, "user")?;
                let word = |name: &str| {
                    text(user, name).ok_or_else(|| {
                        Refusal::bad_request(format!("'{name}' is a required property"))
                    })
                };
                let (id, name) = (text(user, "id"), name_and_domain(user)?);
                let known = &model.identity;
                let user = if method == "password" {
                    known.check_password(id, name, word("password")?)?
                } else {
                    let code = word("passcode")?;
                    let user = known.find_user(id, name);
                    let user = user.ok_or_else(Refusal::unauthorized)?;
                    known.check_code(&user.id, code)?;
                    user
                };
                Login {
                    user_id: user.id.clone(),
                    methods: vec![method.clone()],
                    expires: None,
                    bound_to: None,
                    roles: None,
                    unrestricted: false,
                    credential: None,
                    access_rules: None,
                }
            }
            "token" => {
                let id = text(given, "id")
                    .ok_or_else(|| Refusal::bad_request("'id' is a required property"))?;
                let old = model.identity.token(id).ok_or_else(unknown_token)?;
                let mut methods = old.methods.clone();
                if !methods.contains(method) {
                    methods.push(method.clone());
                }
                // As in Keystone, a token from a token expires with the first one.
                Login {
                    user_id: old.user_id.clone(),
                    methods,
                    expires: Some(old.expires_at),
                    bound_to: None,
                    roles: None,
                    unrestricted: old.unrestricted,
                    credential: old.credential.clone(),
                    access_rules: old.access_rules.clone(),
                }
            }
            "application_credential" => {
                let secret = text(given, "secret")
                    .ok_or_else(|| Refusal::bad_request("'secret' is a required property"))?;
                let user = match given.get("user") {
                    None => None,
                    Some(user) => {
                        let named = name_and_domain(user)?;
                        model.identity.find_user(text(user, "id"), named)
                    }
                };
                let name = user.zip(text(given, "name"));
                let row =
                    model
                        .identity
                        .check_application_credential(text(given, "id"), name, secret)?;
                Login {
                    user_id: row.user_id.clone(),
                    methods: vec![method.clone()],
                    expires: row.expires_at,
                    bound_to: Some(row.project_id.clone()),
                    roles: Some(row.roles.clone()),
                    unrestricted: row.unrestricted,
                    credential: Some(row.id.clone()),
                    access_rules: row.access_rules.clone(),
                }
            }
            _ => return Err(Refusal::unauthorized()),
        };
        login = Some(match login {
            None => found,
            Some(before) if before.user_id != found.user_id => {
                return Err(Refusal::unauthorized());
            }
            Some(before) => Login {
                methods: [before.methods, found.methods].concat(),
                ..found
            },
        });
    }
    login.ok_or_else(|| Refusal::bad_request("'methods' is empty"))
}

fn name_and_domain(user: &Value) -> Result<Option<(&str, &str)>, Refusal> {
    let Some(name) = text(user, "name") else {
        return Ok(None);
    };
    let domain = domain_of(user).ok_or_else(|| {
        Refusal::bad_request(
            "Expecting to find domain in user. The server could not comply with the request since it is either \
             malformed or otherwise incorrect. The client is assumed to be in error.",
        )
    })?;
    Ok(Some((name, domain)))
}

fn read_scope(auth: &Value) -> Result<ScopeRequest, Refusal> {
    let Some(scope) = auth.get("scope") else {
        return Ok(ScopeRequest::Default);
    };
    if scope == "unscoped" {
        return Ok(ScopeRequest::Unscoped);
    }
    let Some(project) = scope.get("project") else {
        // A domain or the system: the lab supports project scopes only.
        return Err(Refusal::unauthorized());
    };
    match (
        text(project, "id"),
        text(project, "name"),
        domain_of(project),
    ) {
        (Some(id), _, _) => Ok(ScopeRequest::ProjectId(id.into())),
        (None, Some(name), Some(domain)) => {
            Ok(ScopeRequest::ProjectName(name.into(), domain.into()))
        }
        _ => Err(Refusal::bad_request("Expecting to find domain in project.")),
    }
}

fn token_document(model: &Model, token: &Token, base: &str) -> Value {
    let user = model.identity.users.get(&token.user_id);
    let domain = user.map_or(DOMAIN_ID, |user| user.text("domain_id"));
    let mut document = json!({
        "methods": token.methods,
        "user": {
            "domain": domain_reference(model, domain),
            "id": token.user_id,
            "name": user.map(|user| user.text("name")),
            "password_expires_at": null,
        },
        "audit_ids": [token.audit_id],
        "expires_at": token.expires_text(),
        "issued_at": token.issued_text(),
    });
    let credential = token.credential.as_deref();
    if let Some(row) = credential.and_then(|id| model.identity.application_credentials.get(id)) {
        let shown = json!({"id": row.id, "name": row.name, "restricted": !row.unrestricted});
        document["application_credential"] = shown;
        if row.expires_at == Some(token.expires_at) {
            // As in Keystone, this time has no offset.
            document["expires_at"] = json!(token.expires_text().trim_end_matches('Z'));
        }
    }
    if let Some(project) = token
        .project_id
        .as_ref()
        .and_then(|id| model.identity.projects.get(id))
    {
        document["project"] = json!({"domain": domain_reference(model, project.text("domain_id")), "id": project.id, "name": project.text("name")});
        document["is_domain"] = false.into();
        let roles = model.identity.roles.iter();
        document["roles"] = roles
            .filter(|role| {
                role.fields["domain_id"].is_null()
                    && token.roles.iter().any(|name| name == role.text("name"))
            })
            .map(|role| json!({"id": role.id, "name": role.text("name")}))
            .collect();
        document["catalog"] = catalog(model, base, &project.id);
    }
    json!({ "token": document })
}

fn receipt_document(model: &Model, receipt: &Receipt) -> Value {
    let user = model.identity.users.get(&receipt.user_id);
    let domain = user.map_or(DOMAIN_ID, |user| user.text("domain_id"));
    json!({
        "receipt": {
            "methods": receipt.methods,
            "user": {
                "domain": domain_reference(model, domain),
                "id": receipt.user_id,
                "name": user.map(|user| user.text("name")),
            },
            "expires_at": micros(receipt.expires_at),
            "issued_at": micros(receipt.issued_at),
        },
        "required_auth_methods": user.map(|user| user.fields["options"]["multi_factor_auth_rules"].clone()),
    })
}

/// The refusal of an unknown or expired token: 404, also for authentication with it.
fn unknown_token() -> Refusal {
    Refusal::not_found("TokenNotFound", "Failed to validate token")
}

/// The token that a request validates or revokes.
fn subject(headers: &HeaderMap) -> Result<&str, Refusal> {
    let value = headers.get("x-subject-token");
    value.and_then(|value| value.to_str().ok()).ok_or_else(|| {
        Refusal::forbidden(
            "You are not authorized to perform the requested action: identity:validate_token.",
        )
    })
}

async fn show_token(call: Call) -> Answer {
    call.token()?;
    let subject = subject(&call.headers)?;
    let shown = call.app.read(|model| {
        let token = model.identity.token(subject)?;
        Some(token_document(model, &token, &call.base))
    });
    let shown = shown.ok_or_else(unknown_token)?;
    let mut response = json_answer(200, shown);
    if let Ok(value) = HeaderValue::try_from(subject) {
        response.headers_mut().insert("x-subject-token", value);
    }
    Ok(response)
}

async fn delete_token(call: Call) -> Answer {
    call.token()?;
    let subject = subject(&call.headers)?;
    if call.app.change(|model| model.identity.revoke(subject)) {
        empty(204)
    } else {
        Err(unknown_token())
    }
}
