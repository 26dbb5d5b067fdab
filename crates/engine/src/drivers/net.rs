//! `OS::Neutron::Net`: a network. Source: Networking API v2.0, "Networks".

use async_trait::async_trait;
use openstack::network::Network;
use serde_json::{Map, Value};

use super::properties::Properties;
use super::{mark, neutron};
use crate::driver::{Context, Driver, DriverError, Marker, Progress};

pub(super) struct Net;

#[async_trait]
impl Driver for Net {
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if let Some(found) = neutron::find::<Network>(context, None).await? {
            return Ok(found.id);
        }
        let made: Network =
            neutron::make(context, None, body(context.marker, context.properties)?).await?;
        Ok(made.id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        neutron::progress::<Network>(context, physical_id).await
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let fields = body(context.marker, context.properties)?;
        let fixed = ["tenant_id", "availability_zone_hints"];
        neutron::update::<Network>(context, physical_id, None, fields, &fixed)
            .await
            .map(drop)
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        neutron::delete::<Network>(context, physical_id).await
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        neutron::is_gone::<Network>(context, physical_id).await
    }
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
    use serde_json::json;

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
