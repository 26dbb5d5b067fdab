//! Keystone: projects, users and tokens. Permissions are in [`crate::services::identity::grants`].
//!
//! Tokens and secrets are stored as digests, so the state file contains no usable credentials.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kit::ids::{digest, micros, new_hex_id, stable_hex_id};
use crate::kit::record::{Attributes, Record};
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::kit::token::{AccessRule, Token};
use crate::services::identity::grants::Assignment;
use crate::services::identity::{DOMAIN_ID, DOMAIN_NAME, Identity};

/// The method of a login with an application credential.
pub const APPLICATION_CREDENTIAL: &str = "application_credential";
/// The lifetime of a token.
pub const TOKEN_LIFETIME: Duration = Duration::from_secs(4 * 3600);

/// The content of a new token.
#[derive(Debug, Clone, Default)]
pub struct Grant {
    /// The user.
    pub user_id: String,
    /// The project. `None` for an unscoped token.
    pub project_id: Option<String>,
    /// Names of the user's roles in the project.
    pub roles: Vec<String>,
    pub unrestricted: bool,
    /// The id of the application credential.
    pub credential: Option<String>,
    /// The permitted calls. `None` permits all.
    pub access_rules: Option<Vec<AccessRule>>,
    /// The authentication methods.
    pub methods: Vec<String>,
    /// The time of expiry. `None` means after [`TOKEN_LIFETIME`].
    pub expires: Option<Timestamp>,
}

/// The requested scope of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeRequest {
    /// No requested scope: the user's default project, or unscoped.
    Default,
    /// Explicitly `"unscoped"`.
    Unscoped,
    /// The project's id.
    ProjectId(String),
    /// The project's name, and the id or name of its domain.
    ProjectName(String, String),
}

impl Identity {
    /// The records of a new lab: Keystone's default roles, a domain, a region, and projects with users.
    pub fn fresh() -> Self {
        let mut all = Self::default();
        let domain = json!({"name": DOMAIN_NAME, "description": "The default domain", "enabled": true, "tags": [], "options": {}});
        all.domains.insert(Record::new(DOMAIN_ID, domain));
        let region = json!({"description": "", "parent_region_id": null});
        all.regions.insert(Record::new("lab", region));
        for name in ["admin", "member", "reader"] {
            let fields =
                json!({"name": name, "domain_id": null, "description": null, "options": {}});
            let id = stable_hex_id(&format!("role/{name}"));
            all.roles.insert(Record::new(&id, fields));
        }
        for name in ["demo", "other", "admin", "service"] {
            let fields = json!({
                "name": name, "description": "", "enabled": true, "domain_id": DOMAIN_ID, "parent_id": DOMAIN_ID, "is_domain": false,
                "tags": [], "options": {},
            });
            let id = stable_hex_id(&format!("project/{name}"));
            all.projects.insert(Record::new(&id, fields));
        }
        for (name, project, role) in [
            ("demo", "demo", "member"),
            ("other", "other", "member"),
            ("admin", "admin", "admin"),
            ("reader", "demo", "reader"),
        ] {
            let id = stable_hex_id(&format!("user/{name}"));
            let fields = json!({
                "name": name, "password_digest": digest(name), "enabled": true, "default_project_id": null, "domain_id": DOMAIN_ID,
                "options": {},
            });
            all.users.insert(Record::new(&id, fields));
            all.assign(Assignment {
                user_id: id,
                project_id: stable_hex_id(&format!("project/{project}")),
                role_id: stable_hex_id(&format!("role/{role}")),
                ..Assignment::default()
            });
        }
        all
    }

    /// The projects in which a user has a role, oldest first.
    pub fn projects_of(&self, user_id: &str) -> Vec<&Record> {
        let has_role = |project: &&Record| {
            let mut all = self.assignments.iter();
            all.any(|row| row.project_id == project.id && self.is_for(row, user_id))
        };
        self.projects.iter().filter(has_role).collect()
    }

    /// Removes a project with its assignments and tokens.
    pub fn remove_project(&mut self, id: &str) {
        self.assignments.retain(|row| row.project_id != id);
        self.remove_tokens(|token| token.project_id.as_deref() == Some(id));
        self.projects.remove(id);
    }

    /// Removes a user with its assignments, group memberships, tokens and credentials.
    pub fn remove_user(&mut self, id: &str) {
        self.assignments.retain(|row| row.user_id != id);
        self.members.retain(|(_, user)| user != id);
        self.remove_tokens(|token| token.user_id == id);
        self.application_credentials
            .remove_where(|row| row.user_id == id);
        self.credentials
            .remove_where(|row| row.text("user_id") == id);
        self.users.remove(id);
    }

    /// Removes a group with its members and assignments.
    pub fn remove_group(&mut self, id: &str) {
        self.assignments.retain(|row| row.group_id != id);
        self.members.retain(|(group, _)| group != id);
        self.groups.remove(id);
    }

    /// Removes a domain with its users, projects and groups. As in Keystone, its roles remain.
    pub fn remove_domain(&mut self, id: &str) {
        let of_domain = |table: &Table<Record>| -> Vec<String> {
            let rows = table.iter().filter(|row| row.text("domain_id") == id);
            rows.map(|row| row.id.clone()).collect()
        };
        let (users, projects) = (of_domain(&self.users), of_domain(&self.projects));
        let groups = of_domain(&self.groups);
        users.iter().for_each(|user| self.remove_user(user));
        projects.iter().for_each(|one| self.remove_project(one));
        groups.iter().for_each(|group| self.remove_group(group));
        self.assignments.retain(|row| row.domain_id != id);
        self.domains.remove(id);
    }

