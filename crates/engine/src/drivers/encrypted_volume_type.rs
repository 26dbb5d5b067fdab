//! `OS::Cinder::EncryptedVolumeType`: has the volumes of a type encrypted.
//!
//! A type has one encryption or none, so it is known by its type, and `get_resource` gives the type's id, as in Heat. It carries
//! no mark: one that says the same, on a type of the deployment, is ours from a lost answer; on any other type nothing
//! tells whose it is. Source: Block Storage API v3, "Volume type encryption".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::volume_types::VOLUME_TYPES;
use serde_json::{Map, Value};

use super::mark;
use super::neutron::{done_if_gone, with_show};
use super::properties::Properties;
use super::records::id_required;
use crate::driver::{Context, Driver, DriverError, Progress, Ready, may_be_there};

pub(super) struct EncryptedVolumeType;

#[async_trait]
impl Driver for EncryptedVolumeType {
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let volume_type = id_required(context, "volume_type", &VOLUME_TYPES).await?;
        let fields = fields(context.properties)?;
        if !(may_be_there() && is_ours(context, &volume_type, &fields).await?) {
            let storage = context.session.block_storage();
            storage.encryption_create(&volume_type, &fields).await?;
        }
        Ok(volume_type)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let there = encryption(context, physical_id).await?;
        if there.is_empty() {
            let why = "the volume type is encrypted no more, or gone";
            return Ok(Progress::Failed(why.into()));
        }
        Ok(Progress::Ready(Ready {
            reference: physical_id.into(),
            attributes: with_show(there),
        }))
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let fields = fields(context.properties)?;
        let storage = context.session.block_storage();
        Ok(storage.encryption_update(physical_id, &fields).await?)
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_owned(),
            None => {
                let volume_type = match id_required(context, "volume_type", &VOLUME_TYPES).await {
                    // Without a type it was never made, or went with it.
                    Err(DriverError::Property { .. }) => return Ok(()),
                    found => found?,
                };
                if !is_ours(context, &volume_type, &fields(context.properties)?).await? {
                    return Ok(());
                }
                volume_type
            }
        };
        done_if_gone(context.session.block_storage().encryption_delete(&id).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        Ok(encryption(context, physical_id).await?.is_empty())
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

/// How volumes of the type are encrypted; empty where they are not, or there is no such type.
async fn encryption(context: &Context<'_>, volume_type: &str) -> Result<Record, DriverError> {
    let storage = context.session.block_storage();
    match storage.encryption_get(volume_type).await {
        Err(error) if error.is_not_found() => Ok(Map::new()),
        found => Ok(found?),
    }
}

/// Whether the encryption that is there is the one that these fields made.
async fn is_ours(
    context: &Context<'_>,
    volume_type: &str,
    fields: &Record,
) -> Result<bool, DriverError> {
    let there = encryption(context, volume_type).await?;
    if there.is_empty()
        || !fields
            .iter()
            .all(|(name, value)| there.get(name) == Some(value))
    {
        return Ok(false);
    }
    let volume_type = context
        .session
        .records(&VOLUME_TYPES)
        .get(volume_type)
        .await?;
    let description = volume_type.get("description").and_then(Value::as_str);
    Ok(mark::is_of_deployment(
        description.unwrap_or_default(),
        context.marker,
    ))
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
