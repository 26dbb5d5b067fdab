//! `OS::Neutron::Router`: its gateway. Source: Networking API v2.0, "Routers".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::network::{Network, Subnet};
use serde_json::{Map, Value};

use super::described::{Hooks, Occasion};
use super::properties::Properties;
use crate::driver::{Context, DriverError};

pub(super) struct Router;

const GATEWAY: &str = "external_gateway_info";

#[async_trait]
impl Hooks for Router {
    fn restored(&self) -> &'static [&'static str] {
        &[GATEWAY]
    }

    async fn complete(
        &self,
        context: &Context<'_>,
        body: &mut Record,
        occasion: Occasion,
    ) -> Result<(), DriverError> {
        let properties = Properties::of(context.properties);
        if properties.get("l3_agent_ids").is_some() {
            let why =
                "choosing agents by hand is not supported; leave it out and the cloud chooses";
            return Err(properties.wrong("l3_agent_ids", why.into()));
        }
        match gateway(context).await? {
            Some(gateway) => body.insert(GATEWAY.into(), gateway),
            // Neutron removes a gateway only on an explicit null.
            None if occasion == Occasion::Update => body.insert(GATEWAY.into(), Value::Null),
            None => None,
        };
        Ok(())
    }
}

/// `external_gateway_info` with ids instead of names.
async fn gateway(context: &Context<'_>) -> Result<Option<Value>, DriverError> {
    let Some(info) = Properties::of(context.properties).get(GATEWAY) else {
        return Ok(None);
    };
    let info = Properties::within(info, "external_gateway_info.")?;
    let network = info.required("network")?;
    let network = info
        .id_named::<Network>(context.session, "network", &network)
        .await?;
    let mut gateway = Map::new();
    gateway.insert("network_id".into(), network.into());
    info.copy(&["enable_snat"], &mut gateway);
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
