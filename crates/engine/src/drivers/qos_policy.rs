//! `OS::Neutron::QoSPolicy`: what a port or network promises of its bandwidth; its rules are resources
//! of their own. Most clouds let administrators alone make one.
//! Source: Networking API v2.0, "Quality of Service".

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::mark;
use super::plain::Fields;
use super::properties::Properties;
use crate::driver::{Context, DriverError};

pub(super) struct QosPolicy;

#[async_trait]
impl Fields for QosPolicy {
    type Thing = openstack::network::QosPolicy;
    const FIXED: &'static [&'static str] = &["tenant_id"];

    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
        let properties = Properties::of(context.properties);
        let mut body = Map::new();
        let name = mark::physical_name(context.marker, context.properties);
        body.insert("name".into(), name.into());
        properties.copy_booleans(&["shared"], &mut body)?;
        properties.copy(&["tenant_id"], &mut body);
        Ok(body)
    }
}
