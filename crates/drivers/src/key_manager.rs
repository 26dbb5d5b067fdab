//! The driver of Barbican's types: secrets, containers of secrets, and orders for secrets.
//!
//! The name is the only field for a marker, and names are not unique. So the name is the marker if the template has
//! none. Otherwise the existing resources with the name are recorded before the creation. Barbican supports no updates.
//!
//! These types are code instead of data: Barbican responds to a creation with a link instead of a record, and the body
//! of each type depends on other properties. A type defines its body; [`KeyManagerDriver`] does the rest.

use async_trait::async_trait;
use openstack::key_manager::{KeyManager, Kind};
use serde_json::{Map, Value};

use super::marker;
use super::marker::MarkerIndex;
use super::properties::Properties;
use crate::driver::{
    Abilities, ByName, Context, Driver, DriverError, Duplicates, Earlier, ListMarked, Marked,
    Namesakes, Progress, Ready, Search,
};

/// The differences of a type from the others.
#[async_trait]
pub(super) trait KeyManagerType: Send + Sync {
    const KIND: Kind;
    /// Display name of the resource type in messages: `secret`.
    const TITLE: &'static str;
    /// Whether Barbican can add parts to it during its deletion. Then the deletion is repeated.
    const GROWS: bool = false;

    /// The body of a creation with this name.
    fn body(
        &self,
        name: String,
        properties: Properties<'_>,
    ) -> Result<Map<String, Value>, DriverError>;

    /// Attributes beside `status`, the reference and `show`.
    async fn attributes(
        &self,
        _keys: &KeyManager<'_>,
        _about: &Value,
    ) -> Result<Map<String, Value>, DriverError> {
        Ok(Map::new())
    }

    /// Whether an existing resource can be used. If not, another one is created.
    async fn is_usable(&self, _keys: &KeyManager<'_>, _about: &Value) -> Result<bool, DriverError> {
        Ok(true)
    }

    /// Deletes the resource with all its parts. A missing resource is success.
    async fn remove(&self, keys: &KeyManager<'_>, id: &str) -> Result<(), DriverError> {
        Ok(keys.remove(Self::KIND, id).await?)
    }

    /// Whether the resource is gone.
    async fn is_gone(&self, keys: &KeyManager<'_>, id: &str) -> Result<bool, DriverError> {
        Ok(metadata(keys, Self::KIND, id).await?.is_none())
    }
}

/// The record of a resource. `None` if it is gone.
pub(super) async fn metadata(
    keys: &KeyManager<'_>,
    kind: Kind,
    id: &str,
) -> Result<Option<Value>, DriverError> {
    match keys.metadata(kind, id).await {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The payload of a secret. `None` if it is not text, has expired, or is not accessible to this user.
pub(super) async fn payload(keys: &KeyManager<'_>, id: &str) -> Result<Option<Value>, DriverError> {
    match keys.secret_payload(id).await {
        Ok(payload) => Ok(Some(payload.expose().into())),
        Err(error) if matches!(error.status(), Some(403 | 404 | 406)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The driver of a type.
pub(super) struct KeyManagerDriver<T>(pub(super) T);

#[async_trait]
impl<T: KeyManagerType> Driver for KeyManagerDriver<T> {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            by_name: Some(self),
            repeats_deletion: T::GROWS,
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let properties = Properties::of(context.properties);
        let given = properties.filled("name")?;
        let is_given = given.is_some();
        let name = given.unwrap_or_else(|| marker::marker_name(context.marker));
        let fields = self.0.body(name.clone(), properties)?;
        let keys = context.session.key_manager();
        if context.earlier == Earlier::Possible
            && !is_given
            && let Some(found) = self.usable(&keys, &name).await?.into_iter().next()
        {
            return Ok(found);
        }
        Ok(keys.store(T::KIND, &Value::Object(fields)).await?)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let keys = context.session.key_manager();
        let title = T::TITLE;
        let Some(metadata) = metadata(&keys, T::KIND, physical_id).await? else {
            return Ok(Progress::Failed(format!("the {title} is gone")));
        };
        let text = |field: &str| metadata[field].as_str();
        Ok(match text("status") {
            Some("ERROR") => Progress::Failed(format!(
                "the key manager gave up on the {title}: {}",
                text("error_reason").unwrap_or("no reason given")
            )),
            Some("PENDING") => {
                let why = text("sub_status_message").filter(|why| *why != "Unknown");
                Progress::Pending(match why {
                    Some(why) => format!("the {title} is in state PENDING: {why}"),
                    None => format!("the {title} is in state PENDING"),
                })
            }
            _ if !self.0.is_usable(&keys, &metadata).await? => {
                Progress::Failed(format!("the {title} refers to something that is gone"))
            }
            _ => {
                let reference = metadata[T::KIND.reference()].clone();
                let mut attributes = self.0.attributes(&keys, &metadata).await?;
                attributes.insert("status".into(), metadata["status"].clone());
                attributes.insert(T::KIND.reference().into(), reference.clone());
                attributes.insert("show".into(), metadata);
                Progress::Ready(Ready {
                    reference,
                    attributes,
                })
            }
        })
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let keys = context.session.key_manager();
        let ids = match physical_id {
            Some(id) => vec![id.to_owned()],
            None => {
                let name = marker::marker_name(context.marker);
                keys.ids_by_name(T::KIND, &name).await?
            }
        };
        for id in ids {
            self.0.remove(&keys, &id).await?;
            if physical_id.is_none() && !self.0.is_gone(&keys, &id).await? {
                // The engine does not wait for a resource without an id.
                return Err(DriverError::Other(format!(
                    "the {} {id} cannot be removed before the key manager is done with it; try again in a moment",
                    T::TITLE
                )));
            }
        }
        Ok(())
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        self.0
            .is_gone(&context.session.key_manager(), physical_id)
            .await
    }
}

#[async_trait]
impl<T: KeyManagerType> ByName for KeyManagerDriver<T> {
    async fn namesakes(&self, context: &Context<'_>) -> Result<Option<Namesakes>, DriverError> {
        let Some(name) = Properties::of(context.properties).filled("name")? else {
            return Ok(None);
        };
        let ids = self.usable(&context.session.key_manager(), &name).await?;
        Ok(Some(Namesakes { name, ids }))
    }
}

#[async_trait]
impl<T: KeyManagerType> ListMarked for KeyManagerDriver<T> {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let marks = MarkerIndex::of(search, marker::marker_name);
        let keys = search.session.key_manager();
        let mut marked = Vec::new();
        for (id, name) in keys.names(T::KIND).await? {
            let Some(one) = search.marked_by_name(&marks, id, name) else {
                continue;
            };
            // The record of an order remains if only administrators can delete orders.
            if let Some(metadata) = metadata(&keys, T::KIND, &one.physical_id).await?
                && self.0.is_usable(&keys, &metadata).await?
            {
                marked.push(one);
            }
        }
        Ok(marked)
    }
}

impl<T: KeyManagerType> KeyManagerDriver<T> {
    /// Ids of the usable resources with a name.
    async fn usable(&self, keys: &KeyManager<'_>, name: &str) -> Result<Vec<String>, DriverError> {
        let mut usable = Vec::new();
        for id in keys.ids_by_name(T::KIND, name).await? {
            if let Some(metadata) = metadata(keys, T::KIND, &id).await?
                && self.0.is_usable(keys, &metadata).await?
            {
                usable.push(id);
            }
        }
        Ok(usable)
    }
}
