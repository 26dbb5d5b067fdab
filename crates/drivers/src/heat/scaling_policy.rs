//! `OS::Heat::ScalingPolicy`: by how much a group's size changes. The engine reads its properties when it is applied.

use serde_json::{Map, Value as Json};

use super::{DriverError, Local, Ready};

pub(super) struct ScalingPolicy;

impl Local for ScalingPolicy {
    fn ready(&self, _: &Map<String, Json>) -> Result<Ready, DriverError> {
        Ok(Ready::default())
    }
}
