//! Quotas of projects in Neutron, Nova, Cinder and Octavia.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::kit::refusal::Refusal;

/// The limits by resource; -1 is unlimited.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Quotas {
    limits: BTreeMap<String, i64>,
    /// The limits that administrators set for single projects.
    #[serde(default)]
    projects: BTreeMap<String, BTreeMap<String, i64>>,
}

/// The resources that a service limits, with their default limits.
pub type Limits = &'static [(&'static str, i64)];

/// Neutron's quotas.
pub const NETWORK: Limits = &[
    ("network", 100),
    ("subnet", 100),
    ("subnetpool", -1),
    ("port", 500),
    ("router", 10),
    ("floatingip", 50),
    ("security_group", 100),
    ("security_group_rule", 500),
    ("rbac_policy", 10),
    ("trunk", -1),
];

/// Nova's quotas.
pub const COMPUTE: Limits = &[
    ("instances", 20),
    ("cores", 40),
    ("ram", 51_200),
    ("key_pairs", 100),
    ("metadata_items", 128),
    ("server_groups", 10),
    ("server_group_members", 10),
];

/// Nova's quotas before 2.36, with networks, and before 2.57, with file injection.
pub const COMPUTE_LEGACY: Limits = &[
    ("instances", 20),
    ("cores", 40),
    ("ram", 51_200),
    ("key_pairs", 100),
    ("metadata_items", 128),
    ("server_groups", 10),
    ("server_group_members", 10),
    ("fixed_ips", -1),
    ("floating_ips", -1),
    ("security_groups", -1),
    ("security_group_rules", -1),
    ("injected_files", 5),
    ("injected_file_content_bytes", 10_240),
    ("injected_file_path_bytes", 255),
];

/// Cinder's quotas.
pub const VOLUME: Limits = &[
    ("volumes", 50),
    ("snapshots", 50),
    ("gigabytes", 1000),
    ("per_volume_gigabytes", -1),
    ("backups", 10),
    ("backup_gigabytes", 1000),
    ("groups", 10),
];

/// Octavia's quotas.
pub const LOAD_BALANCING: Limits = &[
    ("load_balancer", -1),
    ("listener", -1),
    ("member", -1),
    ("pool", -1),
    ("health_monitor", -1),
    ("l7policy", -1),
    ("l7rule", -1),
];

impl Default for Quotas {
    fn default() -> Self {
        let all = NETWORK.iter().chain(COMPUTE_LEGACY).chain(VOLUME);
        let all = all.chain(LOAD_BALANCING);
        Self {
            limits: all.map(|(name, limit)| ((*name).into(), *limit)).collect(),
            projects: BTreeMap::new(),
        }
    }
}

impl Quotas {
    /// No limits except on metadata, for scale tests.
    pub fn unlimited() -> Self {
        let mut quotas = Self::default();
        for (name, limit) in &mut quotas.limits {
            if name != "metadata_items" {
                *limit = -1;
            }
        }
        quotas
    }

    /// A limit of a project.
    pub fn limit(&self, project_id: &str, name: &str) -> i64 {
        let own = self.projects.get(project_id);
        let found = own.and_then(|own| own.get(name));
        found.or(self.limits.get(name)).copied().unwrap_or(-1)
    }

    /// Sets a default limit.
    pub fn set(&mut self, name: &str, limit: i64) {
        self.limits.insert(name.into(), limit);
    }

    /// Sets the default limits. Limits of single projects remain.
    pub fn set_defaults(&mut self, usual: Quotas) {
        self.limits = usual.limits;
    }

    /// Sets a project's own limits.
    pub fn set_for(&mut self, project_id: &str, limits: BTreeMap<String, i64>) {
        self.projects
            .entry(project_id.into())
            .or_default()
            .extend(limits);
    }

    /// Resets a project's limits of one service to the defaults. Returns whether it had any.
    pub fn reset_for(&mut self, names: Limits, project_id: &str) -> bool {
        let Some(own) = self.projects.get_mut(project_id) else {
            return false;
        };
        let before = own.len();
        own.retain(|name, _| !names.iter().any(|(one, _)| one == name));
        own.len() < before
    }

    /// Parses the limits of a body. The error is the first invalid name.
    pub fn read(names: Limits, body: &Map<String, Value>) -> Result<BTreeMap<String, i64>, String> {
        let mut limits = BTreeMap::new();
        for (name, value) in body {
            // Other fields of the body.
            if ["force", "tenant_id", "project_id", "check_limit"].contains(&name.as_str()) {
                continue;
            }
            let number = match value {
                Value::String(text) => text.parse().ok(),
                other => other.as_i64(),
            };
            let known = names.iter().any(|(one, _)| one == name);
            match number.filter(|number| *number >= -1 && known) {
                Some(number) => limits.insert(name.clone(), number),
                None => return Err(name.clone()),
            };
        }
        Ok(limits)
    }

    /// Checks that one more resource is within the limit, with Neutron's error.
    pub fn check(&self, project_id: &str, name: &str, used: usize) -> Result<(), Refusal> {
        let limit = self.limit(project_id, name);
        // Resources without a project belong to the cloud and have no limit.
        if project_id.is_empty() || limit < 0 || (used as i64) < limit {
            return Ok(());
        }
        Err(Refusal::conflict(
            "OverQuota",
            format!("Quota exceeded for resources: ['{name}']."),
        ))
    }

    /// The bodies of all projects with their own limits.
    pub fn bodies(&self, names: Limits) -> Vec<Value> {
        let own = self.projects.iter();
        let own = own.filter(|(_, own)| names.iter().any(|(name, _)| own.contains_key(*name)));
        own.map(|(project, _)| {
            let mut body = self.body(names, project);
            body["project_id"] = project.as_str().into();
            body["tenant_id"] = project.as_str().into();
            body
        })
        .collect()
    }

    /// The body of a service: a project's limits, or the defaults for an empty id.
    pub fn body(&self, names: Limits, project_id: &str) -> Value {
        names
            .iter()
            .map(|(name, _)| ((*name).to_owned(), json!(self.limit(project_id, name))))
            .collect()
    }
}
