//! `OS::Neutron::Net`: a network. Source: Networking API v2.0, "Networks".

use async_trait::async_trait;
use openstack::network::{Network, Segment};
use serde_json::{Map, Value, json};

use super::mark;
use super::plain::Fields;
use super::properties::Properties;
use crate::driver::{Context, DriverError, Marker};

pub(super) struct Net;

#[async_trait]
impl Fields for Net {
    type Thing = Network;
    const FIXED: &'static [&'static str] = &["tenant_id", "availability_zone_hints"];

    const ON_DEMAND: &'static [&'static str] = &["segments"];

    async fn read(
        &self,
        context: &Context<'_>,
        id: &str,
    ) -> Result<Map<String, Value>, DriverError> {
        segments(context, id).await
    }

    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
        body(context.marker, context.properties)
    }
}

/// The attribute `segments`: those without a name first, as in Heat. Clouds without the extension refuse the request.
pub(super) async fn segments(
    context: &Context<'_>,
    id: &str,
) -> Result<Map<String, Value>, DriverError> {
    let mut segments: Vec<Segment> = context
        .session
        .network()
        .list(&[("network_id", id)])
        .await?;
    segments.sort_by_key(|segment| segment.name.is_some());
    Ok(Map::from_iter([("segments".to_owned(), json!(segments))]))
}

fn body(marker: &Marker, map: &Map<String, Value>) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    body.insert("name".into(), mark::physical_name(marker, map).into());
    properties.copy_booleans(
        &["admin_state_up", "shared", "port_security_enabled"],
        &mut body,
    )?;
    // Neutron lets administrators alone set it, even to what it is anyway.
    if body.get("shared") == Some(&Value::Bool(false)) {
        body.remove("shared");
    }
    properties.copy(
        &["dns_domain", "availability_zone_hints", "tenant_id"],
        &mut body,
    );
    if let Some(policy) = properties.get("qos_policy") {
        body.insert("qos_policy_id".into(), policy.clone());
    }
    properties.copy_value_specs(&mut body);
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_of_a_network() {
        let marker = Marker {
            deployment: "d".into(),
            deployment_name: "shop".into(),
            resource: "front".into(),
        };
        let properties =
            json!({"shared": "false", "admin_state_up": "true", "value_specs": {"mtu": 1400}});
        assert_eq!(
            Value::Object(body(&marker, properties.as_object().unwrap()).unwrap()),
            json!({"name": "shop-front", "admin_state_up": true, "mtu": 1400})
        );
    }
}
