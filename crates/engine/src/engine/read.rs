//! Reads of single resources from the cloud, outside of a run.

use std::{collections::BTreeMap, sync::Arc};

use api::Deployment;
use openstack::Session;
use planner::workflow::copy_of;
use serde_json::{Map, Value};

use crate::{
    Actor,
    resources::{ResourceEntry, ResourceTable},
    secrets::RunVault,
};
use drivers::{Accepted, Context, Difference, Driver, DriverError, Inspection, Marker};

/// Maximum number of parallel requests to the cloud.
pub(super) const PARALLEL_READS: usize = 8;

/// The record of a deployment.
pub(super) struct Recorded<'a> {
    pub deployment: &'a Deployment,
    pub resources: &'a ResourceTable,
    /// Parameter values without hidden ones.
    pub parameters: &'a BTreeMap<String, Value>,
}

impl Recorded<'_> {
    /// The inputs of a resource's read. `None` if the cloud has nothing to read of it.
    pub fn read_job(&self, name: &str, actor: &Actor, vault: &Arc<RunVault>) -> Option<ReadJob> {
        let thing = self.resources.get(name)?;
        let kind = &thing.spec.resource_type;
        let driver = drivers::driver_for(kind)?;
        if drivers::is_of_the_language(kind) || !driver.abilities().secrets.is_empty() {
            return None;
        }
        thing.reference.as_ref()?;
        let id = thing.physical_id.clone()?;
        let scope = self.resources.scope(self.parameters);
        let resolved = thing.spec.properties.iter();
        let resolved =
            resolved.filter_map(|(name, value)| Some((name.clone(), value.resolve(&scope).ok()?)));
        let mut properties: Map<String, Value> = resolved.collect();
        properties.extend(thing.made_from.clone());
        if let Some(described) = types::Registry::shared().get(kind) {
            properties = types::typed(&described.properties, &properties);
        }
        let resource = copy_of(name).unwrap_or(name);
        let marker = Marker {
            deployment: self.deployment.id.clone(),
            deployment_name: self.deployment.name.clone(),
            resource: Marker::resource_of(resource, thing.incarnation),
        };
        Some(ReadJob {
            id,
            driver,
            thing,
            properties,
            marker,
            session: actor.session.clone(),
            vault: vault.clone(),
        })
    }
}

/// A set of attributes that are read together.
pub(super) enum Part {
    /// Attributes that a run stores.
    Stored,
    /// Attributes that need requests of their own.
    OnDemand(Vec<&'static str>),
}

/// The inputs of one resource's read.
pub(super) struct ReadJob {
    id: String,
    pub driver: &'static dyn Driver,
    thing: ResourceEntry,
    properties: Map<String, Value>,
    marker: Marker,
    session: Session,
    vault: Arc<RunVault>,
}

impl ReadJob {
    pub fn resource_type(&self) -> &str {
        &self.thing.spec.resource_type
    }

    fn context<'a>(&'a self, accepted: &'a Accepted) -> Context<'a> {
        let vault = self.vault.as_ref();
        let base = Context::of(
            &self.session,
            vault,
            accepted,
            &self.marker,
            &self.properties,
        );
        Context {
            marks: &self.thing.spec.marks,
            ..base
        }
    }

    /// The state of the resource, and what a user changed in it since its last step.
    pub async fn inspect(&self) -> Result<(Inspection, Vec<Difference>), DriverError> {
        let accepted = Accepted::default();
        let context = self.context(&accepted);
        let found = self.driver.inspect(&context, &self.id).await?;
        let differences = match (&found, self.driver.abilities().inspection) {
            (Inspection::Usable(present), Some(inspection)) => {
                let recorded = &self.thing.attributes;
                inspection.differences(&context, recorded, present).await?
            }
            _ => Vec::new(),
        };
        Ok((found, differences))
    }

    /// Present values of attributes.
    pub async fn read(&self, part: &Part) -> Result<Map<String, Value>, DriverError> {
        let accepted = Accepted::default();
        let context = self.context(&accepted);
        let mut read = match part {
            Part::OnDemand(names) => match self.driver.abilities().on_demand {
                Some(on_demand) => on_demand.read(&context, &self.id, names).await?,
                None => Map::new(),
            },
            Part::Stored => {
                let attributes = self.driver.attributes(&context, &self.id).await?;
                attributes.ok_or_else(|| {
                    DriverError::Other(
                        "it is gone from the cloud, or is being changed there".into(),
                    )
                })?
            }
        };
        drivers::marker::hide(&mut read);
        Ok(read)
    }
}
