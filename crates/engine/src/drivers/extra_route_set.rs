//! `OS::Neutron::ExtraRouteSet`: routes of a router, beside those that it has by itself.
//!
//! Neutron adds and removes them one by one (`add_extraroutes`), so that two sets on one router do not
//! overwrite each other; adding what is there changes nothing. The set has no id of its own.
//! Source: Networking API v2.0, "Add extra routes to router".

use async_trait::async_trait;
use openstack::network::Router;
use serde_json::{Map, Value, json};

use super::neutron::done_if_gone;
use super::properties::Properties;
use crate::driver::{Context, Driver, DriverError, Progress, Ready};

pub(super) struct ExtraRouteSet;

#[async_trait]
impl Driver for ExtraRouteSet {
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let router = router(context).await?;
        let routes = routes(context.properties)?;
        act(context, &router, "add_extraroutes", &routes).await?;
        Ok(id(&router, &routes))
    }

    async fn progress(
        &self,
        _context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        Ok(Progress::Ready(Ready {
            reference: json!(physical_id),
            attributes: Map::new(),
        }))
    }

    /// The router stays: another one is another set.
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let (router, before) = parse(physical_id);
        let routes = routes(context.properties)?;
        let added = only_in(&routes, &before);
        if !added.is_empty() {
            act(context, &router, "add_extraroutes", &added).await?;
        }
        let removed = only_in(&before, &routes);
        if !removed.is_empty() {
            act(context, &router, "remove_extraroutes", &removed).await?;
        }
        Ok(())
    }

    fn id_after_update(&self, context: &Context<'_>, physical_id: &str) -> String {
        match routes(context.properties) {
            Ok(routes) => id(&parse(physical_id).0, &routes),
            Err(_) => physical_id.to_owned(),
        }
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let (router, routes) = match physical_id {
            Some(id) => parse(id),
            None => match router(context).await {
                Ok(router) => (router, routes(context.properties)?),
                Err(DriverError::Property { .. }) => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        match act(context, &router, "remove_extraroutes", &routes).await {
            Err(DriverError::Cloud(error)) => done_if_gone(Err(error)),
            other => other,
        }
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

async fn router(context: &Context<'_>) -> Result<String, DriverError> {
    let properties = Properties::of(context.properties);
    let router = properties.required("router")?;
    properties
        .id_named::<Router>(context.session, "router", &router)
        .await
}

fn routes(properties: &Map<String, Value>) -> Result<Vec<(String, String)>, DriverError> {
    let properties = Properties::of(properties);
    let mut routes = Vec::new();
    for (index, route) in properties.list("routes").iter().enumerate() {
        let prefix = format!("routes.{index}.");
        let route = Properties::within(route, &prefix)?;
        routes.push((route.required("destination")?, route.required("nexthop")?));
    }
    Ok(routes)
}

fn only_in(one: &[(String, String)], other: &[(String, String)]) -> Vec<(String, String)> {
    let missing = one.iter().filter(|route| !other.contains(route));
    missing.cloned().collect()
}

async fn act(
    context: &Context<'_>,
    router: &str,
    action: &str,
    routes: &[(String, String)],
) -> Result<(), DriverError> {
    let routes: Vec<Value> = routes
        .iter()
        .map(|(destination, nexthop)| json!({"destination": destination, "nexthop": nexthop}))
        .collect();
    let body = json!({"router": {"routes": routes}});
    let network = context.session.network();
    network.act::<Router>(router, action, &body).await?;
    Ok(())
}

/// Says all that deletion needs: the properties may not be known any more by then.
fn id(router: &str, routes: &[(String, String)]) -> String {
    let routes: Vec<String> = routes
        .iter()
        .map(|(destination, nexthop)| format!("{destination}>{nexthop}"))
        .collect();
    format!("{router}={}", routes.join(","))
}

fn parse(id: &str) -> (String, Vec<(String, String)>) {
    let (router, routes) = id.split_once('=').unwrap_or((id, ""));
    let routes = routes
        .split(',')
        .filter_map(|route| route.split_once('>'))
        .map(|(destination, nexthop)| (destination.to_string(), nexthop.to_string()))
        .collect();
    (router.to_string(), routes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_there_and_back() {
        let routes = vec![
            ("10.1.0.0/24".to_string(), "10.0.0.5".to_string()),
            ("::/0".to_string(), "fd00::1".to_string()),
        ];
        assert_eq!(parse(&id("r", &routes)), ("r".to_string(), routes));
    }
}
