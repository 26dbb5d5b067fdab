//! `OS::Nova::Quota` and `OS::Cinder::Quota`: how much of a service a project may use.
//!
//! A project has its limits once and for all, so to set them twice changes nothing; the id is the project's, and all properties
//! but the project are limits, called as in the API. What goes gives the project the usual limits again, and so does a
//! limit that is taken out of the template. Source: Compute API and Block Storage API v3, "Quota sets".

use async_trait::async_trait;
use openstack::Service;
use openstack::collection::Record;
use openstack::identity::PROJECTS;
use serde_json::{Map, Value};

use super::neutron::{done_if_gone, with_show};
use super::properties::Properties;
use super::records::id_required;
use crate::driver::{Context, Driver, DriverError, Progress, Ready};

/// Of which service.
pub(super) struct Quota(pub(super) Service);

const PROJECT: &str = "project";

#[async_trait]
impl Driver for Quota {
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let project = id_required(context, PROJECT, &PROJECTS).await?;
        self.set(context, &project).await?;
        Ok(project)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let limits = context.session.quota_sets(self.0).get(physical_id).await?;
        Ok(Progress::Ready(Ready {
            reference: physical_id.into(),
            attributes: with_show(limits),
        }))
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let is_said_no_more = |name: &String| {
            !context
                .properties
                .get(name)
                .is_some_and(|value| !value.is_null())
        };
        if limits(context.before)?.keys().any(is_said_no_more) {
            context
                .session
                .quota_sets(self.0)
                .reset(physical_id)
                .await?;
        }
        self.set(context, physical_id).await
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let project = match physical_id {
            Some(id) => id.to_owned(),
            None => match id_required(context, PROJECT, &PROJECTS).await {
                // Without a project none was ever set.
                Err(DriverError::Property { .. }) => return Ok(()),
                found => found?,
            },
        };
        done_if_gone(context.session.quota_sets(self.0).reset(&project).await)
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

impl Quota {
    async fn set(&self, context: &Context<'_>, project: &str) -> Result<(), DriverError> {
        let limits = limits(context.properties)?;
        let quotas = context.session.quota_sets(self.0);
        Ok(quotas.set(project, &limits).await?)
    }
}

fn limits(map: &Map<String, Value>) -> Result<Record, DriverError> {
    let properties = Properties::of(map);
    let mut limits = Map::new();
    for name in map.keys().filter(|name| *name != PROJECT) {
        if let Some(limit) = properties.integer(name)? {
            limits.insert(name.clone(), limit.into());
        }
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_but_the_project_are_limits() {
        let properties = json!({"project": "p", "cores": "4", "ram": -1, "instances": null});
        let limits = limits(properties.as_object().unwrap()).unwrap();
        assert_eq!(Value::Object(limits), json!({"cores": 4, "ram": -1}));
    }
}
