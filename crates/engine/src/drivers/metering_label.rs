//! `OS::Neutron::MeteringLabel`: traffic that is counted together; which traffic, its rules say, which are resources of their own.
//! For administrators. Source: Networking API v2.0, "Metering labels".

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::mark;
use super::plain::Fields;
use super::properties::Properties;
use crate::driver::{Context, DriverError};

pub(super) struct MeteringLabel;

#[async_trait]
impl Fields for MeteringLabel {
    type Thing = openstack::network::MeteringLabel;
    const FIXED: &'static [&'static str] = &[];

    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
        let properties = Properties::of(context.properties);
        let mut body = Map::new();
        let name = mark::physical_name(context.marker, context.properties);
        body.insert("name".into(), name.into());
        properties.copy_booleans(&["shared"], &mut body)?;
        Ok(body)
    }
}
