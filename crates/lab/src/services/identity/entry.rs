//! Keystone: what administrators keep beside projects, users and roles: domains, groups, regions, and the catalogue's services
//! and endpoints.
//!
//! Keystone takes any further field for these and gives it back, so they are kept as they were said. The services that the lab
//! really has are not here: they are wherever the client found us.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::kit::table::{Table, keyed_by_id};
use crate::services::identity::account::{DOMAIN_ID, DOMAIN_NAME};

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// Hexadecimal, but for regions, which are called as people like.
    pub id: String,
    /// All else.
    pub fields: Map<String, Value>,
}

keyed_by_id!(Entry);

impl Entry {
    /// A field that is a text; empty where it is none.
    pub fn text(&self, name: &str) -> &str {
        let text = self.fields.get(name).and_then(Value::as_str);
        text.unwrap_or_default()
    }
}

/// All of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Directory {
    /// Organisations.
    pub domains: Table<Entry>,
    /// Users with the same roles.
    pub groups: Table<Entry>,
    /// Parts of the cloud.
    pub regions: Table<Entry>,
    /// What the catalogue has beside the lab's own services.
    pub services: Table<Entry>,
    /// Where those are.
    pub endpoints: Table<Entry>,
    /// Who is in which group: group, user.
    pub members: Vec<(String, String)>,
}

impl Default for Directory {
    fn default() -> Self {
        let entry = |id: &str, fields: Value| Entry {
            id: id.into(),
            fields: fields.as_object().cloned().unwrap_or_default(),
        };
        let (mut domains, mut regions) = (Table::default(), Table::default());
        domains.insert(entry(
            DOMAIN_ID,
            json!({"name": DOMAIN_NAME, "description": "The default domain", "enabled": true}),
        ));
        regions.insert(entry(
            "lab",
            json!({"description": "", "parent_region_id": null}),
        ));
        Self {
            domains,
            groups: Table::default(),
            regions,
            services: Table::default(),
            endpoints: Table::default(),
            members: Vec::new(),
        }
    }
}

impl Directory {
    /// The id of the domain with this id or name.
    pub fn domain_meant(&self, domain: &str) -> Option<&str> {
        let mut domains = self.domains.iter();
        domains
            .find(|row| row.id == domain || row.text("name") == domain)
            .map(|row| row.id.as_str())
    }

    /// The name of a domain.
    pub fn domain_name(&self, id: &str) -> &str {
        self.domains.get(id).map_or("", |row| row.text("name"))
    }

    /// Whether those who live in a domain can log in.
    pub fn is_enabled(&self, domain: &str) -> bool {
        let domain = self.domains.get(domain);
        domain.is_some_and(|row| row.fields.get("enabled") != Some(&Value::Bool(false)))
    }

    /// Whether a user is in a group.
    pub fn is_member(&self, group: &str, user: &str) -> bool {
        let mut members = self.members.iter();
        members.any(|(one, other)| one == group && other == user)
    }
}
