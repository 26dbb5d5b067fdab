//! Steps that delete resources.
//!
//! Some resources stay in the cloud: resources that the deployment does not own (`external_id`), retained ones
//! (`deletion_policy`), and objects that have become another resource of the deployment. They are removed from the
//! deployment, and the run's end lists them.

use std::collections::BTreeSet;

use api::ResourceState;
use hot::template::DeletionPolicy;
use planner::workflow::{ResourceSpec, StepKind, copy_of};
use store::ResourceChange;

use super::{
    outcome::Ended,
    snapshot::short_run,
    step::{Attempt, StepResult},
};
use crate::{machine::FailureClass, resources::ResourceEntry};
use drivers::{Context, Driver, DriverError};

impl Attempt {
    pub(super) async fn delete(&self) -> StepResult {
        let name = self.name()?;
        if let Some(copy) = &self.step.replaces
            && !self.run_context.known.was_put_aside(copy)
        {
            // The resource is put aside for its successor, so its name becomes free now.
            self.put_aside(super::create::resource_of(copy), copy, None)
                .await?;
        }
        let there = self.run_context.known.get(name);
        if there.is_none() && copy_of(name).is_some() {
            self.log.info(format!("`{name}` is already deleted")).await;
            return Ok(());
        }
        let spec = self.spec()?;
        if crate::catalog::item_name(&spec.resource_type).is_some() {
            self.remove_component(name, &spec).await?;
            return self.gone(name).await;
        }
        if types::is_software_deployment(&spec.resource_type) {
            self.act_on_delete(name, &spec).await?;
            return self.gone(name).await;
        }
        let id = there.as_ref().and_then(|entry| entry.physical_id.clone());
        if let Some(why) = self.retain_reason(name, there.as_ref()) {
            return self.retain(name, (spec, id.as_deref()), &why).await;
        }
        if let (Some(id), Some(other)) = (&id, self.has_become(name, there.as_ref())) {
            self.log
                .info(format!("{id} is not deleted: it belongs to `{other}` now"))
                .await;
            return self.gone(name).await;
        }
        self.delete_in_cloud(name, spec, there, id).await?;
        self.log.info(format!("Deleted `{name}`")).await;
        // Software is deleted with its server.
        let components = self.run_context.known.on_host(name).into_iter();
        for component in components.filter(|other| copy_of(other).is_none()) {
            self.gone(&component).await?;
        }
        self.gone(name).await
    }

    /// Deletes a resource from the cloud, with what blocks its deletion, and waits until it is gone.
    async fn delete_in_cloud(
        &self,
        name: &str,
        spec: ResourceSpec,
        there: Option<ResourceEntry>,
        id: Option<String>,
    ) -> StepResult {
        let driver = self.driver(&spec)?;
        let work = self.recorded_input(name, spec);
        let context = work.context(self);
        let id = match id {
            None if there.is_some() => self.created_under_its_name(name, driver, &context).await?,
            id => id,
        };
        // A resource that was never ready has no data to keep.
        let was_ready = there.is_some_and(|entry| entry.reference.is_some());
        if let (Some(id), DeletionPolicy::Snapshot, true) =
            (&id, work.spec.deletion_policy, was_ready)
        {
            self.snapshot(driver, &context, id).await?;
        }
        self.log
            .info(format!(
                "Deleting {} `{name}`{}",
                work.spec.resource_type,
                id.as_deref()
                    .map(|id| format!(" ({id})"))
                    .unwrap_or_default()
            ))
            .await;
        if id.is_some()
            && let Some(delayed) = driver.abilities().delayed_deletion
        {
            let wait = delayed.waits_before_delete(&context).await?;
            if !wait.is_zero() {
                let seconds = wait.as_secs();
                self.log
                    .info(format!(
                        "Waiting {seconds} s before the deletion of `{name}`"
                    ))
                    .await;
                self.pause(wait).await?;
            }
        }
        let blocked = driver.abilities().restoration;
        let blocked = blocked.is_some_and(|restores| restores.snapshots_block_deletion());
        if let (Some(id), true) = (&id, blocked) {
            self.delete_snapshots_of(&work.spec.resource_type, id)
                .await?;
        }
        self.delete_past_strays(driver, &context, id.as_deref())
            .await?;
        if let Some(id) = &id {
            self.until_gone(driver, &context, id).await?;
            self.delete_snapshots_of(&work.spec.resource_type, id)
                .await?;
        }
        Ok(())
    }

    /// Removes a resource from the deployment that stays in the cloud.
    async fn retain(
        &self,
        name: &str,
        (spec, id): (ResourceSpec, Option<&str>),
        why: &str,
    ) -> StepResult {
        let what = id.unwrap_or("which was never created");
        self.log
            .warn(format!("`{name}` ({what}) stays in the cloud: {why}"))
            .await;
        if spec.external_id.is_some() {
            return self.gone(name).await;
        }
        if let Some(id) = id {
            self.delete_snapshots_of(&spec.resource_type, id).await?;
        }
        let retained = id.map(|id| format!("`{name}` ({}, {id})", spec.resource_type));
        if let Some(release) = self.driver(&spec)?.abilities().release {
            let work = self.recorded_input(name, spec);
            let released = release.release(&work.context(self), id).await;
            if let Err(error) = released {
                self.is_not_released(name, &work.spec, error).await?;
            }
        }
        if let Some(retained) = retained {
            self.run_context.known.keep(retained);
        }
        self.note(name, ResourceChange::Retained).await?;
        self.run_context.known.remove(name);
        Ok(())
    }

