//! Snapshots of a deployment: the data of its servers at one time, and its return to the same servers.
//!
//! A snapshot consists of an image of each server's root disk. A restoration brings the data back to those servers that
//! are still the same, and leaves everything else alone: it is not a roll-back, the template does not change. Volumes, and
//! servers that boot from one, are no part of it. A part is deleted with its server, so nothing is left of an undeployed
//! deployment.
//!
//! Both runs are like a command in that the deployment keeps its state and its last change, and unlike one in that they
//! exclude changes.

use api::{DeploymentState, LeftAlone, ResourceState, RunKind, Snapshot, SnapshotPart, Started};
use drivers::DriverError;
use hot::text::few;
use planner::{
    plan::snapshots,
    workflow::{Origin, Workflow, copy_of},
};
use store::{DeploymentRow, Outcome, ResourceRow, SnapshotPartRow, SnapshotRow};
use types::SERVER;

use super::{Engine, Force, start::NewRun, suspension::not_suspended};
use crate::{
    Actor, Error, Result, Tenant,
    run::{delete_part, restoration_of},
    secrets::RunSecrets,
};

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
        Ok(rows.into_iter().map(|row| shown(row, &there)).collect())
    }

    /// Takes a snapshot of a deployment.
    ///
    /// # Errors
    /// If a change of it is at work, it is suspended, it has as many snapshots as it may have, or no server that can be
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

    /// Restores the servers of a deployment that are still the same from a snapshot. What was written on them since is
    /// lost.
    ///
    /// # Errors
    /// If there is no such snapshot, a change is at work, the deployment is suspended, or none of the servers is the same.
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
        let resources: Vec<(&str, &str, &str)> = there
            .iter()
            .filter(|one| has_data(one) && obstacle(one).is_none())
            .filter_map(|one| {
                let id = one.physical_id.as_deref()?;
                Some((one.name.as_str(), one.spec.resource_type.as_str(), id))
            })
            .collect();
        if resources.is_empty() {
            return Err(Error::NotPossibleNow(format!(
                "`{}` has no server with a disk of its own. Volumes, and servers that boot from one, are not part of snapshots",
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
        let wanted = self.snapshot_row(tenant, deployment, snapshot).await?;
        self.check_settled(&row).await?;
        let store = &self.core.store;
        let there = store.resource_list(tenant, deployment).await?;
        not_suspended(&row, &there)?;
        let parts = wanted
            .parts
            .iter()
            .filter(|part| is_restorable(part, &there));
        let parts: Vec<(&str, &str, &str)> = parts
            .filter_map(|part| {
                let snapshot = part.snapshot_id.as_deref()?;
                Some((part.resource.as_str(), part.physical_id.as_str(), snapshot))
            })
            .collect();
        if parts.is_empty() {
            return Err(Error::NotPossibleNow(format!(
                "the snapshot `{}` has the data of no server that is still the same",
                wanted.name
            )));
        }
        let workflow = snapshots::restore(parts);
        let run = self
            .new_run(actor, &row, RunKind::Restore, workflow)
            .await?;
        let mut transaction = store.begin("storing a restoration").await?;
        let run = self.store_run(&mut transaction, &run).await?;
        // A repair must not replace a server that was just restored.
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
        let unwanted = self.snapshot_row(tenant, deployment, snapshot).await?;
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
            if let Err(error) = delete_part(&actor.session, part).await {
                refused = Some(error);
                continue;
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
            "`{}` has left images of its snapshots in the cloud: {}. Delete these snapshots first",
            row.shown.name,
            few(&names)
        )))
    }

    async fn snapshot_row(
        &self,
        tenant: &Tenant,
        deployment: &str,
        snapshot: &str,
    ) -> Result<SnapshotRow> {
        let rows = self.core.store.snapshot_list(tenant, deployment).await?;
        let found = rows.into_iter().find(|row| row.run == snapshot);
        found.ok_or_else(|| no_snapshot(snapshot))
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
        Ok(NewRun {
            actor,
            deployment: &row.shown.id,
            seen: None,
            kind,
            forced: Force::No,
            rolls_back: false,
            roll_back: None,
            scaling: None,
            command: None,
            workflow,
            changes: None,
            secrets: RunSecrets::new(token, hidden, actor.vault_key.as_ref()),
        })
    }

    async fn started(&self, actor: &Actor, deployment: &str, run: String) -> Result<Started> {
        self.go(actor, &run).await?;
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

fn shown(mut row: SnapshotRow, there: &[ResourceRow]) -> Snapshot {
    if row.is_deleting {
        // What is left of it can only be deleted.
        for part in &mut row.parts {
            part.snapshot_id = None;
        }
    }
    let left_alone = left_alone(&row.parts, there);
    let parts = row.parts.into_iter().map(|part| SnapshotPart {
        is_restorable: is_restorable(&part, there),
        resource: part.resource,
        physical_id: part.physical_id,
        snapshot_id: part.snapshot_id,
        bytes: part.bytes,
    });
    Snapshot {
        id: row.run,
        name: row.name,
        author: row.author,
        created: row.created,
        is_being_taken: !row.has_ended,
        parts: parts.collect(),
        left_alone,
    }
}

/// True if a part is complete, and its resource is still the same one.
fn is_restorable(part: &SnapshotPartRow, there: &[ResourceRow]) -> bool {
    let is_it = |one: &&ResourceRow| one.name == part.resource;
    let same = there.iter().find(is_it);
    let same = same.filter(|one| one.physical_id.as_ref() == Some(&part.physical_id));
    part.snapshot_id.is_some() && same.is_some()
}

/// The resources with data that a restoration of these parts leaves alone.
fn left_alone(parts: &[SnapshotPartRow], there: &[ResourceRow]) -> Vec<LeftAlone> {
    let part_of = |name: &str| parts.iter().find(|part| part.resource == name);
    let present = there.iter().filter(|one| has_data(one)).filter_map(|one| {
        let part = part_of(&one.name);
        if part.is_some_and(|part| is_restorable(part, there)) {
            return None;
        }
        let why = match part {
            Some(part) if part.snapshot_id.is_none() => "its part of the snapshot is incomplete",
            Some(_) => "it was replaced since",
            None => obstacle(one).unwrap_or("it is no part of the snapshot"),
        };
        Some((one.name.as_str(), why))
    });
    let gone = parts.iter().filter(|part| {
        let is_there = |one: &ResourceRow| one.name == part.resource && has_data(one);
        !there.iter().any(is_there)
    });
    let gone = gone.map(|part| (part.resource.as_str(), "it is gone"));
    let all = present.chain(gone).map(|(name, why)| LeftAlone {
        resource: name.to_owned(),
        why: why.to_owned(),
    });
    all.collect()
}

/// True for a resource of the deployment with data in the cloud. Servers that a pass has added, such as the bastion, have
/// none.
fn has_data(one: &ResourceRow) -> bool {
    let driver = drivers::driver_for(&one.spec.resource_type);
    driver.is_some_and(|driver| driver.abilities().snapshots.is_some())
        && one.physical_id.is_some()
        && one.spec.external_id.is_none()
        && one.spec.origin == Origin::Drawn
        && copy_of(&one.name).is_none()
}

/// The reason why a resource cannot be part of a snapshot, as far as its record tells.
fn obstacle(one: &ResourceRow) -> Option<&'static str> {
    let spec = &one.spec;
    if restoration_of(&spec.resource_type).is_none() {
        return Some("resources of its type are not part of snapshots");
    }
    let boots_from_volume = spec.resource_type == SERVER && !spec.properties.contains_key("image");
    if boots_from_volume {
        return Some("it boots from a volume");
    }
    (one.state != ResourceState::Ready).then_some("it is not ready")
}

#[cfg(test)]
mod tests {
    use hot::expr::Expr;

    use super::*;
    use crate::testing::resource;

    fn row(name: &str, id: &str, property: &str) -> ResourceRow {
        let value = (property, Expr::GetResource("x".into()));
        ResourceRow {
            name: name.into(),
            spec: resource(SERVER, Some(value)),
            physical_id: Some(id.into()),
            reference: None,
            attributes: Default::default(),
            state: ResourceState::Ready,
            incarnation: 0,
            made_from: Default::default(),
            made_with: None,
            tried: Default::default(),
            read_at: None,
            health: None,
        }
    }

    fn part(resource: &str, physical_id: &str, snapshot_id: Option<&str>) -> SnapshotPartRow {
        SnapshotPartRow {
            snapshot: "s".into(),
            resource: resource.into(),
            resource_type: SERVER.into(),
            physical_id: physical_id.into(),
            snapshot_id: snapshot_id.map(str::to_owned),
            bytes: None,
        }
    }

    #[test]
    fn what_a_restoration_leaves_alone_is_named_with_its_reason() {
        let there = [
            row("same", "1", "image"),
            row("replaced", "2", "image"),
            row("new", "3", "image"),
            row("half", "4", "image"),
            row("booted", "5", "block_device_mapping_v2"),
        ];
        let parts = [
            part("same", "1", Some("i")),
            part("replaced", "0", Some("i")),
            part("half", "4", None),
            part("gone", "9", Some("i")),
        ];
        assert!(is_restorable(&parts[0], &there));
        let left = left_alone(&parts, &there);
        let left: Vec<_> = left
            .iter()
            .map(|one| (one.resource.as_str(), one.why.as_str()))
            .collect();
        assert_eq!(
            left,
            [
                ("replaced", "it was replaced since"),
                ("new", "it is no part of the snapshot"),
                ("half", "its part of the snapshot is incomplete"),
                ("booted", "it boots from a volume"),
                ("gone", "it is gone"),
            ]
        );
    }
}
