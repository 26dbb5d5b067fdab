//! The calls that make a resource of a type, as far as they are data: the `api` block of a description.
//!
//! ```yaml
//! api:
//!   service: network
//!   path: networks                       # of the collection
//!   words: [network, networks]           # in bodies: of one, of a list
//!   title: network                       # for people
//!   fields:                              # of properties whose field is not just of the same name
//!     network: {to: network_id, finds: OS::Neutron::Net}
//!     dhcp_agent_ids: {sent: never}
//! ```
//! A property without `updates` is sent on creation only. The engine's generic driver reads the block. It is no part of
//! [`ResourceType`](crate::ResourceType), so browsers do not get it.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, json};

use crate::{files, read};

/// The calls of a type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Api {
    /// The service that keeps the resources.
    pub service: ApiService,
    /// The path of the collection: `qos/policies`. In braces, the property that names the resource around it:
    /// `lbaas/pools/{pool}/members`.
    pub path: String,
    /// The words in bodies: of one, of a list.
    pub words: (String, String),
    /// For people: `security group`.
    pub title: String,
    /// Where the resource carries the mark.
    #[serde(default)]
    pub marker: MarkerPlace,
    /// The name in the cloud.
    #[serde(default)]
    pub name: Naming,
    /// What becomes of a resource that an earlier attempt left.
    #[serde(default)]
    pub leftover: Leftover,
    /// Whether the service changes the resource itself. If not, all of a change takes calls of its own.
    #[serde(default = "yes")]
    pub changeable: bool,
    /// Fields that a list can be filtered by, beside the name.
    #[serde(default)]
    pub filters: Vec<String>,
    /// How the collection is listed.
    #[serde(default)]
    pub list: Listing,
    /// Fields of properties, where there is more to a field than the property's name.
    #[serde(default, deserialize_with = "fields")]
    pub fields: BTreeMap<String, Field>,
}

/// A service with types that are data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiService {
    /// Cinder.
    BlockStorage,
    /// Nova.
    Compute,
    /// Keystone.
    Identity,
    /// Octavia.
    LoadBalancer,
    /// Neutron.
    Network,
}

/// Where a resource carries the mark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerPlace {
    /// In the description, behind a person's own.
    #[default]
    Description,
    /// In the name, until the journal has the id. After that it gets the name that people see.
    FirstName,
    /// Under a key of the metadata, which are set in a call of their own; until then in the name.
    Metadata,
    /// In a tag: the parts of load balancers.
    Tag,
    /// Nowhere: these fields identify it. A list can be filtered by the first one.
    Content(Vec<String>),
}

/// The name in the cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// The template's, else one made from the deployment's name.
    #[default]
    Readable,
    /// The same for a service in which no two have the same name.
    Unique,
    /// A property like others.
    Property,
    /// There is no name.
    None,
}

/// What becomes of a resource that an earlier attempt left before the journal had its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftover {
    /// It is taken.
    #[default]
    Taken,
    /// It is removed and made again: it may be incomplete, or made from another version of the template.
    Remade,
}

/// How a collection is listed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Listing {
    /// The path segment that lists resources in full.
    pub in_full: Option<String>,
    /// The query of a list that has all.
    pub query: BTreeMap<String, String>,
    /// Whether the list can be filtered by name.
    pub by_name: Option<bool>,
    /// The least microversion.
    pub version: Option<(u32, u32)>,
}

/// The field of a property.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Field {
    /// Its name, where that is not the property's.
    pub to: Option<String>,
    /// The type whose resources the property names; the field has the id.
    pub finds: Option<String>,
    /// The value that is sent where none is given.
    pub absent: Option<Value>,
    /// The cloud's default, which not everybody may set: it is sent only as a change.
    pub unless: Option<Value>,
    /// What becomes of an empty value.
    pub empty: Empty,
    /// Whether a text is sent as the whole number that it is.
    pub integer: bool,
    /// When it is sent.
    pub sent: Sent,
}

/// What becomes of an empty text or list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Empty {
    /// It is sent.
    #[default]
    Sent,
    /// It counts as not given.
    Absent,
    /// Null is sent in its place.
    Null,
}

/// When a field is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// On creation, and on updates where the property updates.
    #[default]
    AsDescribed,
    /// On creation only, although the property updates.
    Once,
    /// On creation, and on updates that change it.
    IfChanged,
    /// Never: a driver reads the property, or nobody does.
    Never,
}

fn yes() -> bool {
    true
}

/// A text in place of a field is its name.
fn fields<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Field>, D::Error> {
    let written = BTreeMap::<String, Value>::deserialize(from)?;
    let fields = written.into_iter().map(|(property, field)| {
        let field = match field {
            Value::String(name) => json!({ "to": name }),
            field => field,
        };
        Ok((property, serde_json::from_value(field)?))
    });
    let fields: Result<_, serde_json::Error> = fields.collect();
    fields.map_err(D::Error::custom)
}

impl Api {
    /// The property that names the parent of a resource, for a collection inside another resource.
    pub fn parent(&self) -> Option<&str> {
        let (_, inside) = self.path.split_once('{')?;
        inside.split_once('}').map(|(property, _)| property)
    }

    /// The calls of a type, where they are data.
    pub fn of(resource_type: &str) -> Option<&'static Api> {
        Api::all().get(resource_type)
    }

    /// The calls of all types that have them as data, by the name of the type.
    pub fn all() -> &'static BTreeMap<String, Api> {
        static ALL: LazyLock<BTreeMap<String, Api>> = LazyLock::new(|| {
            let files = files::FILES.iter();
            // A test reads all of them; here none can be wrong.
            files
                .filter_map(|(_, text)| read::block(text, "api").ok()?)
                .collect()
        });
        &ALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    #[test]
    fn every_api_block_is_valid_and_names_known_properties() {
        for (path, text) in files::FILES {
            read::block::<Api>(text, "api").unwrap_or_else(|why| panic!("{path}.yaml: {why}"));
        }
        for (name, api) in Api::all() {
            let described = Registry::shared().get(name).unwrap();
            if let Some(parent) = api.parent() {
                let finds = api.fields.get(parent).and_then(|one| one.finds.as_ref());
                assert!(finds.is_some(), "{name} finds no parent by `{parent}`");
            }
            for (property, field) in &api.fields {
                assert!(
                    described.property(property).is_some(),
                    "{name} has no property `{property}`"
                );
                let finds = field.finds.iter();
                let unknown: Vec<_> = finds.filter(|one| Api::of(one).is_none()).collect();
                assert!(unknown.is_empty(), "{name}.{property} finds {unknown:?}");
            }
        }
    }
}
