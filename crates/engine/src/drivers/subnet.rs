//! `OS::Neutron::Subnet`: a range of addresses on a network. Source: Networking API v2.0, "Subnets".

use async_trait::async_trait;
use openstack::network::{self as api, Network};
use serde_json::{Map, Value};

use super::properties::Properties;
use super::{mark, neutron};
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Marker, Progress, Search,
};

pub(super) struct Subnet;

/// Said when it is made, and never again.
const FIXED: [&str; 9] = [
    "network_id",
    "ip_version",
    "cidr",
    "prefixlen",
    "subnetpool_id",
    "segment_id",
    "ipv6_ra_mode",
    "ipv6_address_mode",
    "tenant_id",
];

#[async_trait]
impl Driver for Subnet {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if let Some(found) = neutron::find::<api::Subnet>(context, None).await? {
            return Ok(found.id);
        }
        let properties = Properties::of(context.properties);
        let network = properties.required("network")?;
        let network = properties
            .id_named::<Network>(context.session, "network", &network)
            .await?;
        let fields = body(context.marker, context.properties, &network)?;
        let made: api::Subnet = neutron::make(context, None, fields).await?;
        Ok(made.id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        neutron::progress::<api::Subnet>(context, physical_id).await
    }

    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        neutron::attributes::<api::Subnet>(context, physical_id).await
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let fields = body(context.marker, context.properties, "")?;
        neutron::update::<api::Subnet>(context, physical_id, None, fields, &FIXED)
            .await
            .map(drop)
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        neutron::delete::<api::Subnet>(context, physical_id).await
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        neutron::is_gone::<api::Subnet>(context, physical_id).await
    }
}

#[async_trait]
impl ListMarked for Subnet {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        neutron::list_marked::<api::Subnet>(search).await
    }
}

fn body(
    marker: &Marker,
    map: &Map<String, Value>,
    network: &str,
) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    body.insert("name".into(), mark::physical_name(marker, map).into());
    body.insert("network_id".into(), network.into());
    body.insert(
        "ip_version".into(),
        properties.integer("ip_version")?.unwrap_or(4).into(),
    );
    // Absent: the first address. Given but empty: none at all.
    if let Some(gateway) = map.get("gateway_ip") {
        let given = properties.filled("gateway_ip")?;
        if given.is_some() || !gateway.is_null() {
            body.insert(
                "gateway_ip".into(),
                given.map_or(Value::Null, Value::String),
            );
        }
    }
    properties.copy_booleans(&["enable_dhcp"], &mut body)?;
    if let Some(length) = properties.integer("prefixlen")? {
        body.insert("prefixlen".into(), length.into());
    }
    properties.copy(
        &[
            "cidr",
            "allocation_pools",
            "host_routes",
            "ipv6_ra_mode",
            "ipv6_address_mode",
            "tenant_id",
        ],
        &mut body,
    );
    let servers = properties.texts("dns_nameservers")?;
    if !servers.is_empty() {
        body.insert("dns_nameservers".into(), servers.into());
    }
    for (property, field) in [("subnetpool", "subnetpool_id"), ("segment", "segment_id")] {
        if let Some(value) = properties.filled(property)? {
            body.insert(field.into(), value.into());
        }
    }
    properties.copy_value_specs(&mut body);
    Ok(body)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(properties: Value, expected: Value) {
        let marker = Marker {
            deployment: "d".into(),
            deployment_name: "shop".into(),
            resource: "front".into(),
        };
        let body = body(&marker, properties.as_object().unwrap(), "net-1").unwrap();
        assert_eq!(Value::Object(body), expected);
    }

    #[test]
    fn a_plain_subnet() {
        check(
            json!({"network": "net-1", "cidr": "10.0.0.0/24", "dns_nameservers": ["9.9.9.9"], "enable_dhcp": "yes"}),
            json!({"name": "shop-front", "network_id": "net-1", "ip_version": 4, "enable_dhcp": true,
                   "cidr": "10.0.0.0/24", "dns_nameservers": ["9.9.9.9"]}),
        );
    }

    #[test]
    fn an_empty_gateway_means_none() {
        check(
            json!({"cidr": "10.0.0.0/24", "gateway_ip": ""}),
            json!({"name": "shop-front", "network_id": "net-1", "ip_version": 4, "gateway_ip": null, "cidr": "10.0.0.0/24"}),
        );
        check(
            json!({"cidr": "10.0.0.0/24", "gateway_ip": null}),
            json!({"name": "shop-front", "network_id": "net-1", "ip_version": 4, "cidr": "10.0.0.0/24"}),
        );
    }
}
