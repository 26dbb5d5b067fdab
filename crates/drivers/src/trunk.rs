//! `OS::Neutron::Trunk`: its subports.
//!
//! They change with separate calls. Subports are removed before new ones are added, since a segmentation id is unique
//! in a trunk. Source: Networking API v2.0, "Trunk networking".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::network::{Entity as _, Port, Trunk as NeutronTrunk};
use serde_json::{Map, Value, json};

use super::described::{Hooks, Occasion};
use super::marker;
use super::properties::Properties;
use crate::driver::{Abilities, Context, DriverError, Handover, Progress};

pub(super) struct Trunk;

#[async_trait]
impl Hooks for Trunk {
    fn abilities(&self) -> Abilities<'_> {
        Abilities {
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
        if occasion == Occasion::Creation {
            body.insert("sub_ports".into(), sub_ports(context).await?.into());
        }
        Ok(())
    }

    async fn after_change(
        &self,
        context: &Context<'_>,
        id: &str,
        record: &Record,
        occasion: Occasion,
    ) -> Result<(), DriverError> {
        if occasion == Occasion::Creation {
            return Ok(());
        }
        let there = record.get("sub_ports").and_then(Value::as_array);
        let wanted = sub_ports(context).await?;
        let (leaving, coming) = moves(there.map_or(&[], Vec::as_slice), &wanted);
        let network = context.session.network();
        for (action, ports) in [("remove_subports", leaving), ("add_subports", coming)] {
            if !ports.is_empty() {
                let body = json!({"sub_ports": ports});
                network.act::<NeutronTrunk>(id, action, &body).await?;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Handover for Trunk {
    async fn hand_over(
        &self,
        context: &Context<'_>,
        id: &str,
        taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError> {
        let trunk: NeutronTrunk = match context.session.network().get(id).await {
            Err(error) if error.is_not_found() => return Ok(Progress::done()),
            trunk => trunk?,
        };
        let taken = ports_of(context, taker).await?;
        let leaves = |port: &str| taken.iter().any(|one| one == port);
        remove(context, &trunk, &leaves).await?;
        Ok(Progress::done())
    }
}

/// The ports of a trunk with these properties: the parent port and the subports.
async fn ports_of(
    context: &Context<'_>,
    properties: &Map<String, Value>,
) -> Result<Vec<String>, DriverError> {
    let session = context.session;
    let properties = Properties::of(properties);
    let mut ports = Vec::from_iter(properties.id_of::<Port>(session, "port").await?);
    for (index, port) in properties.list("sub_ports").iter().enumerate() {
        let prefix = format!("sub_ports.{index}.");
        let inside = Properties::within(port, &prefix)?;
        ports.extend(inside.id_of::<Port>(session, "port").await?);
    }
    Ok(ports)
}

/// Removes a port from all trunks of the deployment, so that it can be deleted: Neutron refuses to delete a subport.
/// Trunks outside the deployment stay unchanged.
pub(super) async fn remove_subport(context: &Context<'_>, port: &str) -> Result<(), DriverError> {
    let all: Vec<NeutronTrunk> = context.session.network().list(&[]).await?;
    let ours = all.into_iter().filter(|trunk| {
        marker::is_of_deployment(trunk.description().unwrap_or_default(), context.marker)
    });
    for trunk in ours {
        remove(context, &trunk, &|sub_port| sub_port == port).await?;
    }
    Ok(())
}

async fn remove(
    context: &Context<'_>,
    trunk: &NeutronTrunk,
    leaves: &(dyn Fn(&str) -> bool + Sync),
) -> Result<(), DriverError> {
    let ports = trunk
        .sub_ports
        .iter()
        .filter_map(|sub| sub["port_id"].as_str());
    let leaving: Vec<Value> = ports
        .filter(|port| leaves(port))
        .map(|port| json!({"port_id": port}))
        .collect();
    if !leaving.is_empty() {
        let body = json!({"sub_ports": leaving});
        let network = context.session.network();
        network
            .act::<NeutronTrunk>(&trunk.id, "remove_subports", &body)
            .await?;
    }
    Ok(())
}

async fn sub_ports(context: &Context<'_>) -> Result<Vec<Value>, DriverError> {
    let properties = Properties::of(context.properties);
    let mut ports = Vec::new();
    for (index, port) in properties.list("sub_ports").iter().enumerate() {
        let prefix = format!("sub_ports.{index}.");
        let inside = Properties::within(port, &prefix)?;
        let port = inside.required("port")?;
        let port = inside
            .id_named::<Port>(context.session, "port", &port)
            .await?;
        let tag = inside.integer("segmentation_id")?;
        let kind = inside.filled("segmentation_type")?;
        ports.push(json!({
            "port_id": port,
            "segmentation_id": tag,
            "segmentation_type": kind.unwrap_or_else(|| "vlan".into()),
        }));
    }
    Ok(ports)
}

/// The subports to remove, with their id alone, and the subports to add.
fn moves(there: &[Value], wanted: &[Value]) -> (Vec<Value>, Vec<Value>) {
    let in_neither = |all: &[Value], one: &Value| !all.contains(one);
    let leaving = there.iter().filter(|port| in_neither(wanted, port));
    let coming = wanted.iter().filter(|port| in_neither(there, port));
    (
        leaving
            .map(|port| json!({"port_id": port["port_id"]}))
            .collect(),
        coming.cloned().collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_with_another_tag_leaves_and_comes_back() {
        let port = |id: &str, tag: i64| json!({"port_id": id, "segmentation_id": tag, "segmentation_type": "vlan"});
        let (leaving, coming) = moves(
            &[port("a", 1), port("b", 2)],
            &[port("a", 1), port("b", 3), port("c", 4)],
        );
        assert_eq!(leaving, [json!({"port_id": "b"})]);
        assert_eq!(coming, [port("b", 3), port("c", 4)]);
    }
}
