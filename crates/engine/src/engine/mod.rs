//! The facade: the operations that the server calls. Here are those that change deployments; the others are in the files
//! of their subjects.

mod at_work;
mod begin;
mod catalog;
mod check;
mod command;
mod compare;
mod console;
mod events;
mod expected;
mod follow;
mod health;
mod hidden;
mod hooks;
mod keys;
mod lint;
mod live;
mod log_lines;
mod outputs;
mod permission;
mod pinned;
mod power;
mod preview;
mod read;
mod reconnect;
mod recover;
mod replace;
mod requests;
mod reviewed;
mod roll_back;
mod runs;
mod scale;
mod search;
mod servers;
mod services;
mod show;
mod signal;
mod snapshots;
mod start;
mod strays;
mod suspension;
mod sweeps;
mod terminals;
mod unattended;
mod update;
mod versions;
mod workload;

use std::{sync::Arc, time::Instant};

use api::{
    Check, CloudFacts, Permission, PermissionRequest, Plan, RepairRequest, ScaleRequest, Started,
    UpgradeRequest,
};
use store::{Operator, Outcome};
use tracing::Instrument;

use check::ActiveChecks;
pub use log_lines::LogFilter;
pub use preview::{Hidden, Preview};
pub use requests::{Changes, Force, NewDeployment, RollBack};
pub use search::LogSearch;
pub use signal::{PermittedScaling, PolicySignal, SignalReceiver};
pub use unattended::{DueCheck, PermittedCheck};
pub use workload::Workload;

use crate::{
    Actor, Config, Error, Result, Tenant, run::ActiveRuns, shared::Core, terminal::Terminals,
};

/// Runs workflows. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    core: Arc<Core>,
    active_runs: Arc<ActiveRuns>,
    terminals: Arc<Terminals>,
    checks: Arc<ActiveChecks>,
}

impl Engine {
    /// Starts an engine and continues unfinished runs.
    ///
    /// # Errors
    /// If the database, the keys or the catalogue cannot be read, the key of stored secrets is gone, or another server on the
    /// database seals with another key.
    pub async fn start(config: Config, operator: Operator) -> Result<Engine> {
        let engine = Engine {
            terminals: Arc::new(Terminals::new(&config)),
            core: Core::start(config, operator)?,
            active_runs: Arc::default(),
            checks: Arc::default(),
        };
        engine.join().await?;
        let (disk, stopping) = (engine.core.disk.clone(), engine.core.stopping.clone());
        engine.core.tasks.spawn(disk.watch(stopping));
        // From now on: clouds can delay the rest for longer than a lease.
        engine.core.tasks.spawn(engine.clone().keep_lease());
        if let Err(error) = engine.reseal_and_recover().await {
            engine.shutdown().await;
            return Err(error);
        }
        engine.core.tasks.spawn(engine.clone().look_after_runs());
        Ok(engine)
    }

    async fn reseal_and_recover(&self) -> Result<()> {
        self.reseal_all().await?;
        self.recover().await
    }

    /// Refuses what grows the database while its disk is almost full.
    ///
    /// # Errors
    /// [`Error::DiskAlmostFull`].
    pub fn check_database_disk(&self) -> Result<()> {
        self.core.check_database_disk()
    }

