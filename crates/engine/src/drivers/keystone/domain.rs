//! `OS::Keystone::Domain`: projects, users and groups of one organisation.
//!
//! Keystone removes a domain only once it is disabled, and then takes along all that lives in it.
//! Source: Identity API v3, "Domains".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::identity::DOMAINS;

use super::super::records::Records;
use super::named;
use crate::driver::{Context, DriverError};

pub(super) struct Domain;

#[async_trait]
impl Records for Domain {
    const OF: &'static Collection = &DOMAINS;

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        named(context)
    }

    async fn let_go(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        let off = Record::from_iter([("enabled".to_owned(), false.into())]);
        Ok(context.session.records(&DOMAINS).update(id, &off).await?)
    }
}
