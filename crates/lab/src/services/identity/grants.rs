//! Roles of users and groups.
//!
//! The roles are Keystone's default ones: `admin` implies `member`, and `member` implies `reader`. Members change their
//! project's resources, readers only read them, admins create projects.

use serde::{Deserialize, Serialize};

use crate::kit::record::Attributes;
use crate::services::identity::Identity;

/// A role of a user or a group, in a project or a domain. Ids that do not apply are empty. The lab has no domain-scoped
/// tokens, so assignments in domains are stored without effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The user, or empty.
    pub user_id: String,
    /// The group, or empty.
    #[serde(default)]
    pub group_id: String,
    /// The project, or empty.
    pub project_id: String,
    /// The domain, or empty.
    #[serde(default)]
    pub domain_id: String,
    /// The role's id.
    pub role_id: String,
}

impl Identity {
    /// Adds an assignment, unless it already exists.
    pub fn assign(&mut self, assignment: Assignment) {
        if !self.assignments.contains(&assignment) {
            self.assignments.push(assignment);
        }
    }

    /// The names of a user's roles in a project, including implied roles.
    pub fn roles_of(&self, user_id: &str, project_id: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .assignments
            .iter()
            .filter(|row| row.project_id == project_id && self.is_for(row, user_id))
            .filter_map(|row| self.roles.get(&row.role_id))
            // Domain roles only imply others; tokens do not contain them.
            .filter(|role| role.text("domain_id").is_empty())
            .map(|role| role.text("name").to_owned())
            .collect();
        for (role, implied) in [("admin", "member"), ("member", "reader")] {
            let has = |name: &str| names.iter().any(|one| one == name);
            if has(role) && !has(implied) {
                names.push(implied.into());
            }
        }
        names
    }

    /// Whether an assignment applies to a user, directly or through a group.
    pub fn is_for(&self, row: &Assignment, user_id: &str) -> bool {
        row.user_id == user_id || self.is_member(&row.group_id, user_id)
    }

    /// Removes a role with its assignments.
    pub fn remove_role(&mut self, id: &str) {
        self.assignments.retain(|row| row.role_id != id);
        self.roles.remove(id);
    }

    /// Whether a user is in a group.
    pub fn is_member(&self, group: &str, user: &str) -> bool {
        let mut members = self.members.iter();
        members.any(|(one, other)| one == group && other == user)
    }
}
