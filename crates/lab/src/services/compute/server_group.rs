//! Nova's server groups: servers that should be together, or apart. There is one host, so the lab keeps the wish and grants it by
//! saying so.

use serde::{Deserialize, Serialize};

use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;

/// A server group; servers name theirs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerGroup {
    pub id: String,
    pub name: String,
    /// `affinity`, `anti-affinity`, or either with `soft-`.
    pub policy: String,
    pub project_id: String,
    pub user_id: String,
    /// Maximum number of servers per host, for anti-affinity.
    pub max_server_per_host: Option<u32>,
}

keyed_by_id!(ServerGroup);

/// The policies that there are.
pub const POLICIES: &[&str] = &[
    "anti-affinity",
    "affinity",
    "soft-anti-affinity",
    "soft-affinity",
];

impl Model {
    /// A project's group.
    pub fn server_group_of(&self, project_id: &str, id: &str) -> Result<&ServerGroup, Refusal> {
        self.server_groups
            .get(id)
            .filter(|row| row.project_id == project_id)
            .ok_or_else(|| {
                Refusal::not_found(
                    "InstanceGroupNotFound",
                    format!("Instance group {id} could not be found."),
                )
            })
    }
}
