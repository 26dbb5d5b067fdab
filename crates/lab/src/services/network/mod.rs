//! Neutron: one file for each resource type, and the table of types for the HTTP handlers.
//!
//! A type defines its attributes, the callers that can set them, and its creation, change and deletion. The common
//! parts (request bodies, filters, visibility, `description`, tags) are implemented once for this table, so a new type
//! is a file and a line here.

pub(crate) mod address_scope;
pub(crate) mod body;
pub(crate) mod collections;
pub(crate) mod extensions;
pub(crate) mod floating_ip;
pub(crate) mod metering;
#[expect(
    clippy::module_inception,
    reason = "Neutron's word for the resource is network too"
)]
pub(crate) mod network;
pub(crate) mod port;
pub(crate) mod port_addresses;
pub(crate) mod port_checks;
pub(crate) mod port_forwarding;
pub(crate) mod port_forwardings;
pub(crate) mod provider;
pub(crate) mod qos;
pub(crate) mod qos_policy;
pub(crate) mod quotas;
pub(crate) mod rbac_policy;
pub(crate) mod records;
pub(crate) mod router;
pub(crate) mod router_interface;
pub(crate) mod routers;
pub(crate) mod security_group;
pub(crate) mod security_group_rule;
pub(crate) mod segment;
pub(crate) mod subnet;
pub(crate) mod subnet_checks;
pub(crate) mod subnet_pool;
pub(crate) mod tags;
pub(crate) mod trunk;
pub(crate) mod trunks;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::kit::field::Field;
use crate::kit::ids::now;
use crate::kit::refusal::Refusal;
use crate::kit::table::Keyed;
use crate::services::network::body::Body;
use crate::services::network::records::Records;
use crate::services::quota::Quotas;
use crate::services::{Model, Routes};

pub(crate) fn routes() -> Routes {
    collections::routes()
        .and(extensions::routes())
        .and(port_forwardings::routes())
        .and(qos::routes())
        .and(quotas::routes())
        .and(routers::routes())
        .and(tags::routes())
        .and(trunks::routes())
}

/// A collection of Neutron.
pub struct Collection {
    /// The path, and the list's name in bodies: `networks`.
    pub collection: &'static str,
    /// The singular name in bodies: `network`.
    pub singular: &'static str,
    pub fields: &'static [Field],
    pub creators: Creators,
    /// Whether the resource is visible to this project, which is not its owner.
    pub shared: fn(&Model, &Value, &str) -> bool,
    /// The exception's name and the message of a 404; `{}` is replaced by the id.
    pub missing: (&'static str, &'static str),
    pub rows: Rows,
}

/// The rows of a collection.
pub enum Rows {
    /// Rows of a Rust type.
    Typed {
        /// The documents of a list. It can contain more rows than the filters select, never fewer.
        list: fn(&Model, &ListQuery) -> Vec<Value>,
        get: fn(&Model, &str) -> Option<Value>,
        /// Creates a row for the project. Returns its id.
        create: fn(&mut Model, &str, Body) -> Result<String, Refusal>,
        update: fn(&mut Model, &str, Body) -> Result<(), Refusal>,
        delete: fn(&mut Model, &str) -> Result<(), Refusal>,
    },
    /// Records.
    Records(Records),
}

impl Collection {
    pub fn list(&self, model: &Model, query: &ListQuery) -> Vec<Value> {
        match &self.rows {
            Rows::Typed { list, .. } => list(model, query),
            Rows::Records(records) => records.list(model),
        }
    }

    pub fn get(&self, model: &Model, id: &str) -> Option<Value> {
        match &self.rows {
            Rows::Typed { get, .. } => get(model, id),
            Rows::Records(records) => records.get(model, id),
        }
    }

    pub fn create(&self, model: &mut Model, project: &str, body: Body) -> Result<String, Refusal> {
        match &self.rows {
            Rows::Typed { create, .. } => create(model, project, body),
            Rows::Records(records) => records.create(model, self.fields, project, body),
        }
    }

    pub fn update(&self, model: &mut Model, id: &str, body: Body) -> Result<(), Refusal> {
        match &self.rows {
            Rows::Typed { update, .. } => update(model, id, body),
            Rows::Records(records) => records.update(model, id, body),
        }
    }

    pub fn delete(&self, model: &mut Model, id: &str) -> Result<(), Refusal> {
        match &self.rows {
            Rows::Typed { delete, .. } => delete(model, id),
            Rows::Records(records) => records.delete(model, id),
        }
    }

    pub fn not_found(&self, id: &str) -> Refusal {
        let (name, sentence) = self.missing;
        Refusal::not_found(name, sentence.replace("{}", id))
    }
}

/// The callers that can create and change resources of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creators {
    /// Members of the project.
    Members,
    /// Administrators.
    Admins,
}

/// The project and filters of a list. They are applied before rows are converted to JSON, since there can be thousands.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListQuery<'a> {
    /// The project whose own and shared resources are listed. `None` lists all.
    pub project: Option<&'a str>,
    /// The query parameters.
    pub filters: &'a [(String, String)],
}

