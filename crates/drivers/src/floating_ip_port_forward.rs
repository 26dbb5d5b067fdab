//! `OS::Neutron::FloatingIPPortForward`: a port forwarding of a floating IP.
//!
//! It is nested in the floating IP, and its description contains the marker. The type is code instead of data, because
//! the floating IP is given by its address, and because clouds without descriptions of port forwardings need a clear
//! error message. Source: Networking API v2.0, "Floating IPs port forwarding".

use async_trait::async_trait;
use openstack::looks_like_id;
use openstack::nested::NestedCollection;
use openstack::network::{FloatingIp, Port};
use serde_json::{Map, Value};

use super::properties::{Properties, if_valid};
use super::record::done_if_gone;
use super::{marker, nested};
use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, Earlier, Progress, Update,
};

pub(super) struct FloatingIpPortForward;

const TITLE: &str = "port forwarding";

#[async_trait]
impl Driver for FloatingIpPortForward {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Nested
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let owner = floating_ip(context).await?;
        if context.earlier == Earlier::Possible
            && let Some(id) = find(context, &owner).await?
        {
            return Ok(id);
        }
        let fields = Value::Object(fields(context).await?);
        let made = all(context, &owner).create(&fields).await.map_err(named)?;
        Ok(nested::physical_id(&owner, &made))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let (owner, id) = nested::parse(physical_id)?;
        nested::progress(&all(context, owner), id, TITLE).await
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_owned(),
            None => {
                let Some(owner) = if_valid(floating_ip(context).await)? else {
                    return Ok(());
                };
                match find(context, &owner).await? {
                    Some(id) => id,
                    None => return Ok(()),
                }
            }
        };
        let (owner, id) = nested::parse(&id)?;
        done_if_gone(all(context, owner).delete(id).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let (owner, id) = nested::parse(physical_id)?;
        nested::is_gone(&all(context, owner), id).await
    }
}

#[async_trait]
impl Update for FloatingIpPortForward {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let (owner, id) = nested::parse(physical_id)?;
        let fields = Value::Object(fields(context).await?);
        let updated = all(context, owner).update(id, &fields).await;
        updated.map_err(named)?;
        Ok(())
    }
}

/// Explains the refusal of a description: without it, our port forwardings cannot be recognized.
fn named(error: openstack::Error) -> DriverError {
    let text = error.to_string();
    if error.status() == Some(400) && text.contains("Unrecognized attribute") {
        return DriverError::Other(format!(
            "{text}. A port forwarding is known as ours by its description: the cloud's network service needs the \
             extension `floating-ip-port-forwarding-description`; ask its administrator"
        ));
    }
    error.into()
}

fn all<'a>(context: &'a Context<'_>, floating_ip: &str) -> NestedCollection<'a> {
    context.session.network().port_forwardings(floating_ip)
}

/// The id of the floating IP, given by id or address, as in Heat.
async fn floating_ip(context: &Context<'_>) -> Result<String, DriverError> {
    let properties = Properties::of(context.properties);
    let given = properties.required("floating_ip")?;
    if looks_like_id(&given) {
        return Ok(given);
    }
    let query = [("floating_ip_address", given.as_str())];
    let network = context.session.network();
    let found: Vec<FloatingIp> = network.list(&query).await?;
    let found = found
        .into_iter()
        .find(|one| one.floating_ip_address == given);
    found.map(|one| one.id).ok_or_else(|| {
        let message = format!(
            "there is no floating IP `{given}` in this project; give its id or its address"
        );
        properties.wrong("floating_ip", message)
    })
}

/// The physical id of the port forwarding with the marker in a floating IP.
async fn find(context: &Context<'_>, owner: &str) -> Result<Option<String>, DriverError> {
    let pieces = match all(context, owner).list().await {
        Err(error) if error.is_not_found() => return Ok(None),
        pieces => pieces?,
    };
    let ours = pieces.iter().find(|piece| {
        let description = piece.get("description").and_then(Value::as_str);
        marker::carries(description.unwrap_or_default(), context.marker)
    });
    Ok(ours.map(|piece| nested::physical_id(owner, piece)))
}

async fn fields(context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(context.properties);
    let port = properties.required("internal_port")?;
    let port = properties
        .id_named::<Port>(context.session, "internal_port", &port)
        .await?;
    let mut body = Map::from_iter([
        ("internal_port_id".to_owned(), port.into()),
        (
            "description".to_owned(),
            marker::description(context.marker, None).into(),
        ),
    ]);
    properties.copy(&["internal_ip_address", "protocol"], &mut body);
    for (property, field) in [
        ("internal_port_number", "internal_port"),
        ("external_port", "external_port"),
    ] {
        let number = properties.integer(property)?;
        let number = number.ok_or_else(|| properties.wrong(property, "it must be given".into()))?;
        body.insert(field.into(), number.into());
    }
    Ok(body)
}
