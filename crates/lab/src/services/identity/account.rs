//! Keystone: projects, users, and the tokens that a login gives. What they may do is in [`crate::services::identity::grants`].
//!
//! Tokens and secrets are kept as digests, so the state file lets nobody in.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::kit::ids::{digest, micros, new_hex_id, stable_hex_id};
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::kit::token::Token;
use crate::services::identity::Identity;
use crate::services::identity::grants::Assignment;

/// The id of the first domain, as in every fresh Keystone.
pub const DOMAIN_ID: &str = "default";
/// The name of the first domain.
pub const DOMAIN_NAME: &str = "Default";
/// The method of a login with an application credential.
pub const APPLICATION_CREDENTIAL: &str = "application_credential";
/// How long a token lasts.
pub const TOKEN_LIFETIME: Duration = Duration::from_secs(4 * 3600);

/// A project (tenant).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Project {
    /// Hexadecimal id.
    pub id: String,
    /// Unique in its domain.
    pub name: String,
    /// Free text.
    #[serde(default)]
    pub description: String,
    /// Whether anybody can log in to it.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Where it lives.
    #[serde(default = "default_domain")]
    pub domain_id: String,
    /// The project above it, unless that is the domain.
    #[serde(default)]
    pub parent_id: Option<String>,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
}

fn yes() -> bool {
    true
}

fn default_domain() -> String {
    DOMAIN_ID.to_owned()
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
    /// Free text.
    #[serde(default)]
    pub description: Option<String>,
    /// Where to write to.
    #[serde(default)]
    pub email: Option<String>,
    /// Whether the user can log in.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The project for logins that name none.
    pub default_project_id: Option<String>,
    /// Ways to log in, each with all the methods that it takes; any method where there are none.
    #[serde(default)]
    pub rules: Vec<Vec<String>>,
    /// Whether the rules count.
    #[serde(default = "yes")]
    pub rules_count: bool,
    /// Where the user lives.
    #[serde(default = "default_domain")]
    pub domain_id: String,
}

keyed_by_id!(Project, User);

/// What a token is to say.
#[derive(Debug, Clone, Default)]
pub struct Grant {
    /// Who.
    pub user_id: String,
    /// Where; nowhere for an unscoped token.
    pub project_id: Option<String>,
    /// Names of the roles there.
    pub roles: Vec<String>,
    /// See [`Token::unrestricted`].
    pub unrestricted: bool,
    /// How it was asked for.
    pub methods: Vec<String>,
    /// When it ends; after [`TOKEN_LIFETIME`] when not told.
    pub expires: Option<Timestamp>,
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
    /// By name, in the domain with this id or name.
    ProjectName(String, String),
}

impl Identity {
    /// Make a project with a stable id.
    pub fn add_project(&mut self, name: &str) -> String {
        let id = stable_hex_id(&format!("project/{name}"));
        self.projects.insert(Project {
            id: id.clone(),
            name: name.into(),
            description: String::new(),
            enabled: true,
            domain_id: default_domain(),
            parent_id: None,
            tags: Vec::new(),
        });
        id
    }

    /// Make a user with a stable id, who has a role in one project.
    pub fn add_user(&mut self, name: &str, password: &str, project_id: &str, role: &str) -> String {
        let id = stable_hex_id(&format!("user/{name}"));
        self.users.insert(User {
            id: id.clone(),
            name: name.into(),
            password: digest(password),
            description: None,
            email: None,
            enabled: true,
            default_project_id: None,
            rules: Vec::new(),
            rules_count: true,
            domain_id: default_domain(),
        });
        self.assign(Assignment {
            user_id: id.clone(),
            project_id: project_id.into(),
            role_id: stable_hex_id(&format!("role/{role}")),
            ..Assignment::default()
        });
        id
    }

    /// The projects in which a user has a role, in the order in which they were made.
    pub fn projects_of(&self, user_id: &str) -> Vec<&Project> {
        let has_role = |project: &&Project| {
            let mut all = self.assignments.iter();
            all.any(|row| row.project_id == project.id && self.is_for(row, user_id))
        };
        self.projects.iter().filter(has_role).collect()
    }

    /// Take a project away, and what is said about it.
    pub fn remove_project(&mut self, id: &str) -> bool {
        self.assignments.retain(|row| row.project_id != id);
        self.remove_tokens(|token| token.project_id.as_deref() == Some(id));
        self.projects.remove(id).is_some()
    }

    /// Take a user away, and what is the user's.
    pub fn remove_user(&mut self, id: &str) -> bool {
        self.assignments.retain(|row| row.user_id != id);
        self.directory.members.retain(|(_, user)| user != id);
        self.remove_tokens(|token| token.user_id == id);
        let theirs: Vec<String> = self
            .application_credentials
            .iter()
            .filter(|row| row.user_id == id)
            .map(|row| row.id.clone())
            .collect();
        for credential in theirs {
            self.application_credentials.remove(&credential);
        }
        let theirs: Vec<String> = self
            .credentials
            .iter()
            .filter(|row| row.user_id == id)
            .map(|row| row.id.clone())
            .collect();
        for credential in theirs {
            self.credentials.remove(&credential);
        }
        self.users.remove(id).is_some()
    }

