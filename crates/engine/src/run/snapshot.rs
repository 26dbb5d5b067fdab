//! Steps that take a snapshot of a resource, and restore it from one.
//!
//! The part of the snapshot is in the database before the step begins, and gets its id in the cloud at the end. What was
//! requested in between is found by its name, which contains the start of the resource's id and the end of the run's id
//! ([`short_run`]). A resource without data of its own is no part of the snapshot; the end of the run names it.

use drivers::{DriverError, Progress, Ready, Restore};
use futures::future::BoxFuture;
use openstack::Session;
use planner::workflow::ResourceSpec;
use serde_json::Value;
use store::SnapshotPartRow;

use super::{
    outcome::Ended,
    step::{Attempt, StepResult},
};

/// The part of a run's id by which its snapshots and folders differ from those of other runs. The first digits of an id are
/// the time, and nearly the same for a whole day.
pub(super) fn short_run(run: &str) -> &str {
    run.get(run.len().saturating_sub(8)..).unwrap_or(run)
}

/// Deletes a part of a snapshot from the cloud. A missing one is success. False if the cloud still works on it, so that it
/// can only be deleted later.
pub async fn delete_part(session: &Session, part: &SnapshotPartRow) -> Result<bool, DriverError> {
    let Some(restores) = restoration_of(&part.resource_type) else {
        return Ok(true);
    };
    let occasion = short_run(&part.snapshot);
    let snapshot_id = part.snapshot_id.as_deref();
    restores
        .remove_snapshot(session, &part.physical_id, occasion, snapshot_id)
        .await
}

/// The ability of a type to restore resources from snapshots.
pub fn restoration_of(resource_type: &str) -> Option<&'static dyn Restore> {
    drivers::driver_for(resource_type)?.abilities().restoration
}

impl Attempt {
    /// Takes a snapshot of the step's resource.
    pub(super) async fn take_snapshot(&self) -> StepResult {
        let (name, id, spec) = self.same_as_planned()?;
        let Some(restores) = restoration_of(&spec.resource_type) else {
            return Err(Ended::lasting(format!("`{name}` cannot be restored")));
        };
        let work = self.recorded_input(&name, spec);
        let context = work.context(self);
        let run_context = &self.run_context;
        let (tenant, run) = (&run_context.tenant, run_context.run.as_str());
        let store = &run_context.core.store;
        if let Some(why) = restores.obstacle(&context, &id).await? {
            let deleted = store.snapshot_part_delete(tenant, run, &name);
            deleted.await?;
            let message = format!("`{name}` is not part of the snapshot: {why}");
            self.log.warn(message.clone()).await;
            run_context.known.remark(message);
            return Ok(());
        }
        let occasion = short_run(run);
        let request = || restores.take(&context, &id, occasion);
        let ended = self.until_snapshot(request).await?;
        match ended {
            Ok(ready) => {
                let taken = ready.reference.as_str().unwrap_or_default();
                let bytes = ready.attributes.get("size").and_then(Value::as_u64);
                let held = (run, run_context.journal.fence());
                let stored = store.snapshot_part_complete(tenant, held, &name, (taken, bytes));
                stored.await?;
                let message = format!("Created snapshot {taken} of `{name}`");
                self.log.info(message).await;
                Ok(())
            }
            Err(why) => {
                // What is left of it is of no use.
                let session = &run_context.session;
                let removed = restores.remove_snapshot(session, &id, occasion, None);
                if let Err(error) = removed.await {
                    let left = format!("Remains of the snapshot stay in the cloud: {error}");
                    self.log.warn(left).await;
                }
                Err(Ended::lasting(format!(
                    "no snapshot of `{name}` was made: {why}"
                )))
            }
        }
    }

    /// Repeats the request for a snapshot, or for the return to one, until it is done. The inner error is the reason why it
    /// failed, with secrets masked.
    pub(super) async fn until_snapshot<'a>(
        &self,
        request: impl Fn() -> BoxFuture<'a, Result<Progress, DriverError>> + Send + Sync,
    ) -> StepResult<Result<Ready, String>> {
        let mut logged = String::new();
        for pause in self.pauses() {
            match request().await? {
                Progress::Ready(ready) => return Ok(Ok(ready)),
                Progress::Failed(why) | Progress::Unchanged(why) | Progress::GaveUp(why) => {
                    return Ok(Err(self.log.masked(&why)));
                }
                Progress::Pending(what) => {
                    if what != logged {
                        self.log.info(what.clone()).await;
                        logged = what;
                    }
                }
            }
            self.pause(pause).await?;
        }
        Err(Ended::lasting("there are no more pauses"))
    }

    /// Restores the step's resource from its snapshot.
    pub(super) async fn restore(&self) -> StepResult {
        let (name, id, spec) = self.same_as_planned()?;
        let (Some(restores), Some(snapshot)) = (
            restoration_of(&spec.resource_type),
            self.step.snapshot_id.as_deref(),
        ) else {
            return Err(Ended::lasting(format!("`{name}` cannot be restored")));
        };
        let work = self.recorded_input(&name, spec);
        let context = work.context(self);
        let occasion = short_run(&self.run_context.run);
        let request = || restores.restore(&context, &id, snapshot, occasion);
        match self.until_snapshot(request).await? {
            Ok(_) => {
                let message = format!("Restored `{name}` ({id}) from the snapshot");
                self.log.info(message).await;
                Ok(())
            }
            Err(why) => Err(Ended::lasting(format!("`{name}` was not restored: {why}"))),
        }
    }

    /// Deletes the parts of the deployment's snapshots that were taken of a resource, and those of resources that are known no
    /// more: they were lost in the cloud, and have a successor.
    pub(super) async fn delete_snapshots_of(&self, resource_type: &str, id: &str) -> StepResult {
        if restoration_of(resource_type).is_none() {
            return Ok(());
        }
        let run_context = &self.run_context;
        let known = &run_context.known;
        let goes = |part: &SnapshotPartRow| {
            part.physical_id == id || known.with_id(&part.physical_id).is_empty()
        };
        let (store, tenant) = (&run_context.core.store, &run_context.tenant);
        let parts = store.snapshot_part_list(tenant, &run_context.deployment);
        let parts = parts.await?;
        for part in parts.into_iter().filter(goes) {
            for pause in self.pauses() {
                if delete_part(&run_context.session, &part).await? {
                    break;
                }
                self.pause(pause).await?;
            }
            let deleted = store.snapshot_part_delete(tenant, &part.snapshot, &part.resource);
            deleted.await?;
            let message = format!("Deleted the snapshot of `{}`", part.resource);
            self.log.info(message).await;
        }
        Ok(())
    }

    /// Name, id and description of the step's resource, if it is the one that the run was started for.
    fn same_as_planned(&self) -> StepResult<(String, String, ResourceSpec)> {
        let name = self.name()?.to_owned();
        let entry = self.run_context.known.get(&name);
        let (spec, id) = entry
            .and_then(|entry| Some((entry.spec, entry.physical_id?)))
            .filter(|(_, id)| self.step.server_id.as_ref() == Some(id))
            .ok_or_else(|| Ended::lasting(format!("`{name}` was removed or replaced")))?;
        Ok((name, id, spec))
    }
}
