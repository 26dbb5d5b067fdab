//! The calls of a resource type, as far as they are data: the `api` block of a description.
//!
//! ```yaml
//! api:
//!   service: network
//!   path: networks                       # of the collection
//!   words: [network, networks]           # keys in bodies: of one, of a list
//!   title: network                       # display name
//!   fields:                              # of properties whose field has another name or special handling
//!     network: {to: network_id, finds: OS::Neutron::Net}
//!     dhcp_agent_ids: {sent: never}
//!   live: {status: status}               # of a resource as the cloud has it now
//! ```
//! A property without `updates` is sent on creation only. The engine's generic driver reads the block, except that of a
//! type with a driver of its own; the page of a deployment needs `live` of both. The block is not part of
//! [`ResourceType`](crate::ResourceType), so browsers do not receive it.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, json};

use crate::{files, read};

/// The calls of a resource type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Api {
    /// Service of the resources.
    pub service: ApiService,
    /// Path of the collection: `qos/policies`. Braces contain the property with the parent resource:
    /// `lbaas/pools/{pool}/members`.
    pub path: String,
    /// Keys in bodies: of one resource, of a list.
    pub words: (String, String),
    /// Display name: `security group`.
    pub title: String,
    /// Location of Stackloom's marker in the resource.
    #[serde(default)]
    pub marker: MarkerPlace,
    /// Rule for the name in the cloud.
    #[serde(default)]
    pub name: Naming,
    /// Handling of a resource left by an earlier attempt.
    #[serde(default)]
    pub leftover: Leftover,
    /// Whether the service can update the resource itself. If not, changes need separate calls.
    #[serde(default = "yes")]
    pub changeable: bool,
    /// Fields with a filter in lists, beside the name.
    #[serde(default)]
    pub filters: Vec<String>,
    /// Options of the list.
    #[serde(default)]
    pub list: Listing,
    /// Fields of properties that differ from the default, which is a field with the property's name.
    #[serde(default, deserialize_with = "fields")]
    pub fields: BTreeMap<String, Field>,
    /// Fields that the page of a deployment shows. `None` if the resources have no status and no address.
    #[serde(default)]
    pub live: Option<Live>,
}

/// Fields with the present state of a resource: `status`, `fixed_ips.ip_address`. A path leads through maps and lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Live {
    /// Path of the status. `None` if the service has none.
    pub status: Option<String>,
    /// Path of the operating status, which Octavia has beside the status.
    pub operating_status: Option<String>,
    /// Path of the addresses.
    pub addresses: Option<String>,
    /// Path of the ids of resources that it is attached to.
    pub attached_to: Option<String>,
    /// Path of the address at which it is attached, for attachments to resources outside of the deployment.
    pub attached_address: Option<String>,
}

/// A service with types whose calls are data.
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

/// Location of Stackloom's marker in a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerPlace {
    /// In the description, after the user's own text.
    #[default]
    Description,
    /// In the name, until the journal contains the id. After that, the resource gets its final name.
    FirstName,
    /// In a key of the metadata, which is set by a separate call; until then in the name.
    Metadata,
    /// In a tag, for the parts of load balancers.
    Tag,
    /// No marker: these fields identify the resource. Lists have a filter by the first field.
    Content(Vec<String>),
}

/// Rule for the name in the cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// The name in the template, else a name derived from the deployment's name.
    #[default]
    Readable,
    /// The same, for services with unique names.
    Unique,
    /// The name is an ordinary property.
    Property,
    /// The resource has no name.
    None,
}

/// Handling of a resource that an earlier attempt left before the journal contained its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftover {
    /// The resource is adopted.
    #[default]
    Taken,
    /// The resource is deleted and created again: it can be incomplete, or belong to another version of the template.
    Remade,
}

/// Options of a collection's list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Listing {
    /// Path segment of the list with all fields.
    pub in_full: Option<String>,
    /// Query of a list with all resources.
    pub query: BTreeMap<String, String>,
    /// Whether the list has a filter by name.
    pub by_name: Option<bool>,
    /// Lowest microversion.
    pub version: Option<(u32, u32)>,
}

/// The field of a property.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Field {
    /// Name of the field. `None` means the name of the property.
    pub to: Option<String>,
    /// Type of the resources in the property; the field contains the id.
    pub finds: Option<String>,
    /// Value of an absent property.
    pub absent: Option<Value>,
    /// Default of the cloud. Setting it can need an administrator, so it is sent only in updates.
    pub unless: Option<Value>,
    /// Handling of an empty value.
    pub empty: Empty,
    /// Whether text is converted to an integer.
    pub integer: bool,
    /// Condition for sending the field.
    pub sent: Sent,
}

/// Handling of an empty text or list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Empty {
    /// Sent as it is.
    #[default]
    Sent,
    /// Treated as absent.
    Absent,
    /// Replaced by null.
    Null,
}

/// Condition for sending a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// On creation, and on updates if the property is updatable.
    #[default]
    AsDescribed,
    /// On creation only, although the property is updatable.
    Once,
    /// On creation, and on updates that change it.
    IfChanged,
    /// Not in any request: a driver reads the property, or it has no effect.
    Never,
}

fn yes() -> bool {
    true
}

/// Parses the fields. A string instead of a map is the name of the field.
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
    /// The property with the parent of a resource, for a nested collection.
    pub fn parent(&self) -> Option<&str> {
        let (_, inside) = self.path.split_once('{')?;
        inside.split_once('}').map(|(property, _)| property)
    }

    /// The calls of a type. `None` if they are not data.
    pub fn of(resource_type: &str) -> Option<&'static Api> {
        Api::all().get(resource_type)
    }

    /// The calls of all types with an `api` block, by the name of the type.
    pub fn all() -> &'static BTreeMap<String, Api> {
        static ALL: LazyLock<BTreeMap<String, Api>> = LazyLock::new(|| {
            let files = files::FILES.iter();
            // A test parses all files, so none can be invalid here.
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

    #[test]
    fn a_type_with_the_attribute_status_shows_it_on_the_page_of_a_deployment() {
        for (name, api) in Api::all() {
            let described = Registry::shared().get(name).unwrap();
            let mut attributes = described.attributes.iter();
            if attributes.any(|attribute| attribute.name == "status") {
                let live = api.live.as_ref();
                assert!(live.is_some_and(|live| live.status.is_some()), "{name}");
            }
            assert_ne!(api.live, Some(Live::default()), "{name}");
        }
    }
}
