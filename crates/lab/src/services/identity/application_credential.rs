//! Application credentials: secrets for programs, each for one project and some of its creator's roles.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::kit::ids::{digest, new_hex_id};
use crate::kit::record::{Attributes, Record};
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::kit::token::{AccessRule, Token};
use crate::services::identity::Identity;

/// A secret of a program for one project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ApplicationCredential {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// The digest of the secret.
    pub secret: String,
    pub user_id: String,
    /// The project's id.
    pub project_id: String,
    /// Names of the roles.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Whether it can create further application credentials.
    #[serde(default)]
    pub unrestricted: bool,
    /// The calls that its tokens may make. `None` permits all.
    #[serde(default)]
    pub access_rules: Option<Vec<AccessRule>>,
    /// The time of expiry. `None` never expires.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// The request of a creation.
#[derive(Debug, Clone, Default)]
pub struct CreateCredential {
    pub name: String,
    pub description: Option<String>,
    /// The secret. `None` generates one.
    pub secret: Option<String>,
    /// Names or ids of roles. `None` takes all roles of the creator.
    pub roles: Option<Vec<String>>,
    pub unrestricted: bool,
    /// The permitted calls. `None` permits all.
    pub access_rules: Option<Vec<AccessRule>>,
    pub expires_at: Option<Timestamp>,
}

keyed_by_id!(ApplicationCredential);

impl Identity {
    /// The application credential with this id (or of this user with this name), if the secret is correct and the user
    /// can log in and still has its roles.
    pub fn check_application_credential(
        &self,
        id: Option<&str>,
        name: Option<(&Record, &str)>,
        secret: &str,
    ) -> Result<&ApplicationCredential, Refusal> {
        let found = match (id, name) {
            (Some(id), _) => self.application_credentials.get(id),
            (None, Some((user, name))) => {
                let mut all = self.application_credentials.iter();
                all.find(|row| row.user_id == user.id && row.name == name)
            }
            _ => None,
        };
        let is_usable = |row: &&ApplicationCredential| {
            let user = self.users.get(&row.user_id);
            let has = self.roles_of(&row.user_id, &row.project_id);
            user.is_some_and(|user| self.can_log_in(user))
                && self.is_project_enabled(&row.project_id)
                && row.roles.iter().all(|role| has.contains(role))
        };
        found
            .filter(|row| row.secret == digest(secret))
            .filter(is_usable)
            .filter(|row| row.expires_at.is_none_or(|end| end > Timestamp::now()))
            .ok_or_else(Refusal::unauthorized)
    }

    /// Creates an application credential for the token's project. Returns it with its secret.
    pub fn add_application_credential(
        &mut self,
        token: &Token,
        project_id: &str,
        wanted: CreateCredential,
    ) -> Result<(ApplicationCredential, String), Refusal> {
        let user_id = &token.user_id;
        let name = wanted.name;
        if self
            .application_credentials
            .iter()
            .any(|row| &row.user_id == user_id && row.name == name)
        {
            return Err(Refusal::conflict(
                "Conflict",
                format!(
                    "Conflict occurred attempting to store application_credential - Duplicate entry found with name {name}."
                ),
            ));
        }
        let roles = match wanted.roles {
            None => token.roles.clone(),
            Some(requested) => {
                let named = |requested: String| {
                    let role = self.roles.get(&requested);
                    role.map_or(requested, |role| role.text("name").to_owned())
                };
                let roles: Vec<String> = requested.into_iter().map(named).collect();
                if roles.iter().any(|role| !token.roles.contains(role)) {
                    return Err(Refusal::bad_request(
                        "Invalid application credential: Cannot create an application credential with unassigned role",
                    ));
                }
                roles
            }
        };
        let secret = wanted
            .secret
            .unwrap_or_else(|| format!("{}{}", new_hex_id(), new_hex_id()));
        let row = ApplicationCredential {
            id: new_hex_id(),
            name,
            description: wanted.description,
            secret: digest(&secret),
            user_id: user_id.clone(),
            project_id: project_id.into(),
            roles,
            unrestricted: wanted.unrestricted,
            access_rules: wanted.access_rules,
            expires_at: wanted.expires_at,
        };
        self.application_credentials.insert(row.clone());
        Ok((row, secret))
    }
}
