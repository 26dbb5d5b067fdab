//! `OS::Cinder::QoSAssociation`: associates volume types with a QoS specification.
//!
//! A volume type has at most one specification, so Cinder refuses a second one. Source: Block Storage API v3, "Quality
//! of service specifications".

use async_trait::async_trait;
use openstack::volume_types::{QOS_SPECS, VOLUME_TYPES};

use super::association::Associations;
use super::described::lookup::{id_named, id_required};
use super::properties::Properties;
use crate::driver::{Context, DriverError};

pub(super) struct QosAssociation;

#[async_trait]
impl Associations for QosAssociation {
    const TITLE: &'static str = "quality of service";

    /// The associations in the form `<specification>/<type>`.
    async fn wanted(&self, context: &Context<'_>) -> Result<Vec<String>, DriverError> {
        let specs = id_required(context, "qos_specs", &QOS_SPECS).await?;
        let properties = Properties::of(context.properties);
        let mut wanted = Vec::new();
        for name in properties.texts("volume_types")? {
            let of = &VOLUME_TYPES;
            let id = id_named(context.session, &properties, of, "volume_types", &name).await?;
            wanted.push(format!("{specs}/{id}"));
        }
        Ok(wanted)
    }

    async fn exists(
        &self,
        context: &Context<'_>,
        association: &str,
    ) -> Result<bool, openstack::Error> {
        let (specs, volume_type) = ends(association);
        match context.session.block_storage().qos_types(specs).await {
            Ok(types) => Ok(types.iter().any(|one| one["id"] == volume_type)),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn add(&self, context: &Context<'_>, association: &str) -> Result<(), openstack::Error> {
        let (specs, volume_type) = ends(association);
        let storage = context.session.block_storage();
        storage.qos_associate(specs, volume_type).await
    }

    async fn remove(
        &self,
        context: &Context<'_>,
        association: &str,
    ) -> Result<(), openstack::Error> {
        let (specs, volume_type) = ends(association);
        let storage = context.session.block_storage();
        storage.qos_disassociate(specs, volume_type).await
    }
}

fn ends(association: &str) -> (&str, &str) {
    association.split_once('/').unwrap_or((association, ""))
}
