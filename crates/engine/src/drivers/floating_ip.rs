//! `OS::Neutron::FloatingIP`: a public address and the port that it leads to.
//! Source: Networking API v2.0, "Floating IPs".

use async_trait::async_trait;
use openstack::network::{self as api, Network, Port, Subnet};
use serde_json::{Map, Value, json};

use super::neutron;
use super::properties::Properties;
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Progress, Ready, Search,
};

pub(super) struct FloatingIp;

#[async_trait]
impl Driver for FloatingIp {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if let Some(found) = neutron::find::<api::FloatingIp>(context, None).await? {
            return Ok(found.id);
        }
        let session = context.session;
        let properties = Properties::of(context.properties);
        let network = match properties.filled("floating_network")? {
            Some(network) => network,
            None => match properties.filled("floating_network_id")? {
                Some(network) => network,
                None => properties.required("floating_network")?,
            },
        };
        let network = properties
            .id_named::<Network>(session, "floating_network", &network)
            .await?;
        let port = properties.id_of::<Port>(session, "port_id").await?;
        let subnet = properties
            .id_of::<Subnet>(session, "floating_subnet")
            .await?;
        let fields = body(context.properties, network, port, subnet);
        let made: api::FloatingIp = neutron::make(context, None, fields).await?;
        Ok(made.id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        neutron::progress::<api::FloatingIp>(context, physical_id).await
    }

    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        neutron::attributes::<api::FloatingIp>(context, physical_id).await
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        self.change(context, physical_id, &["port_id".to_owned()])
            .await
    }

    async fn change(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        changed: &[String],
    ) -> Result<(), DriverError> {
        let properties = Properties::of(context.properties);
        let port = properties.id_of::<Port>(context.session, "port_id").await?;
        let mut fields = body(context.properties, String::new(), port, None);
        // No port any more means to lead nowhere, which Neutron must be told. Where it never had one, something else may
        // lead it.
        if changed.iter().any(|property| property == "port_id") {
            fields.entry("port_id").or_insert(Value::Null);
        }
        let fixed = [
            "floating_network_id",
            "subnet_id",
            "floating_ip_address",
            "dns_name",
            "dns_domain",
        ];
        neutron::update::<api::FloatingIp>(context, physical_id, None, fields, &fixed)
            .await
            .map(drop)
    }

    async fn give_up(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        _taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError> {
        lead_nowhere(context, physical_id).await?;
        Ok(Progress::Ready(Ready::default()))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        neutron::delete::<api::FloatingIp>(context, physical_id).await
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        neutron::is_gone::<api::FloatingIp>(context, physical_id).await
    }
}

#[async_trait]
impl ListMarked for FloatingIp {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        neutron::list_marked::<api::FloatingIp>(search).await
    }
}

/// Whatever it leads to; one that is gone leads nowhere.
pub(super) async fn lead_nowhere(context: &Context<'_>, id: &str) -> Result<(), DriverError> {
    let nowhere = json!({"port_id": null});
    let network = context.session.network();
    let cut = network.update::<api::FloatingIp>(id, &nowhere).await;
    neutron::done_if_gone(cut.map(drop))
}

fn body(
    properties: &Map<String, Value>,
    network: String,
    port: Option<String>,
    subnet: Option<String>,
) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("floating_network_id".into(), network.into());
    for (field, value) in [("port_id", port), ("subnet_id", subnet)] {
        if let Some(value) = value {
            body.insert(field.into(), value.into());
        }
    }
    let properties = Properties::of(properties);
    properties.copy(
        &[
            "fixed_ip_address",
            "floating_ip_address",
            "dns_name",
            "dns_domain",
        ],
        &mut body,
    );
    properties.copy_value_specs(&mut body);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_of_an_address_for_a_port() {
        let properties =
            json!({"floating_network": "public", "port_id": "x", "fixed_ip_address": "10.0.0.4"});
        let body = body(
            properties.as_object().unwrap(),
            "net-1".into(),
            Some("port-1".into()),
            None,
        );
        assert_eq!(
            Value::Object(body),
            json!({"floating_network_id": "net-1", "port_id": "port-1", "fixed_ip_address": "10.0.0.4"})
        );
    }
}
