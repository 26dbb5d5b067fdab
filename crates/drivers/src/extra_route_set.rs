//! `OS::Neutron::ExtraRouteSet` and `OS::Neutron::ExtraRoute`: static routes of a router.
//!
//! Neutron adds and removes them one by one (`add_extraroutes`), so two sets on one router do not overwrite each other.
//! Adding an existing route changes nothing. The set has no id of its own. Source: Networking API v2.0, "Add extra
//! routes to router".

use async_trait::async_trait;
use openstack::network::Router;
use serde_json::{Map, Value, json};

use super::properties::Properties;
use super::record::done_if_gone;
use crate::driver::{Abilities, Context, Driver, DriverError, Duplicates, Progress, Ready, Update};

/// Routes of one router, with the differences between the types.
pub(super) struct Routes {
    /// Property with the router.
    pub(super) router: &'static str,
    /// Reads destination and next hop of each route from the properties.
    pub(super) read: ReadRoutes,
}

/// Destination and next hop.
pub(super) type Route = (String, String);

type ReadRoutes = fn(&Map<String, Value>) -> Result<Vec<Route>, DriverError>;

pub(super) static EXTRA_ROUTE_SET: Routes = Routes {
    router: "router",
    read: routes,
};

#[async_trait]
impl Driver for Routes {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

    /// Only checks and returns the id, which contains all routes. The routes are added once the journal contains the
    /// id. Every route of ours is therefore in the journal, and an existing one is never adopted.
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let router = self.router(context).await?;
        let routes = (self.read)(context.properties)?;
        refuse_existing(context, &router, &routes).await?;
        Ok(id(&router, &routes))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let (router, routes) = parse(physical_id);
        let current_routes = match current_routes(context, &router).await {
            Ok(current_routes) => current_routes,
            Err(DriverError::Cloud(error)) if error.is_not_found() => {
                return Ok(Progress::Failed("the router is gone".into()));
            }
            Err(error) => return Err(error),
        };
        let missing = only_in(&routes, &current_routes);
        if !missing.is_empty() {
            act(context, &router, "add_extraroutes", &missing).await?;
        }
        Ok(Progress::Ready(Ready {
            reference: json!(physical_id),
            attributes: Map::new(),
        }))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        // Without an id, no route was added.
        let Some((router, routes)) = physical_id.map(parse) else {
            return Ok(());
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

#[async_trait]
impl Update for Routes {
    /// The router does not change: another router replaces the set. Routes are removed now, as in Heat, and added once
    /// the journal contains the new id.
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let (router, before) = parse(physical_id);
        let routes = (self.read)(context.properties)?;
        refuse_existing(context, &router, &only_in(&routes, &before)).await?;
        let removed = only_in(&before, &routes);
        if !removed.is_empty() {
            act(context, &router, "remove_extraroutes", &removed).await?;
        }
        Ok(())
    }

    async fn id_after_update(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        let routes = (self.read)(context.properties)?;
        Ok(id(&parse(physical_id).0, &routes))
    }
}

impl Routes {
    async fn router(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let properties = Properties::of(context.properties);
        let router = properties.required(self.router)?;
        properties
            .id_named::<Router>(context.session, self.router, &router)
            .await
    }
}

fn routes(properties: &Map<String, Value>) -> Result<Vec<Route>, DriverError> {
    let properties = Properties::of(properties);
    let mut routes = Vec::new();
    for (index, route) in properties.list("routes").iter().enumerate() {
        let prefix = format!("routes.{index}.");
        let route = Properties::within(route, &prefix)?;
        routes.push((route.required("destination")?, route.required("nexthop")?));
    }
    Ok(routes)
}

/// The routes of a router.
async fn current_routes(context: &Context<'_>, router: &str) -> Result<Vec<Route>, DriverError> {
    let router: Router = context.session.network().get(router).await?;
    let routes = router.other.get("routes").and_then(Value::as_array);
    let text = |route: &Value, field: &str| Some(route.get(field)?.as_str()?.to_owned());
    let routes = routes.into_iter().flatten();
    Ok(routes
        .filter_map(|route| Some((text(route, "destination")?, text(route, "nexthop")?)))
        .collect())
}

/// Refuses existing routes: they have another owner, and would be deleted with ours.
async fn refuse_existing(
    context: &Context<'_>,
    router: &str,
    routes: &[Route],
) -> Result<(), DriverError> {
    let current_routes = current_routes(context, router).await?;
    match routes.iter().find(|route| current_routes.contains(route)) {
        None => Ok(()),
        Some((destination, nexthop)) => Err(DriverError::Property {
            property: "routes".to_owned(),
            message: format!(
                "the router has the route to {destination} by {nexthop} already; leave it out, or remove it from the router"
            ),
        }),
    }
}

fn only_in(one: &[Route], other: &[Route]) -> Vec<Route> {
    let missing = one.iter().filter(|route| !other.contains(route));
    missing.cloned().collect()
}

async fn act(
    context: &Context<'_>,
    router: &str,
    action: &str,
    routes: &[Route],
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

/// The id contains all inputs of a deletion, as the properties can be unknown by then.
fn id(router: &str, routes: &[Route]) -> String {
    let routes: Vec<String> = routes
        .iter()
        .map(|(destination, nexthop)| format!("{destination}>{nexthop}"))
        .collect();
    format!("{router}={}", routes.join(","))
}

fn parse(id: &str) -> (String, Vec<Route>) {
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
