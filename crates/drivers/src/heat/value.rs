//! `OS::Heat::Value`: a named value for use in several places. With a `type`, it is converted like a parameter of that
//! type.

use serde_json::{Map, Value as Json};

use super::{DriverError, Local, Properties, Ready};

pub(super) struct Value;

impl Local for Value {
    fn ready(&self, properties: &Map<String, Json>) -> Result<Ready, DriverError> {
        let properties = Properties::of(properties);
        let given = properties.get("value").cloned().unwrap_or(Json::Null);
        let value = match properties.filled("type")? {
            Some(kind) => planner::plan::coerce(&kind, &given),
            None => given,
        };
        let mut attributes = Map::new();
        attributes.insert("value".into(), value);
        Ok(Ready {
            reference: Json::Null,
            attributes,
        })
    }
}
