//! `OS::Keystone::User`: groups and roles.
//!
//! The password is sent only when it changed: Keystone revokes the user's tokens with every password that is set, even
//! an equal one. Source: Identity API v3, "Users", "Groups", "Roles".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::identity::{Actor, GROUPS};

use super::super::described::lookup::members;
use super::super::described::{Hooks, Occasion};
use super::super::record::done_if_gone;
use super::roles;
use crate::driver::{Context, DriverError};

pub(crate) struct User;

#[async_trait]
impl Hooks for User {
    fn removable_entries(&self) -> &'static [&'static str] {
        &["groups", "roles"]
    }

    async fn after_change(
        &self,
        context: &Context<'_>,
        id: &str,
        _record: &Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        let identity = context.session.identity();
        let (leaving, coming) = members(context, "groups", &GROUPS).await?;
        for group in &coming {
            identity.group_add(group, id).await?;
        }
        for group in &leaving {
            done_if_gone(identity.group_remove(group, id).await)?;
        }
        roles::after_change(context, Actor::User(id)).await
    }
}
