//! `OS::Keystone::Service`: a service in the cloud's catalogue; where it is, endpoints say.
//! Source: Identity API v3, "Service catalog and endpoints".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::identity::SERVICES;

use super::super::properties::Properties;
use super::super::records::Records;
use super::named;
use crate::driver::{Context, DriverError};

pub(super) struct Service;

#[async_trait]
impl Records for Service {
    const OF: &'static Collection = &SERVICES;

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let mut body = named(context)?;
        let kind = Properties::of(context.properties).required("type")?;
        body.insert("type".into(), kind.into());
        Ok(body)
    }
}
