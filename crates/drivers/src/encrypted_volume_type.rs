//! `OS::Cinder::EncryptedVolumeType`: encryption of the volumes of a type.
//!
//! A volume type has at most one encryption, so the type's id identifies it. `get_resource` returns the type's id, as
//! in Heat. There is no field for a marker: the creation fails for an encrypted type, and the encryption is added once
//! the journal contains the id. Every encryption of ours is therefore in the journal, and an existing one is never
//! adopted. Source: Block Storage API v3, "Volume type encryption".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::volume_types::VOLUME_TYPES;
use serde_json::{Map, Value};

use super::described::lookup::id_required;
use super::properties::Properties;
use super::record::{done_if_gone, with_show};
use crate::driver::{Abilities, Context, Driver, DriverError, Duplicates, Progress, Ready, Update};

pub(super) struct EncryptedVolumeType;

#[async_trait]
impl Driver for EncryptedVolumeType {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Nested
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let volume_type = id_required(context, "volume_type", &VOLUME_TYPES).await?;
        if encryption(context, &volume_type)
            .await?
            .as_ref()
            .is_some_and(is_set)
        {
            let message = "the type is encrypted already; leave this one out of the template, or encrypt it no more";
            return Err(DriverError::Property {
                property: "volume_type".into(),
                message: message.into(),
            });
        }
        Ok(volume_type)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let Some(mut there) = encryption(context, physical_id).await? else {
            return Ok(Progress::Failed("the volume type is gone".into()));
        };
        let fields = fields(context.properties)?;
        let storage = context.session.block_storage();
        if !is_set(&there) {
            storage.encryption_create(physical_id, &fields).await?;
        } else if fields
            .iter()
            .any(|(name, value)| there.get(name) != Some(value))
        {
            // The template changed before the first progress check.
            storage.encryption_update(physical_id, &fields).await?;
        }
        there.extend(fields);
        Ok(Progress::Ready(Ready {
            reference: physical_id.into(),
            attributes: with_show(there),
        }))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        match physical_id {
            Some(id) => {
                let storage = context.session.block_storage();
                done_if_gone(storage.encryption_delete(id).await)
            }
            // Without an id, nothing was created.
            None => Ok(()),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let there = encryption(context, physical_id).await?;
        Ok(!there.as_ref().is_some_and(is_set))
    }
}

#[async_trait]
impl Update for EncryptedVolumeType {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let fields = fields(context.properties)?;
        let storage = context.session.block_storage();
        Ok(storage.encryption_update(physical_id, &fields).await?)
    }
}

fn fields(map: &Map<String, Value>) -> Result<Record, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    body.insert("provider".into(), properties.required("provider")?.into());
    let place = properties.filled("control_location")?;
    let place = place.unwrap_or_else(|| "front-end".into());
    body.insert("control_location".into(), place.into());
    if let Some(cipher) = properties.filled("cipher")? {
        body.insert("cipher".into(), cipher.into());
    }
    if let Some(bits) = properties.integer("key_size")? {
        body.insert("key_size".into(), bits.into());
    }
    Ok(body)
}

/// Encryption of a volume type. `None` if the type does not exist.
async fn encryption(
    context: &Context<'_>,
    volume_type: &str,
) -> Result<Option<Record>, DriverError> {
    let storage = context.session.block_storage();
    match storage.encryption_get(volume_type).await {
        Err(error) if error.is_not_found() => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// Whether a volume type is encrypted. Without encryption, Cinder returns an empty object.
fn is_set(encryption: &Record) -> bool {
    encryption.get("provider").is_some_and(Value::is_string)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn body_of_an_encryption() {
        let properties =
            json!({"provider": "luks", "key_size": "256", "cipher": null, "volume_type": "t"});
        let body = fields(properties.as_object().unwrap()).unwrap();
        assert_eq!(
            Value::Object(body),
            json!({"provider": "luks", "control_location": "front-end", "key_size": 256})
        );
    }
}