    /// Computes on a project's template, within the limits of [`crate::compute`].
    ///
    /// # Errors
    /// If no slot is free in time, or the computation takes too long.
    pub async fn compute<T: Send + 'static>(
        &self,
        tenant: &Tenant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.core.computations.run(tenant, work).await
    }

    /// The plan of a new deployment, or of an update of `deployment`. The plan contains the template's problems. It tells
    /// that a hidden value differs from the stored one, and nothing else about it.
    ///
    /// # Errors
    /// If there is no such deployment.
    pub async fn plan(
        &self,
        actor: &Actor,
        preview: Preview,
        deployment: Option<&str>,
    ) -> Result<Plan> {
        self.plan_for(actor, preview, deployment).await
    }

    /// Deploys a template.
    ///
    /// # Errors
    /// If the name is taken, the template has errors or a quota is too small. Then nothing was started.
    pub async fn deploy(&self, actor: &Actor, new: NewDeployment) -> Result<Started> {
        let (engine, actor) = (self.clone(), actor.clone());
        let begun = async move { engine.begin_deploy(&actor, new).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// Updates a deployment to a template. With [`Changes::instead_of`], the active run begins no further step, and the
    /// update starts when its steps have ended. If that takes long, the replaced run is returned.
    ///
    /// # Errors
    /// As [`Engine::deploy`], and if another change of the deployment is at work.
    pub async fn update(
        &self,
        actor: &Actor,
        deployment: &str,
        changes: Changes,
    ) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        if let Some(run) = changes.instead_of.clone() {
            return engine.replace(actor, id, run, changes).await;
        }
        let begun = async move { engine.begin_update(&actor, &id, changes).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// Checks that a deployment has no newer run than the one that the user has seen.
    ///
    /// # Errors
    /// If it has one. The error names it.
    pub async fn check_base(&self, tenant: &Tenant, deployment: &str, base: &str) -> Result<()> {
        let row = self.deployment_row(tenant, deployment).await?;
        self.is_based_on(&row, base).await
    }

    /// Scales a group of a deployment, as an update without another change of its template.
    ///
    /// # Errors
    /// As [`Engine::update`], and if there is no such group or policy, nothing would change, or the group is in a
    /// cooldown and the request applies a policy without `force`.
    pub async fn scale(
        &self,
        actor: &Actor,
        deployment: &str,
        group: &str,
        request: ScaleRequest,
        cloud: CloudFacts,
    ) -> Result<Started> {
        let (engine, actor) = (self.clone(), actor.clone());
        let (id, group) = (deployment.to_owned(), group.to_owned());
        let begun =
            async move { Box::pin(engine.begin_scale(&actor, &id, &group, request, cloud)).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// Sets the components of an item up with another version of it, in batches.
    ///
    /// # Errors
    /// As [`Engine::update`], and if the deployment does not use the item, or the project has no such version.
    pub async fn upgrade(
        &self,
        actor: &Actor,
        deployment: &str,
        request: UpgradeRequest,
        cloud: CloudFacts,
    ) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let begun =
            async move { Box::pin(engine.begin_upgrade(&actor, &id, request, cloud)).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// Compares the resources of a deployment with the cloud, and stores the result. Leaves out what runs work on. Begins a
    /// command that configures the software that uses a server that is gone without it.
    ///
    /// # Errors
    /// If it is undeployed, or is being checked.
    pub async fn check(&self, actor: &Actor, deployment: &str) -> Result<Check> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let checked = async move { Box::pin(engine.check_deployment(&actor, &id)).await };
        self.run_to_completion(Box::pin(checked)).await
    }

    /// Repairs what the last check of a deployment has found, as an update without a change of its template.
    ///
    /// # Errors
    /// As [`Engine::update`], and if the check is not the last one, or found nothing to repair.
    pub async fn repair(
        &self,
        actor: &Actor,
        deployment: &str,
        request: RepairRequest,
        cloud: CloudFacts,
    ) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let begun = async move { Box::pin(engine.begin_repair(&actor, &id, request, cloud)).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// Permits the server to act on a deployment while nobody is logged in, with an application credential of this user. An
    /// earlier permission ends.
    ///
    /// # Errors
    /// If the deployment is undeployed, the user cannot create application credentials, or is no member of the project.
    pub async fn give_permission(
        &self,
        actor: &Actor,
        deployment: &str,
        request: PermissionRequest,
    ) -> Result<Permission> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let given = async move { engine.give(&actor, &id, request).await };
        self.run_to_completion(Box::pin(given)).await
    }

    /// Ends the permission of a deployment. The secret is destroyed, and the application credential deleted now if it is
    /// this user's, else at its owner's next login.
    ///
    /// # Errors
    /// If it has none.
    pub async fn revoke_permission(&self, actor: &Actor, deployment: &str) -> Result<()> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let revoked = async move { engine.revoke(&actor, &id).await };
        self.run_to_completion(Box::pin(revoked)).await
    }

    /// Deletes the user's application credentials whose permissions have ended. Call it at login.
    ///
    /// # Errors
    /// If the database cannot be read. A credential that the cloud does not delete stays until the next login.
    pub async fn delete_unused_credentials(&self, actor: &Actor) -> Result<()> {
        self.delete_unused(actor).await
    }

    /// Rolls a deployment whose last change failed back to the inputs of its last successful run. A paused run of it is
    /// given up, unless the roll-back is refused.
    ///
    /// # Errors
    /// If a change of it is at work, the last change did not fail, or no run ever succeeded.
    pub async fn roll_back(
        &self,
        actor: &Actor,
        deployment: &str,
        cloud: &CloudFacts,
    ) -> Result<Started> {
        self.roll_back_reviewed(actor, deployment, cloud, None)
            .await
    }

    /// As [`Engine::roll_back`], if the plan is the one with the reviewed digest. `None` compares nothing.
    ///
    /// # Errors
    /// As [`Engine::roll_back`], and if the plan has other changes.
    pub async fn roll_back_reviewed(
        &self,
        actor: &Actor,
        deployment: &str,
        cloud: &CloudFacts,
        plan_digest: Option<String>,
    ) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let cloud = cloud.clone();
        let begun =
            async move { Box::pin(engine.begin_roll_back(&actor, &id, &cloud, plan_digest)).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// The plan of [`Engine::roll_back`].
    ///
    /// # Errors
    /// If a run is active on the deployment, the last change did not fail, or no run ever succeeded.
    pub async fn roll_back_plan(
        &self,
        actor: &Actor,
        deployment: &str,
        cloud: &CloudFacts,
    ) -> Result<Plan> {
        Box::pin(self.plan_roll_back(actor, deployment, cloud)).await
    }

    /// Removes all resources of a deployment from the cloud. Its paused run is abandoned.
    ///
    /// # Errors
    /// If a change of it is at work.
    pub async fn undeploy(&self, actor: &Actor, deployment: &str, force: Force) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let begun = async move { engine.begin_undeploy(&actor, &id, force).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// Deletes an undeployed deployment with its runs and logs. Nothing in the cloud changes.
    ///
    /// # Errors
    /// If it is not undeployed, a run of it is at work, or a part of its snapshots is left in the cloud.
    pub async fn remove(&self, tenant: &Tenant, deployment: &str) -> Result<()> {
        let row = self.deployment_row(tenant, deployment).await?;
        // A command may still be at work.
        self.check_idle(&row).await?;
        self.check_without_snapshots(&row).await?;
        match self
            .core
            .store
            .deployment_remove(tenant, deployment)
            .await?
        {
            Outcome::Done => Ok(()),
            Outcome::Conflict => Err(Error::NotPossibleNow(format!(
                "`{}` is not undeployed. Undeploy it first",
                row.shown.name
            ))),
        }
    }

    /// The end of the last run of a project on this server: what was read from the cloud before may have changed. `None`
    /// if none has for a while.
    pub fn last_run_ended(&self, tenant: &Tenant) -> Option<Instant> {
        self.core.ended.last(tenant)
    }

    /// Stops accepting work and drops the runs. They continue at another server, or at the next start.
    pub async fn shutdown(&self) {
        self.core.stopping.cancel();
        self.core.tasks.close();
        self.core.tasks.wait().await;
        if let Err(error) = self.core.operator.server_leave().await {
            tracing::warn!(%error, "the runs stay held until the lease of this server ends");
        }
        self.notify_others().await;
    }

    /// Completes a change of a deployment even if its caller is dropped: a closed browser must not leave a stored run
    /// that never starts. Changes in the cloud are checked against the rest of the lease.
    async fn run_to_completion<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let work = openstack::while_permitted(self.core.lease.tenure(), work);
        let done = self.core.tasks.spawn(work.in_current_span()).await;
        done.map_err(|_panicked| let_go())?
    }
}

fn let_go() -> Error {
    Error::Unavailable("the engine let go of this run, or it ended a moment ago; look again".into())
}
