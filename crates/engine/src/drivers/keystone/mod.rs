//! Keystone's things, which most clouds let administrators alone make: projects, people and what they may do, and the
//! catalogue of services. Where a name is meant, an id, or a name with its domain (`ops{acme}`), is as good, as in Heat.

mod domain;
mod endpoint;
mod group;
mod project;
mod region;
mod role;
mod role_assignment;
mod roles;
mod service;
mod user;

use openstack::collection::Record;
use openstack::identity::DOMAINS;
use serde_json::Map;

use super::mark;
use super::properties::Properties;
use super::records::{Recorded, id_in};
use crate::driver::{Context, Driver, DriverError};

/// The driver of one of Keystone's types.
pub(super) fn driver_for(resource_type: &str) -> Option<&'static dyn Driver> {
    Some(match resource_type {
        "OS::Keystone::Domain" => &Recorded(domain::Domain),
        "OS::Keystone::Endpoint" => &Recorded(endpoint::Endpoint),
        "OS::Keystone::Group" => &Recorded(group::Group),
        "OS::Keystone::Project" => &Recorded(project::Project),
        "OS::Keystone::Region" => &Recorded(region::Region),
        "OS::Keystone::Role" => &Recorded(role::Role),
        "OS::Keystone::UserRoleAssignment" => &role_assignment::OF_USER,
        "OS::Keystone::GroupRoleAssignment" => &role_assignment::OF_GROUP,
        "OS::Keystone::Service" => &Recorded(service::Service),
        "OS::Keystone::User" => &Recorded(user::User),
        _ => return None,
    })
}

/// What most bodies begin with: a name that only this thing has, and whether it can be used.
fn named(context: &Context<'_>) -> Result<Record, DriverError> {
    let mut body = Map::new();
    let name = mark::unique_name(context.marker, context.properties);
    body.insert("name".into(), name.into());
    Properties::of(context.properties).copy_booleans(&["enabled"], &mut body)?;
    Ok(body)
}

/// Heat's default for who lives in a domain: the id of the one that every Keystone begins with.
const DEFAULT_DOMAIN: &str = "default";

/// The same with the domain.
async fn named_in_domain(context: &Context<'_>) -> Result<Record, DriverError> {
    let mut body = named(context)?;
    let domain = id_in(context, "domain", &DOMAINS).await?;
    let domain = domain.unwrap_or_else(|| DEFAULT_DOMAIN.to_owned());
    body.insert("domain_id".into(), domain.into());
    Ok(body)
}
