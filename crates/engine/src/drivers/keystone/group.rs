//! `OS::Keystone::Group`: users with the same roles. Source: Identity API v3, "Groups", "Roles".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::identity::{Actor, GROUPS};

use super::super::records::Records;
use super::{named_in_domain, roles};
use crate::driver::{Context, DriverError};

pub(super) struct Group;

#[async_trait]
impl Records for Group {
    const OF: &'static Collection = &GROUPS;
    const TAKES_AWAY: &'static [&'static str] = &["roles"];
    const ASKED_BY: &'static [&'static str] = &["domain_id"];

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        named_in_domain(context).await
    }

    async fn settle(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        roles::settle(context, Actor::Group(id)).await
    }
}
