//! `OS::Heat::TestResource`: returns its `value` after `wait_secs`, or fails. For tests of templates.

use serde_json::{Map, Value as Json};

use super::{DriverError, Local, Properties, Ready};

pub(super) struct TestResource;

impl Local for TestResource {
    fn ready(&self, properties: &Map<String, Json>) -> Result<Ready, DriverError> {
        let properties = Properties::of(properties);
        if properties.boolean("fail")? == Some(true) {
            return Err(DriverError::Property {
                property: "fail".to_owned(),
                message: "it is set, so this resource cannot be created".to_owned(),
            });
        }
        let value = properties.get("value").cloned().unwrap_or(Json::Null);
        let mut attributes = Map::new();
        attributes.insert("output".into(), value);
        Ok(Ready {
            reference: Json::Null,
            attributes,
        })
    }

    fn waits_seconds(&self, properties: Properties<'_>, action: &str) -> Result<u64, DriverError> {
        let of_action = match properties.get("action_wait_secs") {
            Some(waits) => {
                let action = action.to_lowercase();
                Properties::within(waits, "action_wait_secs.")?.integer(&action)?
            }
            None => None,
        };
        let seconds = match of_action {
            Some(seconds) => Some(seconds),
            None => properties.integer("wait_secs")?,
        };
        Ok(u64::try_from(seconds.unwrap_or_default()).unwrap_or_default())
    }
}
