//! The collections of Keystone as data: required fields and defaults of a creation, access for callers without the role
//! `admin`, and effects of a deletion.
//!
//! Keystone accepts and returns additional fields in these resources, so records are stored as they were received.

use serde_json::{Value, json};

use crate::kit::ids::digest;
use crate::kit::record::{Attributes, Fields, Record};
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::kit::token::Token;
use crate::services::identity::{DOMAIN_ID, Identity, catalog, not_found};

/// The operation of a call on a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    List,
    Get,
    Create,
    Update,
    Delete,
}

/// A collection.
pub struct Collection {
    /// The singular name, used in bodies.
    pub one: &'static str,
    /// The plural name, used for lists and in paths.
    pub many: &'static str,
    /// The required fields of a creation.
    pub required: &'static [&'static str],
    /// The filters of lists.
    pub filters: &'static [&'static str],
    /// The default values of a creation.
    pub defaults: fn() -> Value,
    /// Whether names are unique within a domain.
    pub unique_names: bool,
    /// Whether a record belongs to a domain. The default is [`DOMAIN_ID`].
    pub in_domain: bool,
    pub table: fn(&Identity) -> &Table<Record>,
    pub table_mut: fn(&mut Identity) -> &mut Table<Record>,
    /// Whether callers other than administrators can do this. The record is the document, or the body of a creation.
    pub is_allowed_for_user: fn(&Token, Verb, &Value) -> bool,
    /// Checks and normalises a new or changed record.
    pub check: fn(&Identity, &mut Fields) -> Result<(), Refusal>,
    /// Completes a document.
    pub show: fn(&mut Value),
    /// The lab's built-in records.
    pub built_in: fn(&str) -> Vec<Value>,
    /// Removes an existing record.
    pub remove: fn(&mut Identity, &str) -> Result<(), Refusal>,
}

const BASE: Collection = Collection {
    one: "",
    many: "",
    required: &["name"],
    filters: &["name", "enabled", "domain_id"],
    defaults: || json!({}),
    unique_names: true,
    in_domain: false,
    table: |all| &all.domains,
    table_mut: |all| &mut all.domains,
    is_allowed_for_user: |_, _, _| false,
    check: |_, _| Ok(()),
    show: |_| {},
    built_in: |_| Vec::new(),
    remove: |_, _| Ok(()),
};

static DOMAIN: Collection = Collection {
    one: "domain",
    many: "domains",
    filters: &["name", "enabled"],
    defaults: || json!({"description": "", "enabled": true, "tags": [], "options": {}}),
    is_allowed_for_user: |_, verb, row| verb == Verb::Get && !row.is_null(),
    remove: |identity, id| {
        if identity.is_domain_enabled(id) {
            return Err(Refusal::forbidden(
                "Cannot delete a domain that is enabled, please disable it first.",
            ));
        }
        identity.remove_domain(id);
        Ok(())
    },
    ..BASE
};

pub static PROJECT: Collection = Collection {
    one: "project",
    many: "projects",
    defaults: || json!({"description": "", "enabled": true, "parent_id": null, "tags": [], "options": {}, "is_domain": false}),
    in_domain: true,
    table: |all| &all.projects,
    table_mut: |all| &mut all.projects,
    is_allowed_for_user: |token, verb, row| {
        verb == Verb::Get && row["id"] == json!(token.project_id)
    },
    check: |identity, fields| {
        if fields.text("name").trim().is_empty() {
            return Err(Refusal::bad_request("'name' is a required property"));
        }
        // The parent of a top-level project is its domain.
        let parent = fields.text("parent_id");
        if parent.is_empty() || parent == fields.text("domain_id") {
            let domain = fields["domain_id"].clone();
            fields.insert("parent_id".into(), domain);
        } else if identity.projects.get(parent).is_none() {
            return Err(not_found("project", parent));
        }
        Ok(())
    },
    remove: |identity, id| {
        let is_child = |row: &Record| row.text("parent_id") == id;
        if identity.projects.iter().any(is_child) {
            return Err(Refusal::forbidden(format!(
                "Cannot delete the project {id} since it is not a leaf in the hierarchy. Use the cascade option if you want to \
                 delete a whole subtree."
            )));
        }
        identity.remove_project(id);
        Ok(())
    },
    ..BASE
};

pub static USER: Collection = Collection {
    one: "user",
    many: "users",
    defaults: || json!({"enabled": true, "default_project_id": null, "options": {}}),
    in_domain: true,
    table: |all| &all.users,
    table_mut: |all| &mut all.users,
    is_allowed_for_user: |token, verb, row| verb == Verb::Get && row["id"] == token.user_id,
    check: |_, fields| {
        if let Some(Value::String(password)) = fields.remove("password") {
            fields.insert("password_digest".into(), digest(&password).into());
        }
        let Some(options) = fields.get_mut("options").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        const RULES: &str = "multi_factor_auth_rules";
        const ENABLED: &str = "multi_factor_auth_enabled";
        let rules = options.remove(RULES).unwrap_or_default();
        let rules: Vec<Vec<String>> = serde_json::from_value(rules).unwrap_or_default();
        if rules.is_empty() {
            options.retain(|name, value| name != ENABLED || value != &Value::Bool(true));
        } else {
            options.insert(RULES.into(), json!(rules));
            options.entry(ENABLED).or_insert(Value::Bool(true));
        }
        Ok(())
    },
    show: |user| {
        user["password_expires_at"] = Value::Null;
        user.as_object_mut()
            .and_then(|user| user.remove("password_digest"));
    },
    remove: |identity, id| {
        identity.remove_user(id);
        Ok(())
    },
    ..BASE
};

