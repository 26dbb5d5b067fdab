//! Groups, chains and nested templates. Their members are separate resources; the parent only provides values for
//! references. The planner passes these values as properties.

use serde_json::{Map, Value as Json};

use super::{DriverError, Local, Ready};

pub(super) struct Parent;

/// A group of numbered members, with a list of the members removed by name.
pub(super) struct Group;

impl Local for Group {
    fn ready(&self, properties: &Map<String, Json>) -> Result<Ready, DriverError> {
        let mut ready = Parent.ready(properties)?;
        let removed = ready.attributes.entry("removed_rsrc_list");
        removed.or_insert_with(|| Json::Array(Vec::new()));
        Ok(ready)
    }
}

impl Local for Parent {
    fn ready(&self, properties: &Map<String, Json>) -> Result<Ready, DriverError> {
        let attributes = properties.clone();
        let reference = attributes.get("OS::stack_id").cloned().unwrap_or_default();
        Ok(Ready {
            reference,
            attributes,
        })
    }
}
