//! `OS::Neutron::FloatingIPAssociation`: associates a floating IP with a port, as a separate resource in the
//! template.
//!
//! The association is a field of the floating IP, so the floating IP's id is its id. The deletion keeps an association that a user
//! else made since: it removes only an association with our port. Source: Networking API v2.0, "Floating IPs".

use async_trait::async_trait;
use openstack::network::{FloatingIp, Port};
use serde_json::{Map, Value, json};

use super::floating_ip::disassociate;
use super::properties::Properties;
use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, Handover, Progress, Ready, Update,
};

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
        let id = Properties::of(context.properties).required("floatingip_id")?;
        associate(context, &id).await?;
        Ok(id)
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
            Some(id) => Some(id.to_string()),
            None => Properties::of(context.properties).filled("floatingip_id")?,
        };
        let Some(id) = id else {
            return Ok(());
        };
        if find(context, &id).await?.is_none() {
            return Ok(());
        }
        disassociate(context, &id).await
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        Ok(find(context, physical_id).await?.is_none())
    }
}

#[async_trait]
impl Update for FloatingIpAssociation {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let wanted = Properties::of(context.properties).required("floatingip_id")?;
        if wanted != physical_id {
            // The former floating IP is disassociated first: a port has one.
            disassociate(context, physical_id).await?;
        }
        associate(context, &wanted).await
    }

    async fn id_after_update(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        let wanted = Properties::of(context.properties).filled("floatingip_id")?;
        Ok(wanted.unwrap_or_else(|| physical_id.to_owned()))
    }
}

#[async_trait]
impl Handover for FloatingIpAssociation {
    async fn hand_over(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        _taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError> {
        disassociate(context, physical_id).await?;
        Ok(Progress::done())
    }
}

/// Associates the floating IP. Repeating it changes nothing, so there is no check before.
async fn associate(context: &Context<'_>, floating_ip: &str) -> Result<(), DriverError> {
    let properties = Properties::of(context.properties);
    let port = properties.required("port_id")?;
    let port = properties
        .id_named::<Port>(context.session, "port_id", &port)
        .await?;
    let mut fields = Map::new();
    fields.insert("port_id".into(), port.into());
    properties.copy(&["fixed_ip_address"], &mut fields);
    let network = context.session.network();
    network
        .update::<FloatingIp>(floating_ip, &Value::Object(fields))
        .await?;
    Ok(())
}

/// The floating IP, if it exists and is associated with the port. Any port matches if ours is unknown.
async fn find(context: &Context<'_>, id: &str) -> Result<Option<FloatingIp>, DriverError> {
    let port = Properties::of(context.properties).filled("port_id")?;
    match context.session.network().get::<FloatingIp>(id).await {
        Ok(found) => Ok(Some(found).filter(|found| match (&found.port_id, &port) {
            (None, _) => false,
            (Some(there), Some(ours)) if openstack::looks_like_id(ours) => there == ours,
            (Some(_), _) => true,
        })),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