/// A row with attributes that can be filtered without JSON.
pub trait Row: Keyed + Serialize {
    fn common(&self) -> &Common;

    /// An attribute that is often used as a filter. `None` for other attributes.
    fn filterable(&self, name: &str) -> Option<&str>;
}

/// Implements [`Row`] for a type, with the attributes for [`Row::filterable`] besides the id.
macro_rules! row {
    ($kind:ty $(, $name:ident)*) => {
        impl $crate::services::network::Row for $kind {
            fn common(&self) -> &$crate::services::network::Common {
                &self.common
            }

            fn filterable(&self, name: &str) -> Option<&str> {
                match name {
                    "id" => Some(&self.id),
                    $(stringify!($name) => Some(&self.$name),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use row;

impl ListQuery<'_> {
    /// The value of a filter, unless it is repeated.
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut all = self.filters.iter().filter(|(key, _)| key == name);
        let first = all.next().map(|(_, value)| value.as_str());
        // A repeated parameter means any of its values.
        first.filter(|_| all.next().is_none())
    }

    /// The documents of the rows that can match.
    pub fn values<'r, T: Row + 'r>(
        &self,
        rows: impl Iterator<Item = &'r T>,
        shared: impl Fn(&T) -> bool,
        show: impl Fn(&T) -> Value,
    ) -> Vec<Value> {
        let fits = |row: &T| {
            let seen = self
                .project
                .is_none_or(|project| row.common().project_id == project || shared(row));
            seen && self.filters.iter().all(|(name, _)| {
                let mut values = self.filters.iter().filter(|(key, _)| key == name);
                row.filterable(name)
                    .is_none_or(|is| values.any(|(_, wanted)| wanted == is))
            })
        };
        let mut fitting = rows.filter(|row| fits(row)).peekable();
        let Some(limit) = fitting.peek().and_then(|row| self.limit(*row)) else {
            return fitting.map(show).collect();
        };
        // The page, with its marker before it, which `query::page` searches, and with one row after it, which shows
        // that there are more.
        let marker = self.value("marker");
        fitting
            .skip_while(|row| marker.is_some_and(|marker| row.key() != marker))
            .take(limit + 1 + usize::from(marker.is_some()))
            .map(show)
            .collect()
    }

    /// The page size, if all filters can be applied without JSON.
    fn limit<T: Row>(&self, row: &T) -> Option<usize> {
        let plain = |name: &str| ["limit", "marker", "fields"].contains(&name);
        let mut names = self.filters.iter().map(|(name, _)| name.as_str());
        let filterable = names.all(|name| plain(name) || row.filterable(name).is_some());
        let limit = self.value("limit").filter(|_| filterable)?;
        limit.parse().ok().filter(|limit| *limit > 0)
    }
}

/// All resource types.
pub static COLLECTIONS: &[&Collection] = &[
    &network::NETWORK,
    &subnet::SUBNET,
    &port::PORT,
    &router::ROUTER,
    &floating_ip::FLOATING_IP,
    &security_group::SECURITY_GROUP,
    &security_group_rule::SECURITY_GROUP_RULE,
    &subnet_pool::SUBNET_POOL,
    &qos_policy::QOS_POLICY,
    &trunk::TRUNK,
    &address_scope::ADDRESS_SCOPE,
    &rbac_policy::RBAC_POLICY,
    &metering::METERING_LABEL,
    &metering::METERING_RULE,
    &segment::SEGMENT,
];

/// The standard attributes of Neutron's resources.
#[derive(Debug, Clone, Default, Serialize, serde::Deserialize)]
pub struct Common {
    pub project_id: String,
    /// The owner, under its deprecated name.
    pub tenant_id: String,
    /// Free text, at most 255 characters.
    pub description: String,
    /// Set with `PUT .../tags`.
    pub tags: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    /// Number of changes.
    pub revision_number: u32,
}

impl Common {
    /// The attributes of a new resource.
    pub fn new(project_id: &str, attributes: &mut Body) -> Result<Self, Refusal> {
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

    /// Records a change.
    pub fn mark_updated(&mut self) {
        self.updated_at = now();
        self.revision_number += 1;
    }
}

/// A resource as JSON.
pub fn to_value<T: Serialize>(row: &T) -> Value {
    serde_json::to_value(row).unwrap_or_default()
}

/// Assigns the remaining attributes to the row's fields of the same name.
pub fn assign<T>(row: &mut T, attributes: Body) -> Result<(), Refusal>
where
    T: Serialize + DeserializeOwned,
{
    let mut value = to_value(row);
    let fields: Option<&mut Map<String, Value>> = value.as_object_mut();
    if let Some(fields) = fields {
        for (name, new) in attributes.into_fields() {
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

impl Quotas {
    /// Checks that a project can create one more of these.
    pub fn check_count<'r, T: Row + 'r>(
        &self,
        project_id: &str,
        name: &str,
        rows: impl Iterator<Item = &'r T>,
    ) -> Result<(), Refusal> {
        if self.limit(project_id, name) < 0 {
            return Ok(());
        }
        let mine = rows.filter(|row| row.common().project_id == project_id);
        self.check(project_id, name, mine.count())
    }
}
