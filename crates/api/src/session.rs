//! Login requests, and the logged-in user.

use std::collections::BTreeMap;

use planner::cloud::Quota;
use serde::{Deserialize, Serialize};

/// `POST /api/v1/login`: one of three kinds of credentials.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum LoginRequest {
    /// User name and password.
    Password {
        /// Name in the server's `clouds.yaml`.
        cloud: String,
        /// User name.
        user: String,
        /// Password.
        password: String,
        /// Domain of user and project. Empty means `Default`.
        #[serde(default)]
        domain: String,
        /// Name or id of the project.
        project: String,
        /// Code of the authenticator app, if the cloud requires a second factor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passcode: Option<String>,
    },
    /// An application credential.
    ApplicationCredential {
        /// Name in the server's `clouds.yaml`.
        cloud: String,
        /// Id of the credential.
        application_credential_id: String,
        /// Secret of the credential.
        application_credential_secret: String,
    },
    /// A Keystone token scoped to a project.
    Token {
        /// Name in the server's `clouds.yaml`.
        cloud: String,
        /// The token.
        token: String,
    },
}

/// An entry of `GET /api/v1/clouds`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CloudInfo {
    /// Name in the server's `clouds.yaml`.
    pub name: String,
    /// Region, if the configuration has one.
    pub region: Option<String>,
    /// Supported methods: `password`, `application_credential`, `token`.
    pub methods: Vec<String>,
    /// Default for the form's domain.
    #[serde(default)]
    pub domain: Option<String>,
    /// Default for the form's project.
    #[serde(default)]
    pub project: Option<String>,
}

/// `GET /api/v1/me`, and the response to a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CurrentUser {
    /// Name in the server's `clouds.yaml`.
    pub cloud: String,
    /// User name.
    pub user: String,
    /// Project name.
    pub project: String,
    /// Project id.
    pub project_id: String,
    /// Role names.
    pub roles: Vec<String>,
    /// True if the user can change things: one of their roles is in `member_roles`.
    pub can_change: bool,
    /// Roles with which users can change things. With others they only look.
    #[serde(default)]
    pub member_roles: Vec<String>,
    /// Time at which the token expires, in RFC 3339.
    pub expires: String,
    /// True for a login by a restricted application credential, which cannot create another one.
    #[serde(default)]
    pub is_restricted: bool,
    /// Limit (-1 for unlimited) and usage by quota name (`cores`, `instances`, `floatingip` ...), without quotas that
    /// the cloud does not report.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, BTreeMap<String, i64>>))]
    pub quotas: BTreeMap<String, Quota>,
}

impl LoginRequest {
    /// Name in the server's `clouds.yaml`.
    pub fn cloud(&self) -> &str {
        match self {
            Self::Password { cloud, .. }
            | Self::ApplicationCredential { cloud, .. }
            | Self::Token { cloud, .. } => cloud,
        }
    }
}

/// A login session of the user, in a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LoginSession {
    /// Id. It does not open the session.
    pub id: String,
    /// Time of the login in RFC 3339.
    pub created: String,
    /// Time of the last request in RFC 3339, at most a minute too early.
    pub seen: String,
    /// The client's address at login.
    #[serde(default)]
    pub address: Option<String>,
    /// True for the session of this request.
    pub is_current: bool,
}

/// True if an address is a path of this server that no browser takes for another site's.
///
/// The target after a login comes from the address bar and can be forged. Browsers read `\` as `/`, and remove tabs and
/// line ends first (WHATWG URL, section 4.4).
pub fn is_own_page(address: &str) -> bool {
    address.starts_with('/')
        && !address.starts_with("//")
        && !address.contains(|c: char| c == '\\' || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_accepted_after_a_login() {
        assert!(is_own_page("/runs/1?step=web:create"));
        for elsewhere in [
            "",
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
        ] {
            assert!(!is_own_page(elsewhere), "{elsewhere:?}");
        }
    }
}