    /// Take a domain away, and all that lives in it; but for its roles, which Keystone leaves.
    pub fn remove_domain(&mut self, id: &str) -> bool {
        let users = self.users.iter().filter(|row| row.domain_id == id);
        let users: Vec<String> = users.map(|row| row.id.clone()).collect();
        let projects = self.projects.iter().filter(|row| row.domain_id == id);
        let projects: Vec<String> = projects.map(|row| row.id.clone()).collect();
        let groups = self.directory.groups.iter();
        let groups = groups.filter(|row| row.text("domain_id") == id);
        let groups: Vec<String> = groups.map(|row| row.id.clone()).collect();
        for user in users {
            self.remove_user(&user);
        }
        for project in projects {
            self.remove_project(&project);
        }
        for group in groups {
            self.remove_group(&group);
        }
        self.assignments.retain(|row| row.domain_id != id);
        self.directory.domains.remove(id).is_some()
    }

    /// End tokens.
    pub fn remove_tokens(&mut self, ended: impl Fn(&Token) -> bool) {
        let ids: Vec<String> = self
            .tokens
            .iter()
            .filter(|token| ended(token))
            .map(|token| token.id.clone())
            .collect();
        for id in ids {
            self.tokens.remove(&id);
        }
    }

    /// The user with this id, or with this name in the domain given by id or name.
    pub fn user_meant(&self, id: Option<&str>, name: Option<(&str, &str)>) -> Option<&User> {
        let user = match (id, name) {
            (Some(id), _) => self.users.get(id),
            (None, Some((name, domain))) => {
                let domain = self.directory.domain_meant(domain);
                let mut users = self.users.iter();
                users.find(|user| user.name == name && Some(user.domain_id.as_str()) == domain)
            }
            _ => None,
        };
        user.filter(|user| self.may_log_in(user))
    }

    /// [That user](Identity::user_meant), only with the right password. Like Keystone, it does not say which of these
    /// was wrong.
    pub fn check_password(
        &self,
        id: Option<&str>,
        name: Option<(&str, &str)>,
        password: &str,
    ) -> Result<&User, Refusal> {
        self.user_meant(id, name)
            .filter(|user| user.password == digest(password))
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
            ScopeRequest::ProjectName(name, domain) => {
                let domain = self.directory.domain_meant(domain);
                let mut projects = self.projects.iter();
                projects.find(|project| {
                    &project.name == name && Some(project.domain_id.as_str()) == domain
                })
            }
        };
        match project {
            Some(project)
                if self.is_open(&project.id)
                    && !self.roles_of(&user.id, &project.id).is_empty() =>
            {
                Ok(Some(project.id.clone()))
            }
            _ => Err(Refusal::unauthorized()),
        }
    }

    /// Give a token; its text is in the answer and nowhere else.
    pub fn issue(&mut self, grant: Grant) -> (String, Token) {
        let issued_at = Timestamp::now();
        self.remove_tokens(|token| token.expires_at < issued_at);
        let text = format!("lab-{}{}", new_hex_id(), new_hex_id());
        let token = Token {
            id: digest(&text),
            user_id: grant.user_id,
            project_id: grant.project_id,
            roles: grant.roles,
            unrestricted: grant.unrestricted,
            methods: grant.methods,
            audit_id: new_hex_id()[..22].to_owned(),
            issued_at,
            expires_at: grant.expires.unwrap_or(issued_at + TOKEN_LIFETIME),
        };
        self.tokens.insert(token.clone());
        (text, token)
    }

    /// The token with this text, unless it has ended, with what it is good for now: like Keystone, whose tokens have no roles in
    /// them, a role that was taken away since counts no more, and one that was given counts.
    pub fn token(&self, text: &str) -> Option<Token> {
        let token = self.tokens.get(&digest(text))?;
        let user = self.users.get(&token.user_id);
        if token.expires_at <= Timestamp::now() || !user.is_some_and(|user| self.may_log_in(user)) {
            return None;
        }
        let mut token = token.clone();
        if let Some(project) = &token.project_id {
            if !self.is_open(project) {
                return None;
            }
            let now = self.roles_of(&token.user_id, project);
            match token
                .methods
                .iter()
                .any(|how| how == APPLICATION_CREDENTIAL)
            {
                // It gives what it was made for, and no more.
                true => token.roles.retain(|role| now.contains(role)),
                false => token.roles = now,
            }
            if token.roles.is_empty() {
                return None;
            }
        }
        Some(token)
    }

    /// Whether a user and the domain are enabled.
    pub(crate) fn may_log_in(&self, user: &User) -> bool {
        user.enabled && self.directory.is_enabled(&user.domain_id)
    }

    /// Whether a project and its domain are enabled.
    pub(crate) fn is_open(&self, project: &str) -> bool {
        let project = self.projects.get(project);
        project.is_some_and(|row| row.enabled && self.directory.is_enabled(&row.domain_id))
    }

    /// End a token. Whether there was one.
    pub fn revoke(&mut self, text: &str) -> bool {
        self.tokens.remove(&digest(text)).is_some()
    }
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
