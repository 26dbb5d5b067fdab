//! `OS::Neutron::FloatingIP`: its port. Source: Networking API v2.0, "Floating IPs".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::network as api;
use serde_json::{Map, Value, json};

use super::described::{Hooks, Occasion};
use super::record::done_if_gone;
use crate::driver::{Abilities, Context, DriverError, Handover, Progress};

pub(super) struct FloatingIp;

#[async_trait]
impl Hooks for FloatingIp {
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
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        // Neutron disassociates only on an explicit null. If the floating IP never had a port, another resource can
        // have associated it.
        if context.changed.iter().any(|property| property == "port_id") {
            body.entry("port_id").or_insert(Value::Null);
        }
        Ok(())
    }
}

#[async_trait]
impl Handover for FloatingIp {
    async fn hand_over(
        &self,
        context: &Context<'_>,
        id: &str,
        _taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError> {
        disassociate(context, id).await?;
        Ok(Progress::done())
    }
}

/// Disassociates a floating IP. A missing floating IP is success.
pub(super) async fn disassociate(context: &Context<'_>, id: &str) -> Result<(), DriverError> {
    let nowhere = json!({"port_id": null});
    let network = context.session.network();
    let cut = network.update::<api::FloatingIp>(id, &nowhere).await;
    done_if_gone(cut.map(drop))
}
