//! Keystone: one domain, its projects and users, tokens and application credentials.
//!
//! Tokens and secrets are kept as digests, so the state file lets nobody in. A user is a member of the projects named by
//! its `grants`; there is no role but `member` and `reader`, which Keystone's default roles make members have too.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ids::{digest, micros, new_hex_id, stable_hex_id};
use super::refusal::Refusal;
use super::table::{Table, keyed_by_id};

/// The id of the one domain, as in every fresh Keystone.
pub const DOMAIN_ID: &str = "default";
/// The name of the one domain.
pub const DOMAIN_NAME: &str = "Default";
/// How long a token lasts.
pub const TOKEN_LIFETIME: Duration = Duration::from_secs(4 * 3600);

/// A project (tenant).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Project {
    /// Hexadecimal id.
    pub id: String,
    /// Unique in the domain.
    pub name: String,
}

/// A person, or a program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct User {
    /// Hexadecimal id.
    pub id: String,
    /// Unique in the domain.
    pub name: String,
    /// Digest of the password.
    pub password: String,
    /// Ids of the projects in which the user is a member.
    pub grants: Vec<String>,
    /// The project for logins that name none.
    pub default_project_id: Option<String>,
}

/// What a login gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Token {
    /// Digest of the token's text.
    pub id: String,
    /// Who logged in.
    pub user_id: String,
    /// The scope; none for an unscoped token.
    pub project_id: Option<String>,
    /// How: `password`, `token`, `application_credential`.
    pub methods: Vec<String>,
    /// Random, for logs.
    pub audit_id: String,
    /// When it was given.
    pub issued_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A password that a program has for one project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ApplicationCredential {
    /// Hexadecimal id.
    pub id: String,
    /// Unique for the user.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// Digest of the secret.
    pub secret: String,
    /// Whose.
    pub user_id: String,
    /// For which project.
    pub project_id: String,
}

keyed_by_id!(Project, User, Token, ApplicationCredential);

/// Everything that Keystone knows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Identity {
    /// Projects.
    pub projects: Table<Project>,
    /// Users.
    pub users: Table<User>,
    /// Tokens that have not been revoked; ended ones go when the next is made.
    pub tokens: Table<Token>,
    /// Application credentials.
    pub application_credentials: Table<ApplicationCredential>,
}

/// The scope that a login asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeRequest {
    /// None named: the user's default project, or no scope.
    Default,
    /// `"unscoped"`, said outright.
    Unscoped,
    /// By id.
    ProjectId(String),
    /// By name in the (one) domain.
    ProjectName(String),
}

impl Identity {
    /// Make a project with a stable id.
    pub fn add_project(&mut self, name: &str) -> String {
        let id = stable_hex_id(&format!("project/{name}"));
        self.projects.insert(Project {
            id: id.clone(),
            name: name.into(),
        });
        id
    }

    /// Make a user who is a member of one project.
    pub fn add_user(&mut self, name: &str, password: &str, project_id: &str) -> String {
        let id = stable_hex_id(&format!("user/{name}"));
        self.users.insert(User {
            id: id.clone(),
            name: name.into(),
            password: digest(password),
            grants: vec![project_id.into()],
            default_project_id: None,
        });
        id
    }

    /// The user with this id, or with this name in the domain given by id or name; only with the right password. Like
    /// Keystone, it does not say which of these was wrong.
    pub fn check_password(
        &self,
        id: Option<&str>,
        name: Option<(&str, &str)>,
        password: &str,
    ) -> Result<&User, Refusal> {
        let user = match (id, name) {
            (Some(id), _) => self.users.get(id),
            (None, Some((name, domain))) if is_the_domain(domain) => {
                self.users.iter().find(|user| user.name == name)
            }
            _ => None,
        };
        user.filter(|user| user.password == digest(password))
            .ok_or_else(Refusal::unauthorized)
    }

