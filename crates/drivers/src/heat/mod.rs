//! Types of the template language, without resources in a cloud.
//!
//! Most are pure functions from properties to attributes ([`Local`]), whose creation, update and deletion are the same
//! ([`LocalDriver`]). Wait conditions and their handles are drivers of their own, because servers signal to them.

use std::time::Duration;

use async_trait::async_trait;
use hot::template::members::LAUNCH_CONFIGURATION;
use serde_json::{Map, Value, json};

use super::{marker, properties::Properties};
use crate::driver::{
    Abilities, Context, DelayedDeletion, Driver, DriverError, Duplicates, Progress, Ready, Update,
};

mod cloud_config;
mod delay;
mod multipart_mime;
mod none;
mod parent;
mod random_string;
mod scaling_policy;
mod software_component;
mod software_config;
mod test_resource;
mod value;
mod wait_condition;
mod wait_condition_handle;

/// Heat's names of the actions.
const CREATE: &str = "CREATE";
const UPDATE: &str = "UPDATE";
const DELETE: &str = "DELETE";

/// A type without resources in the cloud.
pub(super) trait Local: Send + Sync {
    /// The values for references from other resources.
    fn ready(&self, properties: &Map<String, Value>) -> Result<Ready, DriverError>;

    /// Secret attributes that the type generates.
    fn secrets(&self) -> &'static [&'static str] {
        &[]
    }

    /// Duration in seconds of a creation ([`CREATE`]), an update ([`UPDATE`]) or a deletion ([`DELETE`]).
    fn waits_seconds(
        &self,
        _properties: Properties<'_>,
        _action: &str,
    ) -> Result<u64, DriverError> {
        Ok(0)
    }
}

/// The driver of a [`Local`] type. The id contains its name and the time when it is ready, in seconds since 1970, so
/// that a wait continues after a restart.
pub(super) struct LocalDriver<T>(pub T);

#[async_trait]
impl<T: Local> Driver for LocalDriver<T> {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::None
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            delayed_deletion: Some(self),
            secrets: self.0.secrets(),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let properties = Properties::of(context.properties);
        // All actions, so that an excessive wait before the deletion is refused on creation.
        for action in [CREATE, UPDATE, DELETE] {
            if self.0.waits_seconds(properties, action)? > WAIT_SECONDS_MAX {
                return Err(DriverError::Property {
                    property: "wait_secs".to_owned(),
                    message: format!("a wait takes {WAIT_SECONDS_MAX} seconds at most"),
                });
            }
        }
        Ok(local_id(context, self.0.waits_seconds(properties, CREATE)?))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let from = physical_id
            .rsplit_once('@')
            .and_then(|(_, from)| from.parse::<u64>().ok())
            .unwrap_or_default();
        let left = from.saturating_sub(now_seconds());
        if left > 0 {
            return Ok(Progress::Pending(format!("{left} s left to wait")));
        }
        let mut ready = self.0.ready(context.properties)?;
        if ready.reference.is_null() {
            ready.reference = json!(physical_id);
        }
        Ok(Progress::Ready(ready))
    }

    async fn delete(&self, _: &Context<'_>, _: Option<&str>) -> Result<(), DriverError> {
        Ok(())
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

#[async_trait]
impl<T: Local> Update for LocalDriver<T> {
    async fn update(&self, _: &Context<'_>, _: &str) -> Result<(), DriverError> {
        Ok(())
    }

    /// A wait changes the time of readiness, and with it the id.
    async fn id_after_update(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        let properties = Properties::of(context.properties);
        Ok(match self.0.waits_seconds(properties, UPDATE)? {
            0 => physical_id.to_owned(),
            seconds => local_id(context, seconds),
        })
    }
}

#[async_trait]
impl<T: Local> DelayedDeletion for LocalDriver<T> {
    async fn waits_before_delete(&self, context: &Context<'_>) -> Result<Duration, DriverError> {
        let properties = Properties::of(context.properties);
        // An excessive wait is shortened: a refused deletion would block the deployment forever.
        let seconds = self.0.waits_seconds(properties, DELETE);
        let seconds = seconds.unwrap_or(WAIT_SECONDS_MAX).min(WAIT_SECONDS_MAX);
        Ok(Duration::from_secs(seconds))
    }
}

/// Maximum wait in seconds: the time limit of a step minus a reserve.
const WAIT_SECONDS_MAX: u64 = 540;

/// The driver of a type of the template language.
pub(super) fn driver_for(resource_type: &str) -> Option<&'static dyn Driver> {
    Some(match resource_type {
        "OS::Heat::CloudConfig" => &LocalDriver(cloud_config::CloudConfig),
        "OS::Heat::Delay" => &LocalDriver(delay::Delay),
        "OS::Heat::MultipartMime" => &LocalDriver(multipart_mime::MultipartMime),
        // The servers of a group take their properties from it when a plan is made.
        "OS::Heat::None" | LAUNCH_CONFIGURATION => &LocalDriver(none::None),
        "OS::Heat::RandomString" => &LocalDriver(random_string::RandomString),
        "OS::Heat::SoftwareComponent" => &LocalDriver(software_component::SoftwareComponent),
        "OS::Heat::SoftwareConfig" | "OS::Heat::StructuredConfig" => {
            &LocalDriver(software_config::SoftwareConfig)
        }
        "OS::Heat::TestResource" => &LocalDriver(test_resource::TestResource),
        "OS::Heat::UpdateWaitConditionHandle" => {
            &wait_condition_handle::WaitConditionHandle { is_url: true }
        }
        "OS::Heat::Value" => &LocalDriver(value::Value),
        "OS::Heat::ScalingPolicy" => &scaling_policy::ScalingPolicy,
        "OS::Heat::WaitCondition" | "OS::Heat::SwiftSignal" => &wait_condition::WaitCondition,
        "OS::Heat::WaitConditionHandle" | "OS::Heat::SwiftSignalHandle" => {
            &wait_condition_handle::WaitConditionHandle { is_url: false }
        }
        "OS::Heat::ResourceGroup" => &LocalDriver(parent::Group),
        parent if planner::members::is_parent(parent) => &LocalDriver(parent::Parent),
        _ => return None,
    })
}

/// The id of a resource that is ready after this number of seconds.
fn local_id(context: &Context<'_>, seconds: u64) -> String {
    let from = now_seconds() + seconds;
    format!("{}@{from}", marker::marker_name(context.marker))
}

fn now_seconds() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map(|since| since.as_secs()).unwrap_or_default()
}

/// A text as value of `get_resource` and of `get_attr: [.., config]`.
///
/// In Heat, `get_resource` of a config returns an id, which Heat replaces by the text in the user data of servers. Here
/// it returns the text itself, which is valid wherever a text is.
fn config(text: String) -> Ready {
    let mut attributes = Map::new();
    attributes.insert("config".into(), json!(text));
    Ready {
        reference: json!(text),
        attributes,
    }
}

#[cfg(test)]
mod tests;
