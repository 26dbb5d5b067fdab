//! `OS::Neutron::Segment`: a piece of a network that is one physical segment. For administrators, of clouds that have the
//! extension `segment`. Source: Networking API v2.0, "Segments".

use async_trait::async_trait;
use openstack::network::{Network, Segment as Thing};
use serde_json::{Map, Value};

use super::mark;
use super::plain::Fields;
use super::properties::Properties;
use crate::driver::{Context, DriverError};

pub(super) struct Segment;

#[async_trait]
impl Fields for Segment {
    type Thing = Thing;
    const FIXED: &'static [&'static str] = &[
        "network_id",
        "network_type",
        "physical_network",
        "segmentation_id",
    ];

    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
        let properties = Properties::of(context.properties);
        let network = properties.required("network")?;
        let network = properties
            .id_named::<Network>(context.session, "network", &network)
            .await?;
        let name = mark::physical_name(context.marker, context.properties);
        let mut body = Map::from_iter([
            ("name".to_owned(), name.into()),
            ("network_id".to_owned(), network.into()),
        ]);
        properties.copy(&["network_type", "physical_network"], &mut body);
        if let Some(tag) = properties.integer("segmentation_id")? {
            body.insert("segmentation_id".into(), tag.into());
        }
        Ok(body)
    }
}
