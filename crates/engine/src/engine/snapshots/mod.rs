//! Snapshots of a deployment: the data of its servers and volumes at one time, and its return to the same ones.
//!
//! A snapshot consists of an image of each server's root disk, and a snapshot in Cinder of each volume. A restoration
//! brings the data back to those resources that are still the same, and leaves everything else alone: it is not a
//! roll-back, the template does not change. Servers that boot from a volume are no part of it, nor is that volume. A
//! part is deleted with its resource, so nothing is left of an undeployed deployment.
//!
//! Both runs are like a command in that the deployment keeps its state and its last change, and unlike one in that they
//! exclude changes.

mod parts;

use api::{DeploymentState, RunKind, Snapshot, SnapshotScope, Started};
use drivers::DriverError;
use hot::text::few;
use planner::{
    plan::snapshots::{self, Restoration},
    workflow::Workflow,
};
use store::{DeploymentRow, Outcome, SnapshotRow};

use parts::Newer;

use super::{Engine, start::NewRun, suspension::not_suspended};
use crate::{Actor, Error, Result, Tenant, run::delete_part, secrets::RunSecrets};

impl Engine {
    /// The snapshots of a deployment, newest first.
    ///
    /// # Errors
    /// If there is no such deployment.
    pub async fn snapshots(&self, tenant: &Tenant, deployment: &str) -> Result<Vec<Snapshot>> {
        self.deployment_row(tenant, deployment).await?;
        let store = &self.core.store;
        let there = store.resource_list(tenant, deployment).await?;
        let rows = store.snapshot_list(tenant, deployment).await?;
        let mut newer = Newer::new();
        let mut listed = Vec::new();
        for row in rows {
            listed.push(parts::shown(row.clone(), &there, &newer));
            parts::add_to(&mut newer, &row);
        }
        Ok(listed)
    }

    /// The resources that a new snapshot of a deployment would contain, and those that it would leave alone.
    ///
    /// # Errors
    /// If there is no such deployment.
    pub async fn snapshot_scope(&self, tenant: &Tenant, deployment: &str) -> Result<SnapshotScope> {
        self.deployment_row(tenant, deployment).await?;
        let there = self.core.store.resource_list(tenant, deployment).await?;
        Ok(parts::scope(&there))
    }

