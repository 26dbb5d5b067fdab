//! How much a project may have, in Neutron, Nova and Cinder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Row;
use crate::model::refusal::Refusal;

/// The limits; -1 is none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Quotas {
    limits: BTreeMap<String, i64>,
}

const NETWORK: &[(&str, i64)] = &[
    ("network", 100),
    ("subnet", 100),
    ("subnetpool", -1),
    ("port", 500),
    ("router", 10),
    ("floatingip", 50),
    ("security_group", 100),
    ("security_group_rule", 500),
    ("rbac_policy", 10),
];

const COMPUTE: &[(&str, i64)] = &[
    ("instances", 20),
    ("cores", 40),
    ("ram", 51_200),
    ("key_pairs", 100),
    ("metadata_items", 128),
    ("server_groups", 10),
    ("server_group_members", 10),
];

const VOLUME: &[(&str, i64)] = &[
    ("volumes", 50),
    ("snapshots", 50),
    ("gigabytes", 1000),
    ("per_volume_gigabytes", -1),
    ("backups", 10),
    ("backup_gigabytes", 1000),
    ("groups", 10),
];

impl Default for Quotas {
    fn default() -> Self {
        let all = NETWORK.iter().chain(COMPUTE).chain(VOLUME);
        Self {
            limits: all.map(|(name, limit)| ((*name).into(), *limit)).collect(),
        }
    }
}

impl Quotas {
    /// No limits but those on metadata: for scale tests.
    pub fn unlimited() -> Self {
        let mut quotas = Self::default();
        for (name, limit) in &mut quotas.limits {
            if name != "metadata_items" {
                *limit = -1;
            }
        }
        quotas
    }

    /// One limit.
    pub fn limit(&self, name: &str) -> i64 {
        self.limits.get(name).copied().unwrap_or(-1)
    }

    /// Set one limit.
    pub fn set(&mut self, name: &str, limit: i64) {
        self.limits.insert(name.into(), limit);
    }

    /// Whether one more fits; refused as Neutron does.
    fn check(&self, project_id: &str, name: &str, used: usize) -> Result<(), Refusal> {
        let limit = self.limit(name);
        // The cloud's own things belong to no project and count for none.
        if project_id.is_empty() || limit < 0 || (used as i64) < limit {
            return Ok(());
        }
        Err(Refusal::conflict(
            "OverQuota",
            format!("Quota exceeded for resources: ['{name}']."),
        ))
    }

    /// Whether a project may have one more of these.
    pub fn check_count<'r, T: Row + 'r>(
        &self,
        project_id: &str,
        name: &str,
        rows: impl Iterator<Item = &'r T>,
    ) -> Result<(), Refusal> {
        if self.limit(name) < 0 {
            return Ok(());
        }
        let mine = rows.filter(|row| row.common().project_id == project_id);
        self.check(project_id, name, mine.count())
    }

    /// Neutron's body.
    pub fn network_body(&self) -> Value {
        self.body(NETWORK)
    }

    /// Nova's body.
    pub fn compute_body(&self) -> Value {
        self.body(COMPUTE)
    }

    /// Cinder's body.
    pub fn volume_body(&self) -> Value {
        self.body(VOLUME)
    }

    fn body(&self, names: &[(&str, i64)]) -> Value {
        names
            .iter()
            .map(|(name, _)| ((*name).to_owned(), json!(self.limit(name))))
            .collect()
    }
}