pub static ROLE: Collection = Collection {
    one: "role",
    many: "roles",
    defaults: || json!({"domain_id": null, "description": null, "options": {}}),
    table: |all| &all.roles,
    table_mut: |all| &mut all.roles,
    check: |identity, fields| {
        let domain = fields.text("domain_id");
        if domain.is_empty() || identity.domains.get(domain).is_some() {
            Ok(())
        } else {
            Err(not_found("domain", domain))
        }
    },
    remove: |identity, id| {
        identity.remove_role(id);
        Ok(())
    },
    ..BASE
};

pub static GROUP: Collection = Collection {
    one: "group",
    many: "groups",
    filters: &["name", "domain_id"],
    defaults: || json!({"description": ""}),
    in_domain: true,
    table: |all| &all.groups,
    table_mut: |all| &mut all.groups,
    remove: |identity, id| {
        identity.remove_group(id);
        Ok(())
    },
    ..BASE
};

static CREDENTIAL: Collection = Collection {
    one: "credential",
    many: "credentials",
    required: &["user_id", "type", "blob"],
    filters: &["user_id", "type"],
    defaults: || json!({"project_id": null}),
    unique_names: false,
    table: |all| &all.credentials,
    table_mut: |all| &mut all.credentials,
    is_allowed_for_user: |token, verb, row| verb == Verb::List || row["user_id"] == token.user_id,
    remove: |identity, id| {
        identity.credentials.remove(id);
        Ok(())
    },
    ..BASE
};

static REGION: Collection = Collection {
    one: "region",
    many: "regions",
    required: &[],
    filters: &["parent_region_id"],
    defaults: || json!({"description": "", "parent_region_id": null}),
    unique_names: false,
    table: |all| &all.regions,
    table_mut: |all| &mut all.regions,
    is_allowed_for_user: |_, verb, row| verb == Verb::List || verb == Verb::Get && !row.is_null(),
    check: |identity, fields| {
        let parent = fields.text("parent_region_id");
        if parent.is_empty() || identity.regions.get(parent).is_some() {
            Ok(())
        } else {
            Err(not_found("region", parent))
        }
    },
    remove: |identity, id| {
        // The lab's own endpoints are in the region `lab`.
        let mut endpoints = identity.endpoints.iter();
        if id == "lab" || endpoints.any(|row| row.text("region_id") == id) {
            return Err(Refusal::forbidden(format!(
                "Unable to delete region {id} because it or its child regions have associated endpoints."
            )));
        }
        identity.regions.remove(id);
        Ok(())
    },
    ..BASE
};

static SERVICE: Collection = Collection {
    one: "service",
    many: "services",
    required: &["type"],
    filters: &["name", "type"],
    defaults: || json!({"enabled": true}),
    unique_names: false,
    table: |all| &all.services,
    table_mut: |all| &mut all.services,
    built_in: catalog::own_services,
    remove: |identity, id| {
        let is_of = |row: &Record| row.text("service_id") == id;
        identity.endpoints.remove_where(is_of);
        identity.services.remove(id);
        Ok(())
    },
    ..BASE
};

static ENDPOINT: Collection = Collection {
    one: "endpoint",
    many: "endpoints",
    required: &["service_id", "interface", "url"],
    filters: &["interface", "service_id", "region_id"],
    defaults: || json!({"enabled": true, "region_id": null}),
    unique_names: false,
    table: |all| &all.endpoints,
    table_mut: |all| &mut all.endpoints,
    check: |identity, fields| {
        let interface = fields.text("interface");
        if !matches!(interface, "admin" | "internal" | "public") {
            return Err(Refusal::bad_request(format!(
                "Invalid input for field 'interface': '{interface}' is not one of ['admin', 'internal', 'public']"
            )));
        }
        let missing = |what: &str| {
            Refusal::bad_request(format!(
                "Expecting to find endpoint {what}_id in {what} table. The server could not comply with the request since it is either \
                 malformed or otherwise incorrect. The client is assumed to be in error."
            ))
        };
        let (service, region) = (fields.text("service_id"), fields.text("region_id"));
        let is_own = || {
            catalog::own_services("")
                .iter()
                .any(|row| row["id"] == service)
        };
        if identity.services.get(service).is_none() && !is_own() {
            return Err(missing("service"));
        }
        if !region.is_empty() && identity.regions.get(region).is_none() {
            return Err(missing("region"));
        }
        Ok(())
    },
    show: |endpoint| endpoint["region"] = endpoint["region_id"].clone(),
    built_in: catalog::own_endpoints,
    remove: |identity, id| {
        identity.endpoints.remove(id);
        Ok(())
    },
    ..BASE
};

/// All collections.
pub static COLLECTIONS: [&Collection; 9] = [
    &DOMAIN,
    &PROJECT,
    &USER,
    &ROLE,
    &GROUP,
    &CREDENTIAL,
    &REGION,
    &SERVICE,
    &ENDPOINT,
];

impl Collection {
    /// The domain of a new record: the requested one, or the default.
    pub fn domain_of(&self, identity: &Identity, wanted: &Fields) -> Result<String, Refusal> {
        let named = wanted.get("domain_id").and_then(Value::as_str);
        let domain = named.unwrap_or(DOMAIN_ID);
        match identity.domains.get(domain) {
            Some(_) => Ok(domain.to_owned()),
            None => Err(not_found("domain", domain)),
        }
    }

    /// The document of a record.
    pub fn document(&self, row: &Record, base: &str) -> Value {
        let mut document = Value::Object(row.fields.clone());
        document["id"] = json!(row.id);
        (self.show)(&mut document);
        let link = format!("{base}/identity/v3/{}/{}", self.many, row.id);
        document["links"] = json!({ "self": link });
        document
    }
}
