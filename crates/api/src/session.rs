//! Logging in, and who one is then.

use std::collections::BTreeMap;

use planner::cloud::Quota;
use serde::{Deserialize, Serialize};

/// `POST /api/v1/login`: one of three ways.
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
        /// Domain of user and project; `Default` where empty.
        #[serde(default)]
        domain: String,
        /// Project name or id.
        project: String,
        /// The authenticator's code, where the cloud asks this user for a second factor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passcode: Option<String>,
    },
    /// Application credential.
    ApplicationCredential {
        /// Name in the server's `clouds.yaml`.
        cloud: String,
        /// Id.
        application_credential_id: String,
        /// Secret.
        application_credential_secret: String,
    },
    /// A Keystone token that is scoped to a project.
    Token {
        /// Name in the server's `clouds.yaml`.
        cloud: String,
        /// The token.
        token: String,
    },
}

/// One of `GET /api/v1/clouds`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CloudInfo {
    /// Name in the server's `clouds.yaml`.
    pub name: String,
    /// Region, if the configuration names one.
    pub region: Option<String>,
    /// `password`, `application_credential`, `token`.
    pub methods: Vec<String>,
    /// What the configuration proposes for the form.
    #[serde(default)]
    pub domain: Option<String>,
    /// What the configuration proposes for the form.
    #[serde(default)]
    pub project: Option<String>,
}

/// `GET /api/v1/me`, and the answer to a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Me {
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
    /// May change things (`member` or `admin`), not just look.
    pub can_change: bool,
    /// RFC 3339; when the token ends.
    pub expires: String,
    /// Quota name (`cores`, `instances`, `floatingip` ...) to limit (-1: none) and use, without quotas that the cloud did not
    /// tell.
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

/// Whether an address leads to one of our own pages, and is none that a browser takes for another site's.
///
/// Where to go after the login comes from an address that anybody may have made up. Browsers read `\` as `/`, and leave out tabs
/// and line ends before they read anything (WHATWG URL, section 4.4).
pub fn is_own_page(address: &str) -> bool {
    address.starts_with('/')
        && !address.starts_with("//")
        && !address.contains(|c: char| c == '\\' || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_are_ours() {
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
