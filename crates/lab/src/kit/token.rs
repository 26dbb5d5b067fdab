//! The caller of a request.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::kit::table::keyed_by_id;

/// The result of a login.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Token {
    /// The digest of the token.
    pub id: String,
    /// The user who logged in.
    pub user_id: String,
    /// The project of the scope. `None` for an unscoped token.
    pub project_id: Option<String>,
    /// The names of the user's roles in the project.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Whether it comes from an unrestricted application credential, which can create further ones.
    #[serde(default)]
    pub unrestricted: bool,
    /// The id of the application credential that it comes from.
    #[serde(default)]
    pub credential: Option<String>,
    /// The calls that it may make. `None` permits all.
    #[serde(default)]
    pub access_rules: Option<Vec<AccessRule>>,
    /// The authentication methods: `password`, `token`, `application_credential`.
    pub methods: Vec<String>,
    /// A random id for logs.
    pub audit_id: String,
    /// The time of the login.
    pub issued_at: Timestamp,
    /// The time of expiry.
    pub expires_at: Timestamp,
}

keyed_by_id!(Token);

/// A call that an application credential may make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessRule {
    /// The type of the service.
    pub service: String,
    /// The HTTP method.
    pub method: String,
    /// The path, with `*` for a segment and `**` for any number of them.
    pub path: String,
}

impl AccessRule {
    /// Whether the rule permits a call.
    pub fn permits(&self, service: &str, method: &str, path: &str) -> bool {
        self.service == service && self.method == method && matches(&self.path, path)
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return pattern == path;
    };
    let Some(rest) = path.strip_prefix(before) else {
        return false;
    };
    let (after, longest) = match after.strip_prefix('*') {
        Some(after) => (after, rest.len()),
        None => (after, rest.find('/').unwrap_or(rest.len())),
    };
    let mut ends = (0..=longest).filter(|end| rest.is_char_boundary(*end));
    ends.any(|end| matches(after, &rest[end..]))
}

impl Token {
    /// Whether the user has the role `admin`.
    pub fn is_admin(&self) -> bool {
        self.roles.iter().any(|role| role == "admin")
    }
}

/// A caller with a project.
#[derive(Debug, Clone)]
pub struct Member {
    /// The id of the project.
    pub project_id: String,
    /// The id of the user.
    pub user_id: String,
    /// Whether the user can see and change resources of other projects.
    pub admin: bool,
}

impl Member {
    /// Whether the caller can see and change resources of this project.
    pub fn can_access(&self, project_id: &str) -> bool {
        self.admin || self.project_id == project_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_a_segment_and_two_are_any_number() {
        for (pattern, path, expected) in [
            ("/v2.1/servers", "/v2.1/servers", true),
            ("/v2.1/servers", "/v2.1/servers/1", false),
            ("/v2.1/servers/*", "/v2.1/servers/1", true),
            ("/v2.1/servers/*", "/v2.1/servers/1/action", false),
            ("/v2.1/*/1/action", "/v2.1/servers/1/action", true),
            ("/**", "/v2.1/servers/1/action", true),
            ("/v2.0/**", "/v2.1/servers", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
