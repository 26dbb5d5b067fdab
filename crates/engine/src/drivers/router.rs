//! `OS::Neutron::Router`: joins networks, and leads outside. Source: Networking API v2.0, "Routers".

use async_trait::async_trait;
use openstack::network::{self as api, Network, Subnet};
use serde_json::{Map, Value};

use super::properties::Properties;
use super::{mark, neutron};
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Marker, Progress, Search,
};

pub(super) struct Router;

#[async_trait]
impl Driver for Router {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if let Some(found) = neutron::find::<api::Router>(context, None).await? {
            return Ok(found.id);
        }
        let gateway = gateway(context).await?;
        let fields = body(context.marker, context.properties, gateway)?;
        let made: api::Router = neutron::make(context, None, fields).await?;
        Ok(made.id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        neutron::progress::<api::Router>(context, physical_id).await
    }

    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        neutron::attributes::<api::Router>(context, physical_id).await
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        // No gateway any more means to take it away, which Neutron must be told.
        let gateway = gateway(context).await?.unwrap_or(Value::Null);
        let fields = body(context.marker, context.properties, Some(gateway))?;
        let fixed = ["distributed", "ha", "availability_zone_hints"];
        neutron::update::<api::Router>(context, physical_id, None, fields, &fixed)
            .await
            .map(drop)
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        neutron::delete::<api::Router>(context, physical_id).await
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        neutron::is_gone::<api::Router>(context, physical_id).await
    }
}

#[async_trait]
impl ListMarked for Router {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        neutron::list_marked::<api::Router>(search).await
    }
}

/// `external_gateway_info` with ids in place of names.
async fn gateway(context: &Context<'_>) -> Result<Option<Value>, DriverError> {
    let Some(info) = Properties::of(context.properties).get("external_gateway_info") else {
        return Ok(None);
    };
    let info = Properties::within(info, "external_gateway_info.")?;
    let network = info.required("network")?;
    let network = info
        .id_named::<Network>(context.session, "network", &network)
        .await?;
    let mut gateway = Map::new();
    gateway.insert("network_id".into(), network.into());
    info.copy_booleans(&["enable_snat"], &mut gateway)?;
    let mut addresses = Vec::new();
    for (index, address) in info.list("external_fixed_ips").iter().enumerate() {
        let prefix = format!("external_gateway_info.external_fixed_ips.{index}.");
        let address = Properties::within(address, &prefix)?;
        let mut fixed = Map::new();
        address.copy(&["ip_address"], &mut fixed);
        if let Some(subnet) = address.id_of::<Subnet>(context.session, "subnet").await? {
            fixed.insert("subnet_id".into(), subnet.into());
        }
        addresses.push(Value::Object(fixed));
    }
    if !addresses.is_empty() {
        gateway.insert("external_fixed_ips".into(), addresses.into());
    }
    Ok(Some(Value::Object(gateway)))
}

fn body(
    marker: &Marker,
    map: &Map<String, Value>,
    gateway: Option<Value>,
) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    body.insert("name".into(), mark::physical_name(marker, map).into());
    properties.copy_booleans(&["admin_state_up", "distributed", "ha"], &mut body)?;
    properties.copy(&["availability_zone_hints"], &mut body);
    if let Some(gateway) = gateway {
        body.insert("external_gateway_info".into(), gateway);
    }
    if properties.get("l3_agent_ids").is_some() || properties.get("l3_agent_id").is_some() {
        let why = "choosing agents by hand is not supported; leave it out and the cloud chooses";
        return Err(properties.wrong("l3_agent_ids", why.into()));
    }
    properties.copy_value_specs(&mut body);
    Ok(body)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn body_of_a_router_to_the_outside() {
        let marker = Marker {
            deployment: "d".into(),
            deployment_name: "shop".into(),
            resource: "out".into(),
        };
        let properties = json!({"external_gateway_info": {"network": "public"}, "name": "gate"});
        let body = body(
            &marker,
            properties.as_object().unwrap(),
            Some(json!({"network_id": "net-1"})),
        );
        assert_eq!(
            Value::Object(body.unwrap()),
            json!({"name": "gate", "external_gateway_info": {"network_id": "net-1"}})
        );
    }
}
