//! `OS::Neutron::Port`: a connection to a network, made before the server that is plugged into it.
//! Source: Networking API v2.0, "Ports".

use async_trait::async_trait;
use openstack::network::{self as api, Network, SecurityGroup, Subnet};
use serde_json::{Map, Value, json};

use super::properties::Properties;
use super::{mark, neutron, trunk};
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Marker, Progress, Ready, Search,
};

pub(super) struct Port;

/// What the properties name, as ids.
struct Named {
    network: String,
    /// One for each of `fixed_ips`.
    subnets: Vec<Option<String>>,
    groups: Option<Vec<String>>,
}

#[async_trait]
impl Driver for Port {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if let Some(found) = neutron::find::<api::Port>(context, None).await? {
            return Ok(found.id);
        }
        let named = look_up(context).await?;
        let fields = body(context.marker, context.properties, &named)?;
        let made: api::Port = neutron::make(context, None, fields).await?;
        Ok(made.id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        neutron::progress::<api::Port>(context, physical_id).await
    }

    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        neutron::attributes::<api::Port>(context, physical_id).await
    }

    fn on_demand(&self) -> &'static [&'static str] {
        &["subnets", "network"]
    }

    async fn read(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        names: &[&str],
    ) -> Result<Map<String, Value>, DriverError> {
        let network = context.session.network();
        let port: api::Port = network.get(physical_id).await?;
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

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let named = look_up(context).await?;
        let fields = body(context.marker, context.properties, &named)?;
        let fixed = ["network_id", "tenant_id", "device_id", "device_owner"];
        neutron::update::<api::Port>(context, physical_id, None, fields, &fixed)
            .await
            .map(drop)
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        match (
            neutron::delete::<api::Port>(context, physical_id).await,
            physical_id,
        ) {
            (Err(DriverError::Cloud(error)), Some(id)) if is_in_a_trunk(&error) => {
                if let Err(why) = trunk::take_out(context, id).await {
                    tracing::warn!(%why, id, "a port cannot be taken out of its trunk");
                    // Who has it is what a person needs to know.
                    return Err(error.into());
                }
                neutron::delete::<api::Port>(context, physical_id).await
            }
            (done, _) => done,
        }
    }

    async fn give_up(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        _taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError> {
        let network = context.session.network();
        let no_address = json!({"fixed_ips": []});
        let changed = network.update::<api::Port>(physical_id, &no_address).await;
        neutron::done_if_gone(changed.map(drop))?;
        Ok(Progress::Ready(Ready::default()))
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        neutron::is_gone::<api::Port>(context, physical_id).await
    }
}

#[async_trait]
impl ListMarked for Port {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        neutron::list_marked::<api::Port>(search).await
    }
}

/// `Port x is currently a subport for trunk y.`
fn is_in_a_trunk(error: &openstack::Error) -> bool {
    let message = error.message().unwrap_or_default();
    error.is_conflict() && message.contains("subport")
}

async fn look_up(context: &Context<'_>) -> Result<Named, DriverError> {
    let session = context.session;
    let properties = Properties::of(context.properties);
    let network = match properties.filled("network")? {
        Some(network) => network,
        None => properties.required("network_id")?,
    };
    let network = properties
        .id_named::<Network>(session, "network", &network)
        .await?;
    let mut subnets = Vec::new();
    for (index, address) in properties.list("fixed_ips").iter().enumerate() {
        let prefix = format!("fixed_ips.{index}.");
        let address = Properties::within(address, &prefix)?;
        let subnet = address.id_of::<Subnet>(session, "subnet").await?;
        subnets.push(match subnet {
            Some(subnet) => Some(subnet),
            None => address.filled("subnet_id")?,
        });
    }
    let groups = match properties.get("security_groups") {
        None => None,
        Some(_) => {
            let mut ids = Vec::new();
            for group in properties.texts("security_groups")? {
                ids.push(
                    properties
                        .id_named::<SecurityGroup>(session, "security_groups", &group)
                        .await?,
                );
            }
            Some(ids)
        }
    };
    Ok(Named {
        network,
        subnets,
        groups,
    })
}

fn body(
    marker: &Marker,
    map: &Map<String, Value>,
    named: &Named,
) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    body.insert("name".into(), mark::physical_name(marker, map).into());
    body.insert("network_id".into(), named.network.as_str().into());
    properties.copy_booleans(
        &[
            "admin_state_up",
            "port_security_enabled",
            "propagate_uplink_status",
        ],
        &mut body,
    )?;
    properties.copy(
        &[
            "mac_address",
            "allowed_address_pairs",
            "device_id",
            "device_owner",
            "dns_name",
            "tenant_id",
        ],
        &mut body,
    );
    // `normal` is what every port is; some clouds let nobody say it.
    if let Some(kind) = properties
        .filled("binding:vnic_type")?
        .filter(|kind| kind != "normal")
    {
        body.insert("binding:vnic_type".into(), kind.into());
    }
    if let Some(policy) = properties.get("qos_policy") {
        body.insert("qos_policy_id".into(), policy.clone());
    }
    if properties.boolean("no_fixed_ips")? == Some(true) {
        body.insert("fixed_ips".into(), json!([]));
    } else if !named.subnets.is_empty() {
        let mut addresses = Vec::new();
        for (index, (address, subnet)) in properties
            .list("fixed_ips")
            .iter()
            .zip(&named.subnets)
            .enumerate()
        {
            let prefix = format!("fixed_ips.{index}.");
            let address = Properties::within(address, &prefix)?;
            let mut fixed = Map::new();
            if let Some(subnet) = subnet {
                fixed.insert("subnet_id".into(), subnet.as_str().into());
            }
            if let Some(ip) = address.filled("ip_address")? {
                fixed.insert("ip_address".into(), ip.into());
            }
            if !fixed.is_empty() {
                addresses.push(Value::Object(fixed));
            }
        }
        body.insert("fixed_ips".into(), addresses.into());
    }
    if let Some(groups) = &named.groups {
        body.insert("security_groups".into(), groups.clone().into());
    }
    properties.copy_value_specs(&mut body);
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(properties: Value, named: Named, expected: Value) {
        let marker = Marker {
            deployment: "d".into(),
            deployment_name: "shop".into(),
            resource: "web_port".into(),
        };
        let body = body(&marker, properties.as_object().unwrap(), &named).unwrap();
        assert_eq!(Value::Object(body), expected);
    }

    #[test]
    fn a_port_with_address_and_groups() {
        check(
            json!({"network": "front", "fixed_ips": [{"subnet": "s", "ip_address": "10.0.0.9"}], "security_groups": ["web"],
                   "binding:vnic_type": "normal"}),
            Named {
                network: "net-1".into(),
                subnets: vec![Some("sub-1".into())],
                groups: Some(vec!["group-1".into()]),
            },
            json!({"name": "shop-web_port", "network_id": "net-1",
                   "fixed_ips": [{"subnet_id": "sub-1", "ip_address": "10.0.0.9"}], "security_groups": ["group-1"]}),
        );
    }

    #[test]
    fn no_groups_is_not_the_default_group() {
        check(
            json!({"network": "front", "security_groups": [], "no_fixed_ips": true}),
            Named {
                network: "net-1".into(),
                subnets: vec![],
                groups: Some(vec![]),
            },
            json!({"name": "shop-web_port", "network_id": "net-1", "fixed_ips": [], "security_groups": []}),
        );
    }
}
