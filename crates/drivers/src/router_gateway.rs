//! `OS::Neutron::RouterGateway`: a router's external gateway, as a separate resource in the template.
//!
//! The gateway is a field of the router. The deletion keeps a gateway to another network that a user chose since. Source:
//! Networking API v2.0, "Update router".

use async_trait::async_trait;
use openstack::network::{Network, Router};
use serde_json::{Map, Value, json};

use super::properties::{Properties, if_valid};
use super::record::done_if_gone;
use crate::driver::{Context, Driver, DriverError, Duplicates, Progress, Ready};

pub(super) struct RouterGateway;

#[async_trait]
impl Driver for RouterGateway {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let (router, network) = named(context).await?;
        let info = json!({"external_gateway_info": {"network_id": network}});
        let service = context.session.network();
        service.update::<Router>(&router, &info).await?;
        Ok(format!("{router}:{network}"))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        Ok(match find(context, physical_id).await? {
            Some(_) => Progress::Ready(Ready {
                reference: json!(physical_id),
                attributes: Map::new(),
            }),
            None => Progress::Failed("the router has another gateway, or none".into()),
        })
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_string(),
            None => match if_valid(named(context).await)? {
                Some((router, network)) => format!("{router}:{network}"),
                None => return Ok(()),
            },
        };
        let Some(router) = find(context, &id).await? else {
            return Ok(());
        };
        let nowhere = json!({"external_gateway_info": {}});
        let service = context.session.network();
        let changed = service.update::<Router>(&router.id, &nowhere).await;
        done_if_gone(changed.map(drop))
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        Ok(find(context, physical_id).await?.is_none())
    }
}

async fn named(context: &Context<'_>) -> Result<(String, String), DriverError> {
    let properties = Properties::of(context.properties);
    let session = context.session;
    let router = match properties.filled("router")? {
        Some(router) => router,
        None => properties.required("router_id")?,
    };
    let router = properties
        .id_named::<Router>(session, "router", &router)
        .await?;
    let network = match properties.filled("network")? {
        Some(network) => network,
        None => properties.required("network_id")?,
    };
    let network = properties
        .id_named::<Network>(session, "network", &network)
        .await?;
    Ok((router, network))
}

/// The router, if its gateway is ours.
async fn find(context: &Context<'_>, id: &str) -> Result<Option<Router>, DriverError> {
    let (router, network) = id.split_once(':').unwrap_or((id, ""));
    match context.session.network().get::<Router>(router).await {
        Ok(router) => Ok(Some(router).filter(|router| leads_to(router, network))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn leads_to(router: &Router, network: &str) -> bool {
    let info = router.external_gateway_info.as_ref();
    info.and_then(|info| info.get("network_id"))
        .and_then(Value::as_str)
        == Some(network)
}
