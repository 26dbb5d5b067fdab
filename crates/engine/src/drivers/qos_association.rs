//! `OS::Cinder::QoSAssociation`: gives volume types a quality of service.
//!
//! Nothing of it is in the cloud but which type has which specification, and to say that twice changes nothing: so it is known by
//! its properties, and its id is just its name here. Source: Block Storage API v3, "Quality of service specifications".

use async_trait::async_trait;
use openstack::volume_types::{QOS_SPECS, VOLUME_TYPES};
use serde_json::{Map, json};

use super::mark;
use super::neutron::done_if_gone;
use super::records::{id_required, members};
use crate::driver::{Context, Driver, DriverError, Progress, Ready};

pub(super) struct QosAssociation;

#[async_trait]
impl Driver for QosAssociation {
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        settle(context).await?;
        Ok(mark::store_name(context.marker))
    }

    async fn progress(&self, _: &Context<'_>, physical_id: &str) -> Result<Progress, DriverError> {
        Ok(Progress::Ready(Ready {
            reference: json!(physical_id),
            attributes: Map::new(),
        }))
    }

    async fn update(&self, context: &Context<'_>, _: &str) -> Result<(), DriverError> {
        settle(context).await
    }

    async fn delete(&self, context: &Context<'_>, _: Option<&str>) -> Result<(), DriverError> {
        // What is there was made from the properties, so all of them leave.
        let leaves = Context {
            properties: &Map::new(),
            before: context.properties,
            ..*context
        };
        let specs = match id_required(context, "qos_specs", &QOS_SPECS).await {
            Err(DriverError::Property { .. }) => return Ok(()),
            found => found?,
        };
        let (leaving, _) = members(&leaves, "volume_types", &VOLUME_TYPES).await?;
        let storage = context.session.block_storage();
        for volume_type in leaving {
            done_if_gone(storage.qos_disassociate(&specs, &volume_type).await)?;
        }
        Ok(())
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

async fn settle(context: &Context<'_>) -> Result<(), DriverError> {
    let specs = id_required(context, "qos_specs", &QOS_SPECS).await?;
    let (leaving, coming) = members(context, "volume_types", &VOLUME_TYPES).await?;
    let storage = context.session.block_storage();
    for volume_type in coming {
        storage.qos_associate(&specs, &volume_type).await?;
    }
    for volume_type in leaving {
        done_if_gone(storage.qos_disassociate(&specs, &volume_type).await)?;
    }
    Ok(())
}
