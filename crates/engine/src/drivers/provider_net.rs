//! `OS::Neutron::ProviderNet`: a network on a physical one. For administrators.
//!
//! What a network is made on is said once: of what it is asked to change Neutron takes the number of a VLAN and refuses the
//! rest, a tunnel's number even if it is the same. Source: Networking API v2.0, "Provider extended attributes".

use async_trait::async_trait;
use openstack::network::Network;
use serde_json::{Map, Value};

use super::plain::Fields;
use super::properties::Properties;
use super::{mark, net};
use crate::driver::{Context, DriverError};

pub(super) struct ProviderNet;

const NETWORK_TYPE: &str = "network_type";
const PHYSICAL_NETWORK: &str = "physical_network";
const SEGMENTATION_ID: &str = "segmentation_id";

#[async_trait]
impl Fields for ProviderNet {
    type Thing = Network;
    const FIXED: &'static [&'static str] = &["tenant_id", "availability_zone_hints"];
    const ONCE: &'static [(&'static str, &'static str)] = &[
        (NETWORK_TYPE, "provider:network_type"),
        (PHYSICAL_NETWORK, "provider:physical_network"),
        (SEGMENTATION_ID, "provider:segmentation_id"),
    ];

    const ON_DEMAND: &'static [&'static str] = &["segments"];

    async fn read(
        &self,
        context: &Context<'_>,
        id: &str,
    ) -> Result<Map<String, Value>, DriverError> {
        net::segments(context, id).await
    }

    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
        let properties = Properties::of(context.properties);
        let name = mark::physical_name(context.marker, context.properties);
        let mut body = Map::from_iter([("name".to_owned(), name.into())]);
        for (property, field) in Self::ONCE {
            if let Some(value) = properties.get(property) {
                body.insert((*field).into(), value.clone());
            }
        }
        if let Some(tag) = properties.integer(SEGMENTATION_ID)? {
            body.insert("provider:segmentation_id".into(), tag.into());
        }
        if let Some(outside) = properties.boolean("router_external")? {
            body.insert("router:external".into(), outside.into());
        }
        properties.copy_booleans(&["admin_state_up", "port_security_enabled"], &mut body)?;
        // As in Heat, unlike other networks.
        let shared = properties.boolean("shared")?.unwrap_or(true);
        body.insert("shared".into(), shared.into());
        properties.copy(
            &["dns_domain", "availability_zone_hints", "tenant_id"],
            &mut body,
        );
        Ok(body)
    }
}
