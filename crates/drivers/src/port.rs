//! `OS::Neutron::Port`: its addresses and attributes, and its removal from a trunk. Source: Networking API v2.0,
//! "Ports".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::network::{self as api, Network, SecurityGroup, Subnet};
use serde_json::{Map, Value, json};

use super::described::{Hooks, Occasion};
use super::properties::Properties;
use super::record::done_if_gone;
use super::trunk;
use crate::driver::{Abilities, Context, DriverError, Handover, OnDemand, Progress};

const GROUPS: &str = "security_groups";

pub(super) struct Port;

#[async_trait]
impl Hooks for Port {
    fn restored(&self) -> &'static [&'static str] {
        &["fixed_ips"]
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            on_demand: Some(self),
            handover: Some(self),
            ..Abilities::default()
        }
    }

    async fn complete(
        &self,
        context: &Context<'_>,
        body: &mut Record,
        occasion: Occasion,
    ) -> Result<(), DriverError> {
        let properties = Properties::of(context.properties);
        // Neutron keeps the groups of a port if the request names none. As in Heat, it gets the project's own one then.
        let has_lost_groups = properties.get(GROUPS).is_none()
            && context.changed.iter().any(|property| property == GROUPS);
        if occasion == Occasion::Update && has_lost_groups {
            let group = properties.id_named::<SecurityGroup>(context.session, GROUPS, "default");
            body.insert(GROUPS.into(), json!([group.await?]));
        }
        let mut addresses = Vec::new();
        let is_without = properties.boolean("no_fixed_ips")? == Some(true);
        for (index, address) in properties.list("fixed_ips").iter().enumerate() {
            let prefix = format!("fixed_ips.{index}.");
            let address = Properties::within(address, &prefix)?;
            let mut fixed = Map::new();
            if let Some(subnet) = address.id_of::<Subnet>(context.session, "subnet").await? {
                fixed.insert("subnet_id".into(), subnet.into());
            }
            if let Some(ip) = address.filled("ip_address")? {
                fixed.insert("ip_address".into(), ip.into());
            }
            if !fixed.is_empty() {
                addresses.push(Value::Object(fixed));
            }
        }
        let is_given = !properties.list("fixed_ips").is_empty();
        if is_without || is_given {
            addresses.retain(|_| !is_without);
            body.insert("fixed_ips".into(), addresses.into());
        }
        Ok(())
    }

    async fn unblock_deletion(
        &self,
        context: &Context<'_>,
        id: &str,
        refusal: openstack::Error,
    ) -> Result<(), DriverError> {
        if !is_in_a_trunk(&refusal) {
            return Err(refusal.into());
        }
        trunk::remove_subport(context, id).await.map_err(|why| {
            tracing::warn!(%why, id, "a port cannot be taken out of its trunk");
            // The refusal contains the name of the owner.
            refusal.into()
        })
    }
}

#[async_trait]
impl OnDemand for Port {
    fn names(&self) -> &'static [&'static str] {
        &["subnets", "network"]
    }

    async fn read(
        &self,
        context: &Context<'_>,
        id: &str,
        names: &[&str],
    ) -> Result<Map<String, Value>, DriverError> {
        let network = context.session.network();
        let port: api::Port = network.get(id).await?;
        let mut read = Map::new();
        if names.contains(&"network") {
            let found: Network = network.get(&port.network_id).await?;
            read.insert("network".into(), json!(found));
        }
        if names.contains(&"subnets") {
            let mut subnets = Vec::new();
            for address in &port.fixed_ips {
                subnets.push(network.get::<Subnet>(&address.subnet_id).await?);
            }
            read.insert("subnets".into(), json!(subnets));
        }
        Ok(read)
    }
}

#[async_trait]
impl Handover for Port {
    async fn hand_over(
        &self,
        context: &Context<'_>,
        id: &str,
        _taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError> {
        let network = context.session.network();
        let no_address = json!({"fixed_ips": []});
        let changed = network.update::<api::Port>(id, &no_address).await;
        done_if_gone(changed.map(drop))?;
        Ok(Progress::done())
    }
}

/// Recognizes the refusal `Port x is currently a subport for trunk y.`
fn is_in_a_trunk(error: &openstack::Error) -> bool {
    let message = error.message().unwrap_or_default();
    error.is_conflict() && message.contains("subport")
}
