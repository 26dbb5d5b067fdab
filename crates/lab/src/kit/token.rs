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
