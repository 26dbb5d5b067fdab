//! `OS::Neutron::Net` and `OS::Neutron::ProviderNet`: the attribute `segments`. Source: Networking API v2.0, "Segments".

use async_trait::async_trait;
use openstack::network::Segment;
use serde_json::{Map, Value, json};

use super::described::Hooks;
use crate::driver::{Abilities, Context, DriverError, OnDemand};

pub(super) struct Net;

#[async_trait]
impl Hooks for Net {
    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            on_demand: Some(self),
            ..Abilities::default()
        }
    }
}

#[async_trait]
impl OnDemand for Net {
    fn names(&self) -> &'static [&'static str] {
        &["segments"]
    }

    /// Segments without a name come first, as in Heat. Clouds without the extension refuse the request.
    async fn read(
        &self,
        context: &Context<'_>,
        id: &str,
        _names: &[&str],
    ) -> Result<Map<String, Value>, DriverError> {
        let network = context.session.network();
        let mut segments: Vec<Segment> = network.list(&[("network_id", id)]).await?;
        segments.sort_by_key(|segment| segment.name.is_some());
        Ok(Map::from_iter([("segments".to_owned(), json!(segments))]))
    }
}