    /// The id of the domain with this id or name.
    pub fn find_domain(&self, domain: &str) -> Option<&str> {
        let mut domains = self.domains.iter();
        domains
            .find(|row| row.id == domain || row.text("name") == domain)
            .map(|row| row.id.as_str())
    }

    /// Whether users and projects of a domain can be used.
    pub fn is_domain_enabled(&self, domain: &str) -> bool {
        let domain = self.domains.get(domain);
        domain.is_some_and(|row| row.fields.get("enabled") != Some(&Value::Bool(false)))
    }

    /// Removes tokens.
    pub fn remove_tokens(&mut self, is_ended: impl Fn(&Token) -> bool) {
        self.tokens.remove_where(is_ended);
    }

    /// The user with this id, or with this name in the domain given by id or name.
    pub fn find_user(&self, id: Option<&str>, name: Option<(&str, &str)>) -> Option<&Record> {
        let user = match (id, name) {
            (Some(id), _) => self.users.get(id),
            (None, Some((name, domain))) => {
                let domain = self.find_domain(domain);
                let mut users = self.users.iter();
                users.find(|user| {
                    user.text("name") == name && Some(user.text("domain_id")) == domain
                })
            }
            _ => None,
        };
        user.filter(|user| self.can_log_in(user))
    }

    /// The same user, if the password is correct. As in Keystone, the error does not distinguish an unknown user from a
    /// wrong password.
    pub fn check_password(
        &self,
        id: Option<&str>,
        name: Option<(&str, &str)>,
        password: &str,
    ) -> Result<&Record, Refusal> {
        self.find_user(id, name)
            .filter(|user| user.text("password_digest") == digest(password))
            .ok_or_else(Refusal::unauthorized)
    }

    /// The project of a new token. A missing project and a project without a role for the user give the same 401.
    pub fn resolve_scope(
        &self,
        user: &Record,
        scope: &ScopeRequest,
    ) -> Result<Option<String>, Refusal> {
        let project = match scope {
            ScopeRequest::Unscoped => return Ok(None),
            ScopeRequest::Default => match user.text("default_project_id") {
                "" => return Ok(None),
                id => self.projects.get(id),
            },
            ScopeRequest::ProjectId(id) => self.projects.get(id),
            ScopeRequest::ProjectName(name, domain) => {
                let domain = self.find_domain(domain);
                let mut projects = self.projects.iter();
                projects.find(|project| {
                    project.text("name") == name && Some(project.text("domain_id")) == domain
                })
            }
        };
        match project {
            Some(project)
                if self.is_project_enabled(&project.id)
                    && !self.roles_of(&user.id, &project.id).is_empty() =>
            {
                Ok(Some(project.id.clone()))
            }
            _ => Err(Refusal::unauthorized()),
        }
    }

    /// Issues a token. Its text is returned here and stored nowhere.
    pub fn issue(&mut self, grant: Grant) -> (String, Token) {
        let issued_at = Timestamp::now();
        self.remove_tokens(|token| token.expires_at < issued_at);
        let text = format!("lab-{}{}", new_hex_id(), new_hex_id());
        let latest = issued_at + TOKEN_LIFETIME;
        let token = Token {
            id: digest(&text),
            user_id: grant.user_id,
            project_id: grant.project_id,
            roles: grant.roles,
            unrestricted: grant.unrestricted,
            credential: grant.credential,
            access_rules: grant.access_rules,
            methods: grant.methods,
            audit_id: new_hex_id()[..22].to_owned(),
            issued_at,
            expires_at: grant.expires.unwrap_or(latest).min(latest),
        };
        self.tokens.insert(token.clone());
        (text, token)
    }

    /// The token with this text, unless it has expired, with the user's current roles. As in Keystone, a token contains
    /// no roles: removed roles are lost immediately and new roles are effective immediately.
    pub fn token(&self, text: &str) -> Option<Token> {
        let token = self.tokens.get(&digest(text))?;
        let user = self.users.get(&token.user_id);
        if token.expires_at <= Timestamp::now() || !user.is_some_and(|user| self.can_log_in(user)) {
            return None;
        }
        let mut token = token.clone();
        if let Some(project) = &token.project_id {
            if !self.is_project_enabled(project) {
                return None;
            }
            let now = self.roles_of(&token.user_id, project);
            let mut methods = token.methods.iter();
            if methods.any(|method| method == APPLICATION_CREDENTIAL) {
                // An application credential keeps its own roles.
                token.roles.retain(|role| now.contains(role));
            } else {
                token.roles = now;
            }
            if token.roles.is_empty() {
                return None;
            }
        }
        Some(token)
    }

    /// Whether a user and its domain are enabled.
    pub(crate) fn can_log_in(&self, user: &Record) -> bool {
        user.is_on("enabled") && self.is_domain_enabled(user.text("domain_id"))
    }

    /// Whether a project and its domain are enabled.
    pub(crate) fn is_project_enabled(&self, project: &str) -> bool {
        let project = self.projects.get(project);
        project.is_some_and(|row| {
            row.is_on("enabled") && self.is_domain_enabled(row.text("domain_id"))
        })
    }

    /// Revokes a token. Returns whether it existed.
    pub fn revoke(&mut self, text: &str) -> bool {
        self.tokens.remove(&digest(text)).is_some()
    }
}

impl Token {
    /// `expires_at` in Keystone's format.
    pub fn expires_text(&self) -> String {
        micros(self.expires_at)
    }

    /// `issued_at` in Keystone's format.
    pub fn issued_text(&self) -> String {
        micros(self.issued_at)
    }
}
