//! `OS::Keystone::Project`: its tags and its default security group.
//!
//! Neutron creates a default security group for every project on first use, and keeps it when the project is deleted.
//! So it is deleted first, as in Heat. Source: Identity API v3, "Projects".

use async_trait::async_trait;
use openstack::Service;
use openstack::collection::Record;
use openstack::network::SecurityGroup;

use super::super::described::{Hooks, Occasion};
use super::super::properties::Properties;
use super::super::record::done_if_gone;
use crate::driver::{Context, DriverError};

pub(crate) struct Project;

#[async_trait]
impl Hooks for Project {
    async fn complete(
        &self,
        context: &Context<'_>,
        body: &mut Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        let tags = Properties::of(context.properties).texts("tags")?;
        // Others can have set tags: an empty list is sent only after a former list.
        if !tags.is_empty() || context.before.contains_key("tags") {
            body.insert("tags".into(), tags.into());
        }
        Ok(())
    }

    async fn before_delete(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        if !context.session.has_service(Service::Network) {
            return Ok(());
        }
        let network = context.session.network();
        let query = [("project_id", id), ("name", "default")];
        for group in network.list::<SecurityGroup>(&query).await? {
            done_if_gone(network.delete::<SecurityGroup>(&group.id).await)?;
        }
        Ok(())
    }
}
