//! `OS::Keystone::Domain`: its deletion. Keystone deletes only disabled domains, with all their contents. Source:
//! Identity API v3, "Domains".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::identity::DOMAINS;

use super::super::described::Hooks;
use crate::driver::{Context, DriverError};

pub(crate) struct Domain;

#[async_trait]
impl Hooks for Domain {
    async fn before_delete(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        let off = Record::from_iter([("enabled".to_owned(), false.into())]);
        let domains = context.session.records(&DOMAINS);
        Ok(domains.update(id, &off).await.map(drop)?)
    }
}
