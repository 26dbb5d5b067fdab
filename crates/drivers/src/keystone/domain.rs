//! `OS::Keystone::Domain`: its removal. Keystone removes a domain only once it is disabled, and with it all that lives in it.
//! Source: Identity API v3, "Domains".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::identity::DOMAINS;

use super::super::described::Hooks;
use crate::driver::{Context, DriverError};

pub(crate) struct Domain;

#[async_trait]
impl Hooks for Domain {
    async fn let_go(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        let off = Record::from_iter([("enabled".to_owned(), false.into())]);
        let domains = context.session.records(&DOMAINS);
        Ok(domains.update(id, &off).await.map(drop)?)
    }
}