    /// Takes a snapshot of a deployment.
    ///
    /// # Errors
    /// If a change of it is at work, it is suspended, it has as many snapshots as it may have, or nothing that can be
    /// restored.
    pub async fn take_snapshot(
        &self,
        actor: &Actor,
        deployment: &str,
        name: &str,
    ) -> Result<Started> {
        let (engine, actor) = (self.clone(), actor.clone());
        let (id, name) = (deployment.to_owned(), name.trim().to_owned());
        let begun = async move { Box::pin(engine.begin_snapshot(&actor, &id, &name)).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// Restores the servers and volumes of a deployment that are still the same from a snapshot. What was written on them
    /// since is lost.
    ///
    /// # Errors
    /// If there is no such snapshot, a change is at work, the deployment is suspended, or none of them is the same.
    pub async fn restore_snapshot(
        &self,
        actor: &Actor,
        deployment: &str,
        snapshot: &str,
    ) -> Result<Started> {
        let (engine, actor) = (self.clone(), actor.clone());
        let (id, snapshot) = (deployment.to_owned(), snapshot.to_owned());
        let begun = async move { Box::pin(engine.begin_restore(&actor, &id, &snapshot)).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// Deletes a snapshot in the cloud and here. If the cloud refuses one of its parts, the others are deleted, and the
    /// deletion can be repeated.
    ///
    /// # Errors
    /// If there is no such snapshot, a change is at work, or the cloud refuses.
    pub async fn delete_snapshot(
        &self,
        actor: &Actor,
        deployment: &str,
        snapshot: &str,
    ) -> Result<()> {
        let (engine, actor) = (self.clone(), actor.clone());
        let (id, snapshot) = (deployment.to_owned(), snapshot.to_owned());
        let deleted = async move { engine.remove_snapshot(&actor, &id, &snapshot).await };
        self.run_to_completion(Box::pin(deleted)).await
    }

    async fn begin_snapshot(&self, actor: &Actor, deployment: &str, name: &str) -> Result<Started> {
        self.core.check_running()?;
        let tenant = &actor.tenant;
        let row = self.live_row(tenant, deployment).await?;
        self.check_settled(&row).await?;
        let store = &self.core.store;
        let there = store.resource_list(tenant, deployment).await?;
        not_suspended(&row, &there)?;
        let resources = parts::kept(&there).filter_map(|one| {
            let id = one.physical_id.as_deref()?;
            Some((one.name.as_str(), one.spec.resource_type.as_str(), id))
        });
        let resources: Vec<(&str, &str, &str)> = resources.collect();
        if resources.is_empty() {
            return Err(Error::NotPossibleNow(format!(
                "`{}` has no volume, and no server with a disk of its own. Servers that boot from a volume are not part of \
                 snapshots, nor is that volume",
                row.shown.name
            )));
        }
        let steps = resources.iter().map(|(name, _, id)| (*name, *id));
        let workflow = snapshots::take(steps);
        let run = self
            .new_run(actor, &row, RunKind::Snapshot, workflow)
            .await?;
        let mut transaction = store.begin("storing a snapshot").await?;
        let limit = self.core.config.deployment_snapshots;
        if transaction.snapshot_count(tenant, deployment).await? >= i64::from(limit) {
            return Err(Error::NotPossibleNow(format!(
                "`{}` has {limit} snapshots, which is the limit of this server. Delete one of them first",
                row.shown.name
            )));
        }
        let run = self.store_run(&mut transaction, &run).await?;
        let stored = transaction.snapshot_insert(tenant, &run, name, &resources);
        stored.await?;
        transaction.commit().await?;
        self.started(actor, deployment, run).await
    }

    async fn begin_restore(
        &self,
        actor: &Actor,
        deployment: &str,
        snapshot: &str,
    ) -> Result<Started> {
        self.core.check_running()?;
        let tenant = &actor.tenant;
        let row = self.live_row(tenant, deployment).await?;
        let (wanted, newer) = self.snapshot_row(tenant, deployment, snapshot).await?;
        self.check_settled(&row).await?;
        let store = &self.core.store;
        let there = store.resource_list(tenant, deployment).await?;
        not_suspended(&row, &there)?;
        let servers = parts::servers_of_volumes(&there);
        let restorable = wanted.parts.iter().filter_map(|part| {
            let snapshot = part.snapshot_id.as_deref()?;
            let is_restorable = parts::hindrance(part, &there, &newer).is_none();
            is_restorable.then_some(Restoration {
                name: &part.resource,
                id: &part.physical_id,
                snapshot,
                server: servers.get(part.physical_id.as_str()).copied(),
            })
        });
        let restorable: Vec<Restoration<'_>> = restorable.collect();
        if restorable.is_empty() {
            return Err(Error::NotPossibleNow(format!(
                "the snapshot `{}` has the data of no server or volume that is still the same",
                wanted.name
            )));
        }
        let workflow = snapshots::restore(&restorable);
        let run = self
            .new_run(actor, &row, RunKind::Restore, workflow)
            .await?;
        let mut transaction = store.begin("storing a restoration").await?;
        let run = self.store_run(&mut transaction, &run).await?;
        // A repair must not replace what was just restored.
        let outdated = transaction.deployment_outdate_check(tenant, deployment);
        outdated.await?;
        if !transaction.snapshot_is_kept(tenant, snapshot).await? {
            return Err(Error::NotPossibleNow(format!(
                "the deletion of the snapshot `{}` has begun. Delete it again if a part of it is left",
                wanted.name
            )));
        }
        transaction.commit().await?;
        self.started(actor, deployment, run).await
    }

    async fn remove_snapshot(&self, actor: &Actor, deployment: &str, snapshot: &str) -> Result<()> {
        let tenant = &actor.tenant;
        let _turn = self.core.page_requests.turn(tenant).await;
        let row = self.deployment_row(tenant, deployment).await?;
        let (unwanted, _) = self.snapshot_row(tenant, deployment, snapshot).await?;
        self.check_unchanging(&row).await?;
        let store = &self.core.store;
        let begun = store.snapshot_begin_deletion(tenant, deployment, snapshot);
        if begun.await? == Outcome::Conflict {
            // A run has begun, or another request has deleted it.
            self.check_unchanging(&row).await?;
            return Err(no_snapshot(snapshot));
        }
        let mut refused = None;
        for part in &unwanted.parts {
            match delete_part(&actor.session, part).await {
                Ok(true) => {}
                Ok(false) => {
                    let why = format!("the cloud still works on the part of `{}`", part.resource);
                    refused = Some(DriverError::Other(why));
                    continue;
                }
                Err(error) => {
                    refused = Some(error);
                    continue;
                }
            }
            store
                .snapshot_part_delete(tenant, &part.snapshot, &part.resource)
                .await?;
        }
        match refused {
            None => Ok(()),
            Some(DriverError::Cloud(error)) => Err(Error::Cloud(error)),
            Some(other) => Err(Error::Unavailable(format!(
                "the snapshot cannot be deleted: {other}"
            ))),
        }
    }

    /// Checks that no change of a deployment is at work, or about to be.
    async fn check_settled(&self, row: &DeploymentRow) -> Result<()> {
        self.check_unchanging(row).await?;
        if row.shown.state == DeploymentState::Failed
            && let Some(last) = &row.shown.last_run
            && self.run_row(&row.tenant, last).await?.roll_back.is_some()
        {
            return Err(Error::NotPossibleNow(format!(
                "the last change of `{}` is about to be rolled back. Wait for its end",
                row.shown.name
            )));
        }
        Ok(())
    }

    /// Checks that nothing is left of the snapshots of an undeployed deployment. A forced undeployment leaves what the cloud
    /// does not delete.
    pub(super) async fn check_without_snapshots(&self, row: &DeploymentRow) -> Result<()> {
        if row.shown.state != DeploymentState::Undeployed {
            return Ok(());
        }
        let store = &self.core.store;
        let left = store.snapshot_list(&row.tenant, &row.shown.id).await?;
        if left.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = left.iter().map(|one| one.name.as_str()).collect();
        Err(Error::NotPossibleNow(format!(
            "`{}` has left parts of its snapshots in the cloud: {}. Delete these snapshots first",
            row.shown.name,
            few(&names)
        )))
    }

    /// A snapshot, and the parts of newer ones.
    async fn snapshot_row(
        &self,
        tenant: &Tenant,
        deployment: &str,
        snapshot: &str,
    ) -> Result<(SnapshotRow, Newer)> {
        let mut newer = Newer::new();
        for row in self.core.store.snapshot_list(tenant, deployment).await? {
            if row.run == snapshot {
                return Ok((row, newer));
            }
            parts::add_to(&mut newer, &row);
        }
        Err(no_snapshot(snapshot))
    }

    async fn new_run<'a>(
        &self,
        actor: &'a Actor,
        row: &'a DeploymentRow,
        kind: RunKind,
        workflow: Workflow,
    ) -> Result<NewRun<'a>> {
        let hidden = self.stored_hidden(actor, row).await?;
        let token = actor.session.token().expose();
        let secrets = RunSecrets::new(token, hidden, actor.vault_key.as_ref());
        Ok(NewRun::of(actor, &row.shown.id, kind, workflow, secrets))
    }

    async fn started(&self, actor: &Actor, deployment: &str, run: String) -> Result<Started> {
        self.start_stored(actor, &run).await?;
        Ok(Started {
            deployment: deployment.to_owned(),
            run,
        })
    }
}

fn no_snapshot(id: &str) -> Error {
    Error::NotFound {
        what: "snapshot",
        id: id.to_owned(),
    }
}
