//! `OS::Nova::FloatingIP` and `OS::Nova::FloatingIPAssociation`: floating IPs in the style of nova-network.
//!
//! As in Heat, the calls go to Neutron. An association has the properties of `OS::Neutron::FloatingIPAssociation` under
//! other names, and uses the driver of that type. Source: Heat, nova/floatingip.py; Compute API, "Port interfaces".

use async_trait::async_trait;
use openstack::collection::Record;
use serde_json::{Map, Value, json};

use super::described::{Hooks, Occasion};
use super::floating_ip_association as association;
use super::properties::Properties;
use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, Handover, Progress, Update,
};

pub(super) struct FloatingIp;

const POOL: &str = "pool";
const NETWORK: &str = "floating_network_id";

#[async_trait]
impl Hooks for FloatingIp {
    /// Without a pool, the address is from the only external network.
    async fn complete(
        &self,
        context: &Context<'_>,
        body: &mut Record,
        occasion: Occasion,
    ) -> Result<(), DriverError> {
        if occasion == Occasion::Creation && !body.contains_key(NETWORK) {
            let id = match &context.session.network().external_networks().await?[..] {
                [only] => only.id.clone(),
                all => {
                    let count = all.len();
                    let message = format!("the cloud has {count} external networks; name one");
                    return Err(Properties::of(context.properties).wrong(POOL, message));
                }
            };
            body.insert(NETWORK.into(), id.into());
        }
        Ok(())
    }

    fn attributes(&self, record: &Record, attributes: &mut Map<String, Value>) {
        for (older, name) in [(POOL, NETWORK), ("ip", "floating_ip_address")] {
            let value = record.get(name).cloned().unwrap_or_default();
            attributes.insert(older.into(), value);
        }
    }
}

pub(super) struct FloatingIpAssociation;

#[async_trait]
impl Driver for FloatingIpAssociation {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            handover: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let neutron_properties = neutron_properties(context).await?;
        let neutron_context = with(context, &neutron_properties);
        association::FloatingIpAssociation
            .create(&neutron_context)
            .await
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let neutron_properties = neutron_properties(context).await?;
        let neutron_context = with(context, &neutron_properties);
        let neutrons = association::FloatingIpAssociation;
        neutrons.progress(&neutron_context, physical_id).await
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        match neutron_properties_if_present(context).await? {
            Some(neutron_properties) => {
                let neutron_context = with(context, &neutron_properties);
                let neutrons = association::FloatingIpAssociation;
                neutrons.delete(&neutron_context, physical_id).await
            }
            // The port was deleted with its server, and the association with the port.
            None => Ok(()),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        match neutron_properties_if_present(context).await? {
            Some(neutron_properties) => {
                let neutron_context = with(context, &neutron_properties);
                let neutrons = association::FloatingIpAssociation;
                neutrons.is_gone(&neutron_context, physical_id).await
            }
            None => Ok(true),
        }
    }
}

#[async_trait]
impl Update for FloatingIpAssociation {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let neutron_properties = neutron_properties(context).await?;
        let neutron_context = with(context, &neutron_properties);
        let neutrons = association::FloatingIpAssociation;
        neutrons.update(&neutron_context, physical_id).await
    }

    async fn id_after_update(&self, context: &Context<'_>, _: &str) -> Result<String, DriverError> {
        Properties::of(context.properties).required("floating_ip")
    }
}

#[async_trait]
impl Handover for FloatingIpAssociation {
    async fn hand_over(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError> {
        let neutrons = association::FloatingIpAssociation;
        neutrons.hand_over(context, physical_id, taker).await
    }
}

/// The properties of Neutron's type: the server's first port with an IPv4 address, and that address.
async fn neutron_properties(context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(context.properties);
    let server = properties.required("server_id")?;
    let floating_ip = properties.required("floating_ip")?;
    let ports = context.session.compute().server_ports(&server).await;
    let ports = ports.map_err(|error| properties.looked_up("server_id", error))?;
    let version_4 = ports.iter().find_map(|port| {
        let mut addresses = port.fixed_ips.iter();
        let address = addresses.find(|one| !one.ip_address.contains(':'))?;
        Some((&port.port_id, &address.ip_address))
    });
    let Some((port, address)) = version_4 else {
        let message = format!("server `{server}` has no port with an address of IP version 4");
        return Err(properties.wrong("server_id", message));
    };
    Ok(map(
        json!({"floatingip_id": floating_ip, "port_id": port, "fixed_ip_address": address}),
    ))
}

/// The properties of Neutron's type. `None` if the server or its port is gone.
async fn neutron_properties_if_present(
    context: &Context<'_>,
) -> Result<Option<Map<String, Value>>, DriverError> {
    match neutron_properties(context).await {
        Err(DriverError::Cloud(error)) if error.is_not_found() => Ok(None),
        Err(DriverError::Property { .. }) => Ok(None),
        found => Ok(Some(found?)),
    }
}

fn with<'a>(context: &Context<'a>, properties: &'a Map<String, Value>) -> Context<'a> {
    Context {
        properties,
        ..*context
    }
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
