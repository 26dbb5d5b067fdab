//! Who may do what: roles, given to users and groups.
//!
//! The roles are Keystone's default ones: an `admin` is a `member` too, and a `member` a `reader`. Members change their project's
//! things, readers look at them, admins make projects.

use serde::{Deserialize, Serialize};

use crate::kit::record::Attributes;
use crate::services::identity::Identity;

/// Who may do what where: a user or a group, in a project or a domain; what is not meant is empty. Nobody logs in to a domain
/// here, so what is given there is kept without effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Who.
    pub user_id: String,
    /// Or all in it.
    #[serde(default)]
    pub group_id: String,
    /// Where.
    pub project_id: String,
    /// Or there.
    #[serde(default)]
    pub domain_id: String,
    /// The role's id.
    pub role_id: String,
}

impl Identity {
    /// Give a role; one that is there already is fine.
    pub fn assign(&mut self, assignment: Assignment) {
        if !self.assignments.contains(&assignment) {
            self.assignments.push(assignment);
        }
    }

    /// The names of a user's roles in a project, with those that they imply.
    pub fn roles_of(&self, user_id: &str, project_id: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .assignments
            .iter()
            .filter(|row| row.project_id == project_id && self.is_for(row, user_id))
            .filter_map(|row| self.roles.get(&row.role_id))
            // Roles of a domain only imply others; tokens do not contain them.
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

    /// Whether an assignment is a user's, also by a group.
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
