//! `OS::Neutron::SubnetPool`: addresses that subnets are cut from.
//! Source: Networking API v2.0, "Subnet pools".

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::mark;
use super::plain::Fields;
use super::properties::Properties;
use crate::driver::{Context, DriverError};

pub(super) struct SubnetPool;

#[async_trait]
impl Fields for SubnetPool {
    type Thing = openstack::network::SubnetPool;
    const FIXED: &'static [&'static str] = &["tenant_id", "shared"];

    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
        let properties = Properties::of(context.properties);
        let mut body = Map::new();
        let name = mark::physical_name(context.marker, context.properties);
        body.insert("name".into(), name.into());
        let prefixes = properties.texts("prefixes")?;
        if prefixes.is_empty() {
            return Err(properties.wrong("prefixes", "at least one range must be given".into()));
        }
        body.insert("prefixes".into(), prefixes.into());
        for number in [
            "default_prefixlen",
            "default_quota",
            "max_prefixlen",
            "min_prefixlen",
        ] {
            if let Some(value) = properties.integer(number)? {
                body.insert(number.into(), value.into());
            }
        }
        properties.copy_booleans(&["is_default", "shared"], &mut body)?;
        // What is so anyway is not said: administrators alone may say it.
        body.retain(|name, value| {
            !(matches!(name.as_str(), "shared" | "is_default") && value == &Value::Bool(false))
        });
        for (property, field) in [
            ("address_scope", "address_scope_id"),
            ("tenant_id", "tenant_id"),
        ] {
            if let Some(value) = properties.filled(property)? {
                body.insert(field.into(), value.into());
            }
        }
        Ok(body)
    }
}
