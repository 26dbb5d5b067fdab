//! Groups, chains and nested templates: their members are resources of their own, and what is left of
//! them is what they give to others. The planner made that their properties.

use serde_json::{Map, Value as Json};

use super::{DriverError, Local, Ready};

pub(super) struct Parent;

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
