//! `OS::Keystone::User`: somebody who may log in, with groups and roles.
//!
//! The password is said when the user is made, and again only when it differs: Keystone ends the user's logins with every
//! password that is set, the same one too. Nothing of it comes back: Keystone does not tell it.
//! Source: Identity API v3, "Users", "Groups", "Roles".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::identity::{Actor, GROUPS, PROJECTS, USERS};

use super::super::neutron::done_if_gone;
use super::super::properties::Properties;
use super::super::records::{Records, id_in, members};
use super::{named_in_domain, roles};
use crate::driver::{Context, DriverError};

pub(super) struct User;

#[async_trait]
impl Records for User {
    const OF: &'static Collection = &USERS;
    const TAKES_AWAY: &'static [&'static str] = &["groups", "roles"];
    const ASKED_BY: &'static [&'static str] = &["domain_id"];

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let properties = Properties::of(context.properties);
        let mut body = named_in_domain(context).await?;
        for name in ["email", "password"] {
            if let Some(text) = properties.filled(name)? {
                body.insert(name.into(), text.into());
            }
        }
        if let Some(project) = id_in(context, "default_project", &PROJECTS).await? {
            body.insert("default_project_id".into(), project.into());
        }
        Ok(body)
    }

    fn unsaid(&self, fields: &mut Record, changed: &[String]) {
        if !changed.iter().any(|name| name == "password") {
            fields.remove("password");
        }
    }

    async fn settle(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        let identity = context.session.identity();
        let (leaving, coming) = members(context, "groups", &GROUPS).await?;
        for group in &coming {
            identity.group_add(group, id).await?;
        }
        for group in &leaving {
            done_if_gone(identity.group_remove(group, id).await)?;
        }
        roles::settle(context, Actor::User(id)).await
    }
}
