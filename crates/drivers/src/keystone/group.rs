//! `OS::Keystone::Group`: its roles. Source: Identity API v3, "Groups", "Roles".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::identity::Actor;

use super::super::described::{Hooks, Occasion};
use super::roles;
use crate::driver::{Context, DriverError};

pub(crate) struct Group;

#[async_trait]
impl Hooks for Group {
    fn removable_entries(&self) -> &'static [&'static str] {
        &["roles"]
    }

    async fn after_change(
        &self,
        context: &Context<'_>,
        id: &str,
        _record: &Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        roles::after_change(context, Actor::Group(id)).await
    }
}
