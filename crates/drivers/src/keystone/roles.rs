//! The property `roles`: role assignments in projects and domains.
//!
//! A role assignment has neither a name nor a field for a marker, and assigning a role twice changes nothing.
//! Assignments are deleted with their user or group, which has a marker, so they need no record of their own. Source:
//! Identity API v3, "Roles".

use openstack::collection::Collection;
use openstack::identity::{Actor, DOMAINS, Grant, PROJECTS, ROLES, RoleTarget};
use serde_json::{Map, Value};

use super::super::described::lookup::{id_if_there, id_named, moves};
use super::super::properties::Properties;
use super::super::record::done_if_gone;
use crate::driver::{Context, DriverError};

/// Assigns the current `roles`, and removes former ones and those of unfinished updates.
pub(super) async fn after_change(
    context: &Context<'_>,
    actor: Actor<'_>,
) -> Result<(), DriverError> {
    let wanted = wanted(context).await?;
    let mut before = [Vec::new(), Vec::new()];
    for (map, grants) in [context.before, context.tried].into_iter().zip(&mut before) {
        for (one, prefix) in &entries(map) {
            grants.extend(grant_if_there(context, one, prefix).await?);
        }
    }
    let [before, tried] = before;
    let tried = context.tried.contains_key("roles").then_some(&tried[..]);
    let (leaving, coming) = moves(&before, tried, &wanted);
    let identity = context.session.identity();
    for grant in &coming {
        identity.grant(actor, grant).await?;
    }
    for grant in &leaving {
        done_if_gone(identity.revoke(actor, grant).await)?;
    }
    Ok(())
}

/// The assignments of the current `roles`.
pub(super) async fn wanted(context: &Context<'_>) -> Result<Vec<Grant>, DriverError> {
    let mut wanted = Vec::new();
    for (one, prefix) in &entries(context.properties) {
        wanted.push(grant(context, one, prefix).await?);
    }
    Ok(wanted)
}

/// The entries of `roles`, each with its prefix for error messages.
fn entries(map: &Map<String, Value>) -> Vec<(&Value, String)> {
    let roles = Properties::of(map).list("roles");
    let named = |(index, one)| (one, format!("roles.{index}."));
    roles.iter().enumerate().map(named).collect()
}

async fn grant(context: &Context<'_>, one: &Value, prefix: &str) -> Result<Grant, DriverError> {
    let one = Properties::within(one, prefix)?;
    let id = async |of: &'static Collection, property: &str, given: &str| {
        id_named(context.session, &one, of, property, given).await
    };
    let role = id(&ROLES, "role", &one.required("role")?).await?;
    let target = match (one.filled("project")?, one.filled("domain")?) {
        (Some(project), _) => RoleTarget::Project(id(&PROJECTS, "project", &project).await?),
        (None, Some(domain)) => RoleTarget::Domain(id(&DOMAINS, "domain", &domain).await?),
        (None, None) => {
            return Err(one.wrong("project", "a project or a domain must be given".into()));
        }
    };
    Ok(Grant { role, target })
}

/// A former assignment. `None` if its role or target is gone, and with it the assignment.
async fn grant_if_there(
    context: &Context<'_>,
    one: &Value,
    prefix: &str,
) -> Result<Option<Grant>, DriverError> {
    let one = Properties::within(one, prefix)?;
    let id = async |of: &'static Collection, given: Option<String>| match given {
        Some(given) => id_if_there(context.session, of, &given).await,
        None => Ok(None),
    };
    let role = id(&ROLES, one.filled("role")?).await?;
    let project = id(&PROJECTS, one.filled("project")?).await?;
    let domain = id(&DOMAINS, one.filled("domain")?).await?;
    let target = project.map(RoleTarget::Project);
    let target = target.or(domain.map(RoleTarget::Domain));
    Ok(role
        .zip(target)
        .map(|(role, target)| Grant { role, target }))
}
