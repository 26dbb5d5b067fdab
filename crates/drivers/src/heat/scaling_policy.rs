//! `OS::Heat::ScalingPolicy`: by how much a group's size changes. The engine reads its properties when it is applied.
//!
//! Its address is signed like that of a wait condition handle. Without an address for servers there is none; users can
//! apply the policy all the same. Source: Heat's `scaling_policy.py`.

use async_trait::async_trait;
use serde_json::{Map, json};

use super::{Context, Driver, DriverError, Duplicates, Progress, Ready, marker};
use crate::driver::{Abilities, Update};

pub(super) struct ScalingPolicy;

#[async_trait]
impl Driver for ScalingPolicy {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::None
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            secrets: &["alarm_url", "signal_url"],
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        Ok(marker::marker_name(context.marker))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let mut attributes = Map::new();
        if let Some(address) = context.signals.address() {
            for name in self.abilities().secrets {
                attributes.insert((*name).to_owned(), json!(address.url()));
            }
        }
        Ok(Progress::Ready(Ready {
            reference: json!(physical_id),
            attributes,
        }))
    }

    async fn delete(&self, _: &Context<'_>, _: Option<&str>) -> Result<(), DriverError> {
        Ok(())
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

#[async_trait]
impl Update for ScalingPolicy {
    async fn update(&self, _: &Context<'_>, _: &str) -> Result<(), DriverError> {
        Ok(())
    }
}
