//! Barbican: named secrets of a project, containers that gather them, who may read either, and orders for secrets.
//!
//! The payload lies in the lab's memory and, with a state directory, in its state file (mode 0600): a lab protects nothing that
//! matters.

use serde::{Deserialize, Serialize};

use crate::kit::table::keyed_by_id;

/// A secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Secret {
    pub id: String,
    pub name: Option<String>,
    /// The owner and the ACL.
    #[serde(flatten)]
    pub guard: Guard,
    /// `opaque`, `private`, `passphrase`, ...
    pub secret_type: String,
    pub algorithm: Option<String>,
    pub bit_length: Option<u32>,
    pub mode: Option<String>,
    /// When it ends, if ever.
    pub expiration: Option<String>,
    /// MIME type of the payload.
    pub content_type: Option<String>,
    /// The payload, base64.
    pub payload: Option<String>,
    pub created: String,
    pub updated: String,
}

/// A container: secrets under names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SecretContainer {
    pub id: String,
    pub name: Option<String>,
    /// The owner and the ACL.
    #[serde(flatten)]
    pub guard: Guard,
    /// `generic`, `rsa` or `certificate`.
    #[serde(rename = "type")]
    pub kind: String,
    pub secrets: Vec<Held>,
    pub created: String,
    pub updated: String,
}

/// A secret in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The name in the container.
    pub name: Option<String>,
    /// The secret; it may be gone by now.
    pub secret_id: String,
}

/// An order: the service makes a secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub id: String,
    /// The owner.
    #[serde(flatten)]
    pub guard: Guard,
    /// `key`, `asymmetric` or `certificate`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The `meta` object of the order.
    pub meta: serde_json::Map<String, serde_json::Value>,
    /// The outcome.
    pub outcome: Outcome,
    pub created: String,
}

/// The outcome of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// This secret, which may be gone by now.
    Made { secret_id: String },
    /// This container with a pair of keys, which may be gone by now.
    Paired { container_id: String },
    /// An authority is waited for.
    Waiting,
    /// The service cannot make such a thing.
    Failed,
}

keyed_by_id!(Secret, SecretContainer, Order);

/// The owner and the ACL of a resource.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Guard {
    pub project_id: String,
    pub creator_id: String,
    /// The ACL. `None` lets the whole project read.
    #[serde(default)]
    pub acl: Option<Acl>,
}

/// A list of readers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Acl {
    /// Users who may read, of whatever project.
    pub users: Vec<String>,
    /// Whether the project's other members may do anything with it.
    pub project_access: bool,
    /// When the list was made.
    pub created: String,
    pub updated: String,
}

impl Guard {
    /// Whether a user in a project may change it. An administrator is one of its own project only.
    pub fn lets_change(&self, project_id: &str, user_id: &str, admin: bool) -> bool {
        let open = self.acl.as_ref().is_none_or(|acl| acl.project_access);
        self.project_id == project_id && (open || admin || self.creator_id == user_id)
    }

    /// Whether a user in a project may read it.
    pub fn lets_read(&self, project_id: &str, user_id: &str, admin: bool) -> bool {
        let listed = self.acl.as_ref().is_some_and(|acl| {
            let mut users = acl.users.iter();
            users.any(|user| user == user_id)
        });
        listed || self.lets_change(project_id, user_id, admin)
    }
}

#[cfg(test)]
mod tests {
    use crate::services::key_manager::secret::*;

    #[test]
    fn a_secret_is_read_by_its_project_or_the_users_of_its_acl() {
        let guard = |acl: Option<(&[&str], bool)>| Guard {
            project_id: "ours".into(),
            creator_id: "ann".into(),
            acl: acl.map(|(users, project_access)| Acl {
                users: users.iter().map(|user| (*user).into()).collect(),
                project_access,
                created: String::new(),
                updated: String::new(),
            }),
        };
        for (acl, project, user, read, change) in [
            (None, "ours", "bob", true, true),
            (None, "theirs", "eve", false, false),
            (Some((&["eve"][..], true)), "theirs", "eve", true, false),
            (Some((&[][..], false)), "ours", "bob", false, false),
            (Some((&["bob"][..], false)), "ours", "bob", true, false),
            (Some((&[][..], false)), "ours", "ann", true, true),
        ] {
            let told = format!("{acl:?} {project} {user}");
            let guard = guard(acl);
            assert_eq!(guard.lets_read(project, user, false), read, "{told}");
            assert_eq!(guard.lets_change(project, user, false), change, "{told}");
        }
    }
}
