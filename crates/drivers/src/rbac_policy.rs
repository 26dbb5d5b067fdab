//! `OS::Neutron::RBACPolicy`: look-up of the shared resource by name. Source: Networking API v2.0, "RBAC policies".

use async_trait::async_trait;
use openstack::collection::Record;

use super::described::{Hooks, Occasion, collection, lookup};
use super::properties::Properties;
use crate::driver::{Context, DriverError};

pub(super) struct RbacPolicy;

const OBJECT: &str = "object_id";

#[async_trait]
impl Hooks for RbacPolicy {
    async fn complete(
        &self,
        context: &Context<'_>,
        body: &mut Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        let shared = match Properties::of(context.properties)
            .text("object_type")?
            .as_deref()
        {
            Some("network") => "OS::Neutron::Net",
            Some("qos_policy") => "OS::Neutron::QoSPolicy",
            Some("security_group") => "OS::Neutron::SecurityGroup",
            Some("address_scope") => "OS::Neutron::AddressScope",
            Some("subnetpool") => "OS::Neutron::SubnetPool",
            _ => return Ok(()),
        };
        if let Some(collection) = collection(shared) {
            let id = lookup::id_required(context, OBJECT, collection).await?;
            body.insert(OBJECT.into(), id.into());
        }
        Ok(())
    }
}
