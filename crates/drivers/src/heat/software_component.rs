//! `OS::Heat::SoftwareComponent`: configurations for the stages of a component's life. A software deployment takes the
//! one of its stage.

use serde_json::{Map, Value as Json, json};

use super::{DriverError, Local, Properties, Ready, config};

pub(super) struct SoftwareComponent;

impl Local for SoftwareComponent {
    fn ready(&self, properties: &Map<String, Json>) -> Result<Ready, DriverError> {
        let properties = Properties::of(properties);
        let configs = properties
            .get("configs")
            .cloned()
            .unwrap_or_else(|| json!([]));
        let mut ready = config(json!({ "configs": configs }).to_string());
        ready.attributes.insert("configs".into(), configs);
        Ok(ready)
    }
}
