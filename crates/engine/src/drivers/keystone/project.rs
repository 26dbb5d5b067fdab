//! `OS::Keystone::Project`: whose things are kept apart from others'.
//!
//! Neutron gives every project a security group once it is asked for one, and nobody removes it with the project: so it goes
//! first, as in Heat. Source: Identity API v3, "Projects".

use async_trait::async_trait;
use openstack::Service;
use openstack::collection::{Collection, Record};
use openstack::identity::PROJECTS;
use openstack::network::SecurityGroup;

use super::super::neutron::done_if_gone;
use super::super::properties::Properties;
use super::super::records::{Records, id_in};
use super::named_in_domain;
use crate::driver::{Context, DriverError};

pub(super) struct Project;

#[async_trait]
impl Records for Project {
    const OF: &'static Collection = &PROJECTS;
    const FIXED: &'static [&'static str] = &["parent_id"];
    const ASKED_BY: &'static [&'static str] = &["domain_id"];

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let mut body = named_in_domain(context).await?;
        if let Some(parent) = id_in(context, "parent", &PROJECTS).await? {
            body.insert("parent_id".into(), parent.into());
        }
        let tags = Properties::of(context.properties).texts("tags")?;
        // Others may have set some: none are said only where some were drawn.
        if !tags.is_empty() || context.before.contains_key("tags") {
            body.insert("tags".into(), tags.into());
        }
        Ok(body)
    }

    async fn let_go(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
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
