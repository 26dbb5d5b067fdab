//! `OS::Keystone::Role`: a name for what somebody may do, everywhere or in one domain.
//! Source: Identity API v3, "Roles".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::identity::{DOMAINS, ROLES};

use super::super::records::{Records, id_in};
use super::named;
use crate::driver::{Context, DriverError};

pub(super) struct Role;

#[async_trait]
impl Records for Role {
    const OF: &'static Collection = &ROLES;
    const FIXED: &'static [&'static str] = &["domain_id"];
    const ASKED_BY: &'static [&'static str] = &["domain_id"];

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let mut body = named(context)?;
        if let Some(domain) = id_in(context, "domain", &DOMAINS).await? {
            body.insert("domain_id".into(), domain.into());
        }
        Ok(body)
    }
}
