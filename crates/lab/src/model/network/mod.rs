//! Neutron: one file a kind of thing, and the table of kinds that the HTTP side walks.
//!
//! A kind says which attributes it has, who may set them, and how it is made, changed and deleted. Everything that is the same for
//! all of them (reading bodies, filtering, visibility, `description`, tags) is written once and works on this table, so a
//! further kind is a file and a line here.

pub mod attributes;
pub mod floating_ip;
pub mod ip;
#[expect(
    clippy::module_inception,
    reason = "Neutron's word for the thing is network too"
)]
pub mod network;
pub mod port;
pub mod quota;
pub mod router;
pub mod security_group;
pub mod security_group_rule;
pub mod subnet;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::Model;
use super::ids::now;
use super::refusal::Refusal;
use super::table::{Keyed, Table};
use attributes::{AttributeSpec, Attributes};

/// One kind of thing in Neutron.
pub struct Kind {
    /// `networks`: the path, and the list's name in bodies.
    pub collection: &'static str,
    /// `network`: the thing's name in bodies.
    pub singular: &'static str,
    /// What a body may say.
    pub attributes: &'static [AttributeSpec],
    /// Everything of this kind, as JSON.
    pub list: fn(&Model) -> Vec<Value>,
    /// One of them.
    pub get: fn(&Model, &str) -> Option<Value>,
    /// Whether a project other than the owner sees it.
    pub shared: fn(&Model, &Value) -> bool,
    /// The 404.
    pub not_found: fn(&str) -> Refusal,
    /// Make one for the project; answers its id.
    pub create: fn(&mut Model, &str, Attributes) -> Result<String, Refusal>,
    /// Change one; the attributes are already known to be changeable.
    pub update: fn(&mut Model, &str, Attributes) -> Result<(), Refusal>,
    /// Delete one.
    pub delete: fn(&mut Model, &str) -> Result<(), Refusal>,
}

/// All kinds.
pub static KINDS: &[&Kind] = &[
    &network::NETWORK,
    &subnet::SUBNET,
    &port::PORT,
    &router::ROUTER,
    &floating_ip::FLOATING_IP,
    &security_group::SECURITY_GROUP,
    &security_group_rule::SECURITY_GROUP_RULE,
];

/// What every thing in Neutron carries beside its own attributes.
#[derive(Debug, Clone, Default, Serialize, serde::Deserialize)]
pub struct Common {
    /// Owner.
    pub project_id: String,
    /// Owner, under its old name.
    pub tenant_id: String,
    /// Free text, at most 255 characters.
    pub description: String,
    /// Set with `PUT .../tags`.
    pub tags: Vec<String>,
    /// When it was made.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// Counts changes.
    pub revision_number: u32,
}

impl Common {
    /// For a new thing.
    pub fn new(project_id: &str, attributes: &mut Attributes) -> Result<Self, Refusal> {
        let now = now();
        attributes.take("tenant_id");
        attributes.take("project_id");
        Ok(Self {
            project_id: project_id.into(),
            tenant_id: project_id.into(),
            description: attributes.text("description")?.unwrap_or_default(),
            tags: Vec::new(),
            created_at: now.clone(),
            updated_at: now,
            revision_number: 1,
        })
    }
}

/// A thing as JSON.
pub fn to_value<T: Serialize>(row: &T) -> Value {
    serde_json::to_value(row).unwrap_or_default()
}

/// All rows as JSON.
pub fn to_values<T: Serialize + Keyed>(table: &Table<T>) -> Vec<Value> {
    table.iter().map(to_value).collect()
}

/// Set attributes that need no thought: those of the row that have the same name.
pub fn assign<T>(row: &mut T, attributes: Attributes) -> Result<(), Refusal>
where
    T: Serialize + DeserializeOwned,
{
    let mut value = to_value(row);
    let fields: Option<&mut Map<String, Value>> = value.as_object_mut();
    if let Some(fields) = fields {
        for (name, new) in attributes.into_inner() {
            fields.insert(name, new);
        }
        fields.insert("updated_at".into(), now().into());
        if let Some(revision) = fields.get("revision_number").and_then(Value::as_u64) {
            fields.insert("revision_number".into(), (revision + 1).into());
        }
    }
    *row =
        serde_json::from_value(value).map_err(|error| Refusal::bad_request(error.to_string()))?;
    Ok(())
}
