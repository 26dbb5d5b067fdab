//! `OS::Neutron::RBACPolicy`: lets another project use a thing of this one.
//!
//! Neutron keeps neither name nor description of it, and one policy for a thing, a project and a way of use.
//! Source: Networking API v2.0, "RBAC policies".

use async_trait::async_trait;
use openstack::network::{
    AddressScope, Network, QosPolicy, RbacPolicy as Thing, SecurityGroup, SubnetPool,
};
use serde_json::{Map, Value};

use super::properties::Properties;
use super::told::Says;
use crate::driver::{Context, DriverError};

pub(super) struct RbacPolicy;

#[async_trait]
impl Says for RbacPolicy {
    type Thing = Thing;
    const KNOWN_BY: &'static [&'static str] =
        &["object_id", "object_type", "action", "target_tenant"];
    const CHANGES: &'static [&'static str] = &["target_tenant"];

    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
        let properties = Properties::of(context.properties);
        let mut body = Map::new();
        for name in ["object_type", "action", "target_tenant"] {
            body.insert(name.into(), properties.required(name)?.into());
        }
        body.insert("object_id".into(), object(context).await?.into());
        properties.copy(&["tenant_id"], &mut body);
        Ok(body)
    }
}

/// The id of what is shared, which the properties may name.
async fn object(context: &Context<'_>) -> Result<String, DriverError> {
    const OBJECT: &str = "object_id";
    let (session, properties) = (context.session, Properties::of(context.properties));
    let given = properties.required(OBJECT)?;
    let kind = properties.required("object_type")?;
    match kind.as_str() {
        "network" => {
            properties
                .id_named::<Network>(session, OBJECT, &given)
                .await
        }
        "qos_policy" => {
            properties
                .id_named::<QosPolicy>(session, OBJECT, &given)
                .await
        }
        "security_group" => {
            properties
                .id_named::<SecurityGroup>(session, OBJECT, &given)
                .await
        }
        "address_scope" => {
            properties
                .id_named::<AddressScope>(session, OBJECT, &given)
                .await
        }
        "subnetpool" => {
            properties
                .id_named::<SubnetPool>(session, OBJECT, &given)
                .await
        }
        _ => Ok(given),
    }
}
