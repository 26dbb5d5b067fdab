//! `OS::Cinder::QoSSpecs`: QoS specifications of volumes.
//!
//! A specification has a unique name, and keys for hypervisors and storage backends, but no field for a marker, so the
//! name is its identity. The creation only checks the name, and refuses an existing one. The specification is created
//! once the journal contains the name. Every specification of ours is therefore in the journal, and an existing one is
//! never adopted. `get_resource` returns Cinder's id. Associated volume types are dissociated before the deletion, as
//! in Heat. Source: Block Storage API v3, "Quality of service specifications".

use async_trait::async_trait;
use openstack::collection::{Record, id_of};
use openstack::volume_types::QOS_SPECS;
use serde_json::Value;

use super::described::lookup::{keys, pairs};
use super::marker;
use super::properties::Properties;
use super::record::{done_if_gone, with_show};
use crate::driver::{Abilities, Context, Driver, DriverError, Duplicates, Progress, Ready, Update};

pub(super) struct QosSpecs;

/// A field beside the keys, which always exists.
const CONSUMER: &str = "consumer";

#[async_trait]
impl Driver for QosSpecs {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let properties = Properties::of(context.properties);
        let given = properties.filled("name")?;
        let name = given.unwrap_or_else(|| marker::marker_name(context.marker));
        if named(context, &name).await?.is_some() {
            let message = format!(
                "the cloud has a QoS specification `{name}` already; choose another name, or use that one by its name"
            );
            return Err(properties.wrong("name", message));
        }
        Ok(name)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let there = match named(context, physical_id).await? {
            Some(there) => there,
            None => {
                let mut fields = pairs(context.properties, "specs")?;
                fields.insert("name".into(), physical_id.into());
                context.session.records(&QOS_SPECS).create(&fields).await?
            }
        };
        Ok(Progress::Ready(Ready {
            reference: id_of(&there).into(),
            attributes: with_show(there),
        }))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        // Without an id, nothing was created.
        let Some(name) = physical_id else {
            return Ok(());
        };
        let Some(there) = named(context, name).await? else {
            return Ok(());
        };
        let id = id_of(&there);
        let storage = context.session.block_storage();
        done_if_gone(storage.qos_disassociate_all(&id).await)?;
        done_if_gone(context.session.records(&QOS_SPECS).delete(&id).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        Ok(named(context, physical_id).await?.is_none())
    }
}

#[async_trait]
impl Update for QosSpecs {
    fn removable_entries(&self) -> &'static [&'static str] {
        &["specs"]
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let Some(there) = named(context, physical_id).await? else {
            // The next progress check creates it again.
            return Ok(());
        };
        let storage = context.session.block_storage();
        let id = id_of(&there);
        let (mut leaving, wanted) = keys(context, "specs")?;
        storage.qos_set(&id, &wanted).await?;
        // Cinder stops at the first missing key and keeps all keys after it.
        leaving.retain(|key| key != CONSUMER && there["specs"].get(key).is_some());
        if !leaving.is_empty() {
            storage.qos_unset(&id, &leaving).await?;
        }
        Ok(())
    }
}

async fn named(context: &Context<'_>, name: &str) -> Result<Option<Record>, DriverError> {
    let all = context.session.records(&QOS_SPECS).list(&[]).await?;
    let is_it = |one: &Record| one.get("name").and_then(Value::as_str) == Some(name);
    Ok(all.into_iter().find(is_it))
}