    /// The application credential with this id (or user and name), with the right secret.
    pub fn check_application_credential(
        &self,
        id: Option<&str>,
        name: Option<(&str, &str)>,
        secret: &str,
    ) -> Result<&ApplicationCredential, Refusal> {
        let found = match (id, name) {
            (Some(id), _) => self.application_credentials.get(id),
            (None, Some((user, name))) => {
                let user_id = self
                    .users
                    .iter()
                    .find(|row| row.id == user || row.name == user)
                    .map(|row| &row.id);
                self.application_credentials
                    .iter()
                    .find(|row| Some(&row.user_id) == user_id && row.name == name)
            }
            _ => None,
        };
        found
            .filter(|row| row.secret == digest(secret))
            .ok_or_else(Refusal::unauthorized)
    }

    /// The project that a login gets. One that is missing and one where the user has no role look the same: 401.
    pub fn resolve_scope(
        &self,
        user: &User,
        scope: &ScopeRequest,
    ) -> Result<Option<String>, Refusal> {
        let project = match scope {
            ScopeRequest::Unscoped => return Ok(None),
            ScopeRequest::Default => match &user.default_project_id {
                None => return Ok(None),
                Some(id) => self.projects.get(id),
            },
            ScopeRequest::ProjectId(id) => self.projects.get(id),
            ScopeRequest::ProjectName(name) => {
                self.projects.iter().find(|project| &project.name == name)
            }
        };
        match project {
            Some(project) if user.grants.contains(&project.id) => Ok(Some(project.id.clone())),
            _ => Err(Refusal::unauthorized()),
        }
    }

    /// Give a token; its text is in the answer and nowhere else.
    pub fn issue(
        &mut self,
        user_id: &str,
        project_id: Option<String>,
        methods: Vec<String>,
        expires: Option<Timestamp>,
    ) -> (String, Token) {
        let issued_at = Timestamp::now();
        let ended: Vec<String> = self
            .tokens
            .iter()
            .filter(|token| token.expires_at < issued_at)
            .map(|token| token.id.clone())
            .collect();
        for id in ended {
            self.tokens.remove(&id);
        }
        let text = format!("lab-{}{}", new_hex_id(), new_hex_id());
        let token = Token {
            id: digest(&text),
            user_id: user_id.into(),
            project_id,
            methods,
            audit_id: new_hex_id()[..22].to_owned(),
            issued_at,
            expires_at: expires.unwrap_or(issued_at + TOKEN_LIFETIME),
        };
        self.tokens.insert(token.clone());
        (text, token)
    }

    /// The token with this text, unless it has ended.
    pub fn token(&self, text: &str) -> Option<&Token> {
        self.tokens
            .get(&digest(text))
            .filter(|token| token.expires_at > Timestamp::now())
    }

    /// End a token. Whether there was one.
    pub fn revoke(&mut self, text: &str) -> bool {
        self.tokens.remove(&digest(text)).is_some()
    }

    /// Make an application credential for the token's project; answers its id and the secret.
    pub fn add_application_credential(
        &mut self,
        user_id: &str,
        project_id: &str,
        name: &str,
        description: Option<String>,
        secret: Option<String>,
    ) -> Result<(ApplicationCredential, String), Refusal> {
        if self
            .application_credentials
            .iter()
            .any(|row| row.user_id == user_id && row.name == name)
        {
            return Err(Refusal::conflict(
                "Conflict",
                format!(
                    "Conflict occurred attempting to store application_credential - Duplicate entry found with name {name}."
                ),
            ));
        }
        let secret = secret.unwrap_or_else(|| format!("{}{}", new_hex_id(), new_hex_id()));
        let row = ApplicationCredential {
            id: new_hex_id(),
            name: name.into(),
            description,
            secret: digest(&secret),
            user_id: user_id.into(),
            project_id: project_id.into(),
        };
        self.application_credentials.insert(row.clone());
        Ok((row, secret))
    }
}

/// Whether a domain's id or name is that of the one domain.
pub fn is_the_domain(domain: &str) -> bool {
    domain == DOMAIN_ID || domain == DOMAIN_NAME
}

impl Token {
    /// `expires_at` as Keystone writes it.
    pub fn expires_text(&self) -> String {
        micros(self.expires_at)
    }

    /// `issued_at` as Keystone writes it.
    pub fn issued_text(&self) -> String {
        micros(self.issued_at)
    }
}
