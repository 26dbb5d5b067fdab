//! `OS::Heat::Delay`: a delay for dependent resources.
//!
//! It takes `min_wait` seconds, plus a random time of up to `max_jitter` times `jitter_multiplier` seconds, on
//! creation, deletion or both, as listed in `actions`. It does not wait on SUSPEND and RESUME. Source:
//! Heat's `delay.py`.

use serde_json::{Map, Value as Json};

use super::{DriverError, Local, Properties, Ready};

pub(super) struct Delay;

impl Local for Delay {
    fn ready(&self, _: &Map<String, Json>) -> Result<Ready, DriverError> {
        Ok(Ready::default())
    }

    fn waits_seconds(&self, properties: Properties<'_>, action: &str) -> Result<u64, DriverError> {
        let actions = properties.get("actions").and_then(Json::as_array);
        let waits = match actions {
            Some(actions) => actions.iter().any(|one| one == action),
            None => action == super::CREATE,
        };
        if !waits {
            return Ok(0);
        }
        let number = |name: &str, default: f64| {
            let value = properties.get(name);
            value.map_or(Some(default), |value| {
                value
                    .as_f64()
                    .or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
            })
        };
        let wrong = |name: &str| DriverError::Property {
            property: name.to_owned(),
            message: "it must be a number of seconds, 0 or more".to_owned(),
        };
        let least = number("min_wait", 0.0).ok_or_else(|| wrong("min_wait"))?;
        let jitter = number("max_jitter", 0.0).ok_or_else(|| wrong("max_jitter"))?;
        let unit = number("jitter_multiplier", 1.0).ok_or_else(|| wrong("jitter_multiplier"))?;
        let seconds = least.max(0.0) + rand::random::<f64>() * jitter.max(0.0) * unit.max(0.0);
        if seconds > super::WAIT_SECONDS_MAX as f64 {
            return Err(DriverError::Property {
                property: "min_wait".to_owned(),
                message: format!("a delay takes {} seconds at most", super::WAIT_SECONDS_MAX),
            });
        }
        Ok(seconds.round() as u64)
    }
}
