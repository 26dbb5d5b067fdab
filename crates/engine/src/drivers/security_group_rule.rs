//! `OS::Neutron::SecurityGroupRule`: one rule on its own. Source: Networking API v2.0, "Security group
//! rules".

use async_trait::async_trait;
use openstack::network::{self as api, SecurityGroup};
use serde_json::{Map, Value};

use super::properties::Properties;
use super::{neutron, rules};
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Progress, Search,
};

pub(super) struct SecurityGroupRule;

#[async_trait]
impl Driver for SecurityGroupRule {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let properties = Properties::of(context.properties);
        let own = properties.text("description")?;
        if let Some(found) =
            neutron::find::<api::SecurityGroupRule>(context, own.as_deref()).await?
        {
            return Ok(found.id);
        }
        let group = properties.required("security_group")?;
        let group = properties
            .id_named::<SecurityGroup>(context.session, "security_group", &group)
            .await?;
        let remote = properties
            .id_of::<SecurityGroup>(context.session, "remote_group")
            .await?;
        let fields = rules::body(properties, &group, remote.as_deref())?;
        let made: api::SecurityGroupRule = neutron::make(context, own.as_deref(), fields).await?;
        Ok(made.id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        neutron::progress::<api::SecurityGroupRule>(context, physical_id).await
    }

    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        neutron::attributes::<api::SecurityGroupRule>(context, physical_id).await
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        neutron::delete::<api::SecurityGroupRule>(context, physical_id).await
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        neutron::is_gone::<api::SecurityGroupRule>(context, physical_id).await
    }
}

#[async_trait]
impl ListMarked for SecurityGroupRule {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        neutron::list_marked::<api::SecurityGroupRule>(search).await
    }
}
