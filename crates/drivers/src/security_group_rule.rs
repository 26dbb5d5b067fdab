//! `OS::Neutron::SecurityGroupRule`: its protocol. Source: Networking API v2.0, "Security group rules".

use async_trait::async_trait;
use openstack::collection::Record;

use super::described::{Hooks, Occasion};
use super::properties::Properties;
use super::rules;
use crate::driver::{Context, DriverError};

pub(super) struct SecurityGroupRule;

#[async_trait]
impl Hooks for SecurityGroupRule {
    async fn complete(
        &self,
        context: &Context<'_>,
        body: &mut Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        let protocol = rules::protocol(Properties::of(context.properties))?;
        body.extend(protocol.map(|protocol| ("protocol".to_owned(), protocol.into())));
        Ok(())
    }
}
