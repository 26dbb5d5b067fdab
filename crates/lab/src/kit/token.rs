//! The caller of a request.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::kit::table::keyed_by_id;

/// The result of a login.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Token {
    /// The digest of the token's text.
    pub id: String,
    /// The user who logged in.
    pub user_id: String,
    /// The project of the scope. `None` for an unscoped token.
    pub project_id: Option<String>,
    /// The names of the roles there.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Whether it came from an application credential that may make further ones.
    #[serde(default)]
    pub unrestricted: bool,
    /// The methods of the login: `password`, `token`, `application_credential`.
    pub methods: Vec<String>,
    /// A random id, for logs.
    pub audit_id: String,
    /// The time of the login.
    pub issued_at: Timestamp,
    /// The end of its validity.
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
    /// The project.
    pub project_id: String,
    /// The user.
    pub user_id: String,
    /// Whether the user may see and change other projects' resources.
    pub admin: bool,
}

impl Member {
    /// Whether a resource of this project may be seen and changed.
    pub fn may_touch(&self, project_id: &str) -> bool {
        self.admin || self.project_id == project_id
    }
}
