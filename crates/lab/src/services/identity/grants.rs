//! Who may do what: roles, given to users and groups.
//!
//! The roles are Keystone's default ones: an `admin` is a `member` too, and a `member` a `reader`. Members change their project's things,
//! readers look at them, admins make projects.

use serde::{Deserialize, Serialize};

use crate::kit::ids::stable_hex_id;
use crate::kit::table::keyed_by_id;
use crate::services::identity::Identity;

/// A role.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Role {
    /// Hexadecimal id.
    pub id: String,
    /// `admin`, `member`, `reader`, or one that somebody made, which allows nothing.
    pub name: String,
    /// Where alone it counts.
    #[serde(default)]
    pub domain_id: Option<String>,
    /// Free text.
    #[serde(default)]
    pub description: Option<String>,
}

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
    /// What, by the role's id.
    pub role_id: String,
}

keyed_by_id!(Role);

impl Identity {
    /// Make a role with a stable id.
    pub fn add_role(&mut self, name: &str) -> String {
        let id = stable_hex_id(&format!("role/{name}"));
        self.roles.insert(Role {
            id: id.clone(),
            name: name.into(),
            domain_id: None,
            description: None,
        });
        id
    }

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
            // What is a domain's own is for implying others, and in no token.
            .filter(|role| role.domain_id.is_none())
            .map(|role| role.name.clone())
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
        row.user_id == user_id || self.directory.is_member(&row.group_id, user_id)
    }

    /// Take a group away, and what is said about it.
    pub fn remove_group(&mut self, id: &str) -> bool {
        self.assignments.retain(|row| row.group_id != id);
        self.directory.members.retain(|(group, _)| group != id);
        self.directory.groups.remove(id).is_some()
    }

    /// Take a role away, from all who have it.
    pub fn remove_role(&mut self, id: &str) -> bool {
        self.assignments.retain(|row| row.role_id != id);
        self.roles.remove(id).is_some()
    }
}
