//! `OS::Heat::CloudConfig`: a map as a `#cloud-config` for a server's user data.
//!
//! Written as JSON, which is valid YAML, so no value needs YAML quoting.

use serde_json::{Map, Value as Json, json};

use super::{DriverError, Local, Properties, Ready, config};

pub(super) struct CloudConfig;

impl Local for CloudConfig {
    fn ready(&self, properties: &Map<String, Json>) -> Result<Ready, DriverError> {
        let properties = Properties::of(properties);
        let map = match properties.get("cloud_config") {
            None => json!({}),
            Some(map @ Json::Object(_)) => map.clone(),
            Some(_) => {
                return Err(DriverError::Property {
                    property: "cloud_config".to_owned(),
                    message: "it must be a map of cloud-init's modules".to_owned(),
                });
            }
        };
        Ok(config(format!("#cloud-config\n{map:#}\n")))
    }
}
