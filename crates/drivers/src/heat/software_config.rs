//! `OS::Heat::SoftwareConfig` and `OS::Heat::StructuredConfig`: a text (or a map, as JSON) for a server's user data.
//! Executing it on a running server is the task of a software deployment.

use serde_json::{Map, Value as Json, json};

use super::{DriverError, Local, Properties, Ready, config};

pub(super) struct SoftwareConfig;

impl Local for SoftwareConfig {
    fn ready(&self, properties: &Map<String, Json>) -> Result<Ready, DriverError> {
        let properties = Properties::of(properties);
        let given = properties.get("config").cloned().unwrap_or_default();
        let mut ready = config(match &given {
            Json::Null => String::new(),
            Json::String(text) => text.clone(),
            map => map.to_string(),
        });
        // `get_attr` returns a map as a map.
        if !given.is_null() {
            ready.attributes.insert("config".into(), given);
        }
        for name in ["inputs", "outputs"] {
            let list = properties.get(name).cloned().unwrap_or_else(|| json!([]));
            ready.attributes.insert(name.into(), list);
        }
        Ok(ready)
    }
}