    fn retain_reason(&self, name: &str, entry: Option<&ResourceEntry>) -> Option<String> {
        let spec = entry
            .map(|entry| &entry.spec)
            .or_else(|| self.run_context.workflow.resources.get(name))?;
        if spec.external_id.is_some() {
            return Some("it was there before (`external_id`)".to_owned());
        }
        (spec.deletion_policy == DeletionPolicy::Retain)
            .then(|| "`deletion_policy` is Retain".to_owned())
    }

    /// Another resource that now has the same object in the cloud and is not deleted itself: for example, a router's
    /// interface in a subnet under another name.
    fn has_become(&self, name: &str, entry: Option<&ResourceEntry>) -> Option<String> {
        let entry = entry?;
        let known = &self.run_context.known;
        let mut others = known.with_id(entry.physical_id.as_deref()?).into_iter();
        others.find(|other| {
            let kind = known.get(other).map(|one| one.spec.resource_type);
            other != name && kind.as_ref() == Some(&entry.spec.resource_type) && !self.goes(other)
        })
    }

    /// True if this run deletes the resource or removes it from the deployment.
    fn goes(&self, name: &str) -> bool {
        self.run_context
            .workflow
            .steps
            .iter()
            .any(|step| step.kind == StepKind::Delete && step.resource.as_deref() == Some(name))
    }

    /// Handles a retained resource that could not be released in the cloud, for example because it is broken. This is
    /// an error only if a later deletion of the deployment can delete it together with another resource.
    async fn is_not_released(
        &self,
        name: &str,
        spec: &ResourceSpec,
        error: DriverError,
    ) -> StepResult {
        let ended = Ended::from(error);
        let is_settled =
            matches!(&ended, Ended::Failed(failure) if failure.class != FailureClass::Transient);
        if !is_settled || self.may_be_taken_along(spec) {
            return Err(ended);
        }
        self.log
            .warn(format!(
                "`{name}` could not be marked as retained. This has no effect, because the resources that contain it stay too: {ended}"
            ))
            .await;
        Ok(())
    }

    /// True if a resource that contains this one still belongs to the deployment after this run, or is deleted in it.
    /// Containers are required resources of the same service.
    fn may_be_taken_along(&self, spec: &ResourceSpec) -> bool {
        let service = |resource_type: &str| {
            let parts = resource_type.rsplit_once("::");
            parts.map(|(service, _)| service.to_owned())
        };
        let own = service(&spec.resource_type);
        let mut open = spec.requires.clone();
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let Some(entry) = self.run_context.known.get(&name) else {
                continue;
            };
            if service(&entry.spec.resource_type) != own || entry.spec.external_id.is_some() {
                continue;
            }
            if entry.spec.deletion_policy != DeletionPolicy::Retain || !self.goes(&name) {
                return true;
            }
            open.extend(entry.spec.requires);
        }
        false
    }

    async fn snapshot(&self, driver: &dyn Driver, context: &Context<'_>, id: &str) -> StepResult {
        let Some(snapshots) = driver.abilities().snapshots else {
            return Err(Ended::from(DriverError::Other(format!(
                "no snapshot can be taken of `{id}`; use `deletion_policy: Retain` or `Delete`"
            ))));
        };
        let occasion = self.occasion().await?;
        let ready = self
            .until_snapshot(|| snapshots.snapshot(context, id, &occasion))
            .await?
            .map_err(|why| Ended::lasting(format!("no snapshot of {id} was made: {why}")))?;
        let snapshot = ready.reference.as_str().unwrap_or_default();
        self.log
            .info(format!("Created snapshot {snapshot} of {id}"))
            .await;
        Ok(())
    }

    /// The suffix of a snapshot's name: the run, and the number of its resumptions. A retry finds the snapshot of the
    /// previous attempt. A run that is resumed weeks later gets a new one.
    async fn occasion(&self) -> StepResult<String> {
        let run = &self.run_context.run;
        let store = &self.run_context.core.store;
        let ends = store
            .event_count_bad_ends(&self.run_context.tenant, run)
            .await?;
        let short = short_run(run);
        Ok(match ends {
            0 => short.to_owned(),
            ends => format!("{short}-{ends}"),
        })
    }

    /// Records that a resource is deleted.
    async fn gone(&self, name: &str) -> StepResult {
        self.note(
            name,
            ResourceChange::To {
                state: ResourceState::Removed,
                physical_id: None,
            },
        )
        .await?;
        self.run_context.known.remove(name);
        Ok(())
    }

    /// Waits until an object is gone from the cloud.
    pub(super) async fn until_gone(
        &self,
        driver: &dyn Driver,
        context: &Context<'_>,
        id: &str,
    ) -> StepResult {
        for pause in self.pauses() {
            if driver.is_gone(context, id).await? {
                return Ok(());
            }
            self.pause(pause).await?;
            if driver.abilities().repeats_deletion {
                driver.delete(context, Some(id)).await?;
            }
        }
        Err(Ended::lasting("there are no more pauses"))
    }
}
