//! `OS::Heat::None`: accepts any property and does nothing, so that an environment can disable a part of a template.

use serde_json::{Map, Value as Json};

use super::{DriverError, Local, Ready};

pub(super) struct None;

impl Local for None {
    fn ready(&self, _: &Map<String, Json>) -> Result<Ready, DriverError> {
        Ok(Ready::default())
    }
}
