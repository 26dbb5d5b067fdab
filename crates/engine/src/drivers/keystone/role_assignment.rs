//! `OS::Keystone::UserRoleAssignment` and `GroupRoleAssignment`: what a user or a group may do, and where; and the property
//! `roles` of users and groups, which says the same.
//!
//! Keystone keeps a grant without a name or a mark, and to give one twice changes nothing. So a set of them is known by the
//! properties that it was made from, and its id is just its name here. As in Heat, a role that was given before by
//! somebody else goes with the set that gives it, too. Source: Identity API v3, "Roles".

use async_trait::async_trait;
use openstack::collection::Collection;
use openstack::identity::{Actor, DOMAINS, GROUPS, Grant, PROJECTS, Place, ROLES, USERS};
use serde_json::{Map, Value, json};

use super::super::mark;
use super::super::neutron::done_if_gone;
use super::super::properties::Properties;
use super::super::records::{id_named, moves};
use crate::driver::{Context, Driver, DriverError, Progress, Ready};

/// What the two types differ in.
pub(super) struct RoleAssignment {
    /// The property that says who.
    who: &'static str,
    of: &'static Collection,
    actor: fn(&str) -> Actor<'_>,
}

pub(super) static OF_USER: RoleAssignment = RoleAssignment {
    who: "user",
    of: &USERS,
    actor: |id| Actor::User(id),
};

pub(super) static OF_GROUP: RoleAssignment = RoleAssignment {
    who: "group",
    of: &GROUPS,
    actor: |id| Actor::Group(id),
};

#[async_trait]
impl Driver for RoleAssignment {
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let who = self.who(context, context.properties).await?;
        settle(context, (self.actor)(&who)).await?;
        Ok(mark::store_name(context.marker))
    }

    async fn progress(
        &self,
        _: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        Ok(Progress::Ready(Ready {
            reference: json!(physical_id),
            attributes: Map::new(),
        }))
    }

    async fn update(&self, context: &Context<'_>, _: &str) -> Result<(), DriverError> {
        let who = self.who(context, context.properties).await?;
        match there(self.who(context, context.before).await)? {
            // Somebody else gets them: all of them.
            Some(other) if other != who => {
                let all = grants(context, context.properties, Missing::IsWrong).await?;
                give(context, (self.actor)(&who), &all).await?;
                let before = grants(context, context.before, Missing::IsGone).await?;
                take(context, (self.actor)(&other), &before).await
            }
            _ => settle(context, (self.actor)(&who)).await,
        }
    }

    async fn delete(&self, context: &Context<'_>, _: Option<&str>) -> Result<(), DriverError> {
        let Some(who) = there(self.who(context, context.properties).await)? else {
            return Ok(());
        };
        let all = grants(context, context.properties, Missing::IsGone).await?;
        take(context, (self.actor)(&who), &all).await
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

impl RoleAssignment {
    async fn who(
        &self,
        context: &Context<'_>,
        map: &Map<String, Value>,
    ) -> Result<String, DriverError> {
        let properties = Properties::of(map);
        let given = properties.required(self.who)?;
        id_named(context.session, &properties, self.of, self.who, &given).await
    }
}

/// Gives what `roles` says now, and takes away what it said before and does not any more.
pub(super) async fn settle(context: &Context<'_>, actor: Actor<'_>) -> Result<(), DriverError> {
    let wanted = grants(context, context.properties, Missing::IsWrong).await?;
    let before = grants(context, context.before, Missing::IsGone).await?;
    let (leaving, coming) = moves(&before, &wanted);
    give(context, actor, &coming).await?;
    take(context, actor, &leaving).await
}

async fn give(context: &Context<'_>, actor: Actor<'_>, all: &[Grant]) -> Result<(), DriverError> {
    for grant in all {
        context.session.identity().grant(actor, grant).await?;
    }
    Ok(())
}

async fn take(context: &Context<'_>, actor: Actor<'_>, all: &[Grant]) -> Result<(), DriverError> {
    for grant in all {
        done_if_gone(context.session.identity().revoke(actor, grant).await)?;
    }
    Ok(())
}

/// What it means that something of a grant is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// The property is wrong.
    IsWrong,
    /// The grant went with it.
    IsGone,
}

/// What a property names, unless it is gone.
fn there<T>(found: Result<T, DriverError>) -> Result<Option<T>, DriverError> {
    match found {
        Err(DriverError::Property { .. }) => Ok(None),
        found => found.map(Some),
    }
}

async fn grants(
    context: &Context<'_>,
    map: &Map<String, Value>,
    missing: Missing,
) -> Result<Vec<Grant>, DriverError> {
    let mut all = Vec::new();
    for (index, one) in Properties::of(map).list("roles").iter().enumerate() {
        let found = grant(context, one, &format!("roles.{index}.")).await;
        match missing {
            Missing::IsWrong => all.push(found?),
            Missing::IsGone => all.extend(there(found)?),
        }
    }
    Ok(all)
}

async fn grant(context: &Context<'_>, one: &Value, prefix: &str) -> Result<Grant, DriverError> {
    let one = Properties::within(one, prefix)?;
    let id = async |of: &'static Collection, property: &str, given: &str| {
        id_named(context.session, &one, of, property, given).await
    };
    let role = id(&ROLES, "role", &one.required("role")?).await?;
    let place = match (one.filled("project")?, one.filled("domain")?) {
        (Some(project), _) => Place::Project(id(&PROJECTS, "project", &project).await?),
        (None, Some(domain)) => Place::Domain(id(&DOMAINS, "domain", &domain).await?),
        (None, None) => {
            return Err(one.wrong("project", "a project or a domain must be given".into()));
        }
    };
    Ok(Grant { role, place })
}
