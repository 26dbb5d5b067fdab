//! `OS::Keystone::Endpoint`: where a service is, for whom and in which region.
//! Source: Identity API v3, "Service catalog and endpoints".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::identity::{ENDPOINTS, REGIONS, SERVICES};

use super::super::properties::Properties;
use super::super::records::{Records, id_in, id_required};
use super::named;
use crate::driver::{Context, DriverError};

pub(super) struct Endpoint;

#[async_trait]
impl Records for Endpoint {
    const OF: &'static Collection = &ENDPOINTS;
    const ASKED_BY: &'static [&'static str] = &["service_id", "interface"];

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let properties = Properties::of(context.properties);
        let mut body = named(context)?;
        let service = id_required(context, "service", &SERVICES).await?;
        body.insert("service_id".into(), service.into());
        for name in ["interface", "url"] {
            body.insert(name.into(), properties.required(name)?.into());
        }
        if let Some(region) = id_in(context, "region", &REGIONS).await? {
            body.insert("region_id".into(), region.into());
        }
        Ok(body)
    }
}
