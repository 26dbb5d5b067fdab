//! `OS::Keystone::Region`: a part of a cloud. Its id is its name; Keystone makes one up where none is given.
//! Source: Identity API v3, "Regions".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::identity::REGIONS;
use serde_json::Map;

use super::super::properties::Properties;
use super::super::records::{Records, id_in};
use crate::driver::{Context, DriverError};

pub(super) struct Region;

#[async_trait]
impl Records for Region {
    const OF: &'static Collection = &REGIONS;
    const FIXED: &'static [&'static str] = &["id"];

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let properties = Properties::of(context.properties);
        let mut body = Map::new();
        if let Some(id) = properties.filled("id")? {
            body.insert("id".into(), id.into());
        }
        properties.copy_booleans(&["enabled"], &mut body)?;
        if let Some(parent) = id_in(context, "parent_region", &REGIONS).await? {
            body.insert("parent_region_id".into(), parent.into());
        }
        Ok(body)
    }
}
