//! `OS::Nova::Quota` and `OS::Cinder::Quota`: how much of a service a project may use.
//!
//! A project has its limits once and for all, so to set them twice changes nothing; the id is the project's, and all properties
//! but the project are limits, called as in the API. They are set once the journal has the id: what was never set takes
//! nothing back when it goes. What goes gives the project the usual limits again, and so does a limit that is taken
//! out of the template. Source: Compute API and Block Storage API v3, "Quota sets".

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
        id_required(context, PROJECT, &PROJECTS).await
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let quotas = context.session.quota_sets(self.0);
        let wanted = limits(context.properties)?;
        let mut limits = quotas.get(physical_id).await?;
        if wanted
            .iter()
            .any(|limit| !limits.iter().any(|one| one == limit))
        {
            quotas.set(physical_id, &wanted).await?;
            limits.extend(wanted);
        }
        Ok(Progress::Ready(Ready {
            reference: physical_id.into(),
            attributes: with_show(limits),
        }))
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let is_said_no_more = |name: &String| {
            let said = context.properties.get(name);
            said.is_none_or(Value::is_null)
        };
        // Those that stay are set again when it is looked at.
        if limits(context.before)?.keys().any(is_said_no_more) {
            let quotas = context.session.quota_sets(self.0);
            quotas.reset(physical_id).await?;
        }
        Ok(())
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        match physical_id {
            Some(project) => done_if_gone(context.session.quota_sets(self.0).reset(project).await),
            // None was ever set.
            None => Ok(()),
        }
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
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
