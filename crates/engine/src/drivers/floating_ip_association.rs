//! `OS::Neutron::FloatingIPAssociation`: leads a floating IP to a port, where both are drawn apart.
//!
//! It is a field of the floating IP and no thing of its own. The physical id is
//! `<floating IP>:<port>`, so that removing it never cuts a connection that somebody made since.
//! Source: Networking API v2.0, "Floating IPs".

use async_trait::async_trait;
use openstack::network::{FloatingIp, Port};
use serde_json::{Map, Value, json};

use super::properties::Properties;
use crate::driver::{Context, Driver, DriverError, Progress, Ready};

pub(super) struct FloatingIpAssociation;

#[async_trait]
impl Driver for FloatingIpAssociation {
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let properties = Properties::of(context.properties);
        let floating_ip = properties.required("floatingip_id")?;
        let port = properties.required("port_id")?;
        let port = properties
            .id_named::<Port>(context.session, "port_id", &port)
            .await?;
        let mut fields = Map::new();
        fields.insert("port_id".into(), port.as_str().into());
        properties.copy(&["fixed_ip_address"], &mut fields);
        // Saying the same again changes nothing, so there is no need to look first.
        let network = context.session.network();
        network
            .update::<FloatingIp>(&floating_ip, &Value::Object(fields))
            .await?;
        Ok(format!("{floating_ip}:{port}"))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        Ok(match find(context, physical_id).await? {
            Some(floating_ip) => {
                let mut attributes = Map::new();
                attributes.insert(
                    "show".into(),
                    serde_json::to_value(&floating_ip).unwrap_or(Value::Null),
                );
                Progress::Ready(Ready {
                    reference: json!(physical_id),
                    attributes,
                })
            }
            None => Progress::Failed("the floating IP does not lead to the port any more".into()),
        })
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_string(),
            None => {
                let properties = Properties::of(context.properties);
                match (
                    properties.filled("floatingip_id")?,
                    properties.filled("port_id")?,
                ) {
                    (Some(floating_ip), Some(port)) => format!("{floating_ip}:{port}"),
                    _ => return Ok(()),
                }
            }
        };
        let Some(floating_ip) = find(context, &id).await? else {
            return Ok(());
        };
        let cut = context
            .session
            .network()
            .update::<FloatingIp>(&floating_ip.id, &json!({"port_id": null}))
            .await;
        super::neutron::done_if_gone(cut.map(drop))
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        Ok(find(context, physical_id).await?.is_none())
    }
}

/// The floating IP, if it is there and leads to the port.
async fn find(context: &Context<'_>, physical_id: &str) -> Result<Option<FloatingIp>, DriverError> {
    let Some((floating_ip, port)) = physical_id.split_once(':') else {
        return Err(DriverError::Other(format!(
            "`{physical_id}` is no id of a floating IP association"
        )));
    };
    match context
        .session
        .network()
        .get::<FloatingIp>(floating_ip)
        .await
    {
        Ok(found) => Ok(Some(found).filter(|found| found.port_id.as_deref() == Some(port))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
