//! `OS::Nova::Quota`, `OS::Cinder::Quota`, `OS::Neutron::Quota` and `OS::Octavia::Quota`: quotas of a project.
//!
//! Setting the limits of a project twice changes nothing. The id is the project's, and all other properties are limits,
//! named as in the API (except for [`NEWER`]). The limits are set once the journal contains the id, so a deletion
//! resets only limits that were set. A deletion resets the project to the default limits, and so does the removal of a
//! limit from the template. Source: Compute API and Block Storage API v3, "Quota sets"; Networking API v2.0 and Load
//! Balancer API v2, "Quotas".

use async_trait::async_trait;
use openstack::Service;
use openstack::collection::Record;
use openstack::identity::PROJECTS;
use serde_json::{Map, Value};

use super::described::lookup::id_required;
use super::properties::Properties;
use super::record::{done_if_gone, with_show};
use crate::driver::{Abilities, Context, Driver, DriverError, Duplicates, Progress, Ready, Update};

/// The driver of the quotas of a service.
pub(super) struct Quota(pub(super) Service);

const PROJECT: &str = "project";

/// Octavia's newer names of limits.
const NEWER: [(&str, &str); 2] = [
    ("loadbalancer", "load_balancer"),
    ("healthmonitor", "health_monitor"),
];

#[async_trait]
impl Driver for Quota {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

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

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        match physical_id {
            Some(project) => done_if_gone(context.session.quota_sets(self.0).reset(project).await),
            // No limits were set.
            None => Ok(()),
        }
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

#[async_trait]
impl Update for Quota {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let wanted = limits(context.properties)?;
        let mut before = limits(context.before)?.into_iter();
        // The next progress check sets the remaining limits again.
        if before.any(|(name, _)| !wanted.contains_key(&name)) {
            let quotas = context.session.quota_sets(self.0);
            done_if_gone(quotas.reset(physical_id).await)?;
        }
        Ok(())
    }
}

/// The limits by the API's names.
fn limits(map: &Map<String, Value>) -> Result<Record, DriverError> {
    let properties = Properties::of(map);
    let mut limits = Map::new();
    for name in map.keys().filter(|name| *name != PROJECT) {
        if let Some(limit) = properties.integer(name)? {
            let newer = NEWER.iter().find(|(older, _)| older == name);
            let name = newer.map_or(name.as_str(), |(_, newer)| newer);
            limits.insert(name.to_owned(), limit.into());
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

    #[test]
    fn octavia_calls_some_otherwise() {
        let properties = json!({"loadbalancer": 3, "healthmonitor": 4, "pool": 5});
        let limits = limits(properties.as_object().unwrap()).unwrap();
        assert_eq!(
            Value::Object(limits),
            json!({"load_balancer": 3, "health_monitor": 4, "pool": 5})
        );
    }
}
