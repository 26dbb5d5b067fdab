//! `OS::Heat::None`: takes any property and is nothing, so that an environment can switch a part of a
//! template off.

use serde_json::{Map, Value as Json};

use super::{DriverError, Local, Ready};

pub(super) struct None;

impl Local for None {
    fn ready(&self, _: &Map<String, Json>) -> Result<Ready, DriverError> {
        Ok(Ready::default())
    }
}
