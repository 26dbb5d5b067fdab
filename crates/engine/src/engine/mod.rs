//! The facade: the operations that the server calls.

mod at_work;
mod begin;
mod catalog;
mod check;
mod command;
mod compare;
mod console;
mod events;
mod expected;
mod health;
mod hidden;
mod hooks;
mod keys;
mod lint;
mod live;
mod log_lines;
mod outputs;
mod permission;
mod power;
mod read;
mod reconnect;
mod recover;
mod replace;
mod reviewed;
mod roll_back;
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

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use api::{
    Check, CloudFacts, Layout, OnFailure, Permission, PermissionRequest, Plan, RepairRequest,
    RunState, ScaleRequest, Scaling, Started, UpgradeRequest,
};
use hot::bundle::Bundle;
use planner::deployed::GroupRequest;
use serde_json::Value;
use store::{Operator, Outcome, RunRow};
use tokio::sync::oneshot;
use tracing::Instrument;

use check::ActiveChecks;
pub use log_lines::LogFilter;
pub use search::LogSearch;
pub use signal::{PermittedScaling, PolicySignal, SignalReceiver};
pub use unattended::{DueCheck, PermittedCheck};
pub use update::{Hidden, Preview};
pub use workload::Workload;

use crate::{
    Actor, Config, Error, Result, Tenant,
    run::{ActiveRuns, Command},
    shared::Core,
    terminal::Terminals,
};

/// Runs workflows. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    core: Arc<Core>,
    active_runs: Arc<ActiveRuns>,
    terminals: Arc<Terminals>,
    checks: Arc<ActiveChecks>,
}

/// The input of [`Engine::deploy`].
#[derive(Clone, Debug, Default)]
pub struct NewDeployment {
    /// Unique among the project's live deployments.
    pub name: String,
    /// The template as HOT text.
    pub template: String,
    /// Files and environments beside the template.
    pub bundle: Bundle,
    /// Positions of the nodes on the canvas.
    pub layout: Layout,
    /// Parameter values.
    pub parameters: BTreeMap<String, Value>,
    /// Id of its design, if any.
    pub design: Option<String>,
    /// That design's version.
    pub design_version: Option<u32>,
    /// Versions of catalogue items, by name. Of the other items, the newest.
    pub versions: BTreeMap<String, String>,
    /// Facts about the cloud for passes and checks.
    pub cloud: CloudFacts,
    /// Digest of the plan that the user has reviewed. The deployment is refused if its plan has other changes. `None`
    /// compares nothing.
    pub plan_digest: Option<String>,
    /// True to start even if a quota is exceeded.
    pub despite_quota: bool,
}

/// The input of [`Engine::update`].
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The template as HOT text.
    pub template: String,
    /// Files and environments beside the template. `None` keeps the deployment's files.
    pub bundle: Option<Bundle>,
    /// Positions of the nodes on the canvas.
    pub layout: Layout,
    /// Parameter values.
    pub parameters: BTreeMap<String, Value>,
    /// Id of its design, if any.
    pub design: Option<String>,
    /// That design's version.
    pub design_version: Option<u32>,
    /// Facts about the cloud for passes and checks.
    pub cloud: CloudFacts,
    /// The state to which a roll-back returns. `None` for any other update.
    pub rolls_back: Option<RollBack>,
    /// The deployment's newest run when the user saw the plan. The update is refused if there is a newer one. `None`
    /// checks nothing.
    pub base_run: Option<String>,
    /// Digest of the plan that the user has reviewed. The update is refused if its plan has other changes. `None` compares
    /// nothing.
    pub plan_digest: Option<String>,
    /// The run at work, whose place the update takes. `None` refuses the update while a run is at work.
    pub instead_of: Option<String>,
    /// Requests for scaling groups, by full name. Other groups keep their members.
    pub groups: BTreeMap<String, GroupRequest>,
    /// True to repair what the last check has found.
    pub repairs: bool,
    /// Versions of catalogue items, by name. Of the other items, the deployment keeps its versions.
    pub versions: BTreeMap<String, String>,
    /// The scaling that the update carries out, if it was started for one.
    pub scaling: Option<Scaling>,
    /// Reaction to a failure of the update.
    pub on_failure: OnFailure,
    /// True to start even if a quota is exceeded. Always true for a roll-back.
    pub despite_quota: bool,
}

/// The state to which a roll-back returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollBack {
    /// The last good state, with its hidden parameters. The given parameters are not completed by the stored ones.
    LastGood,
    /// The content of an earlier run. Parameters without a given value keep their present one, like in any update.
    EarlierRun,
}

/// Effect of a failed deletion on an undeployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Force {
    /// A failed deletion ends the run, which can be resumed.
    #[default]
    No,
    /// A failed deletion does not stop the run. The deployment is removed, and the run reports the remaining resources.
    Yes,
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

    /// Updates a deployment to a template. With [`Changes::instead_of`], the run at work begins no further step, and the
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

    /// Sets the components of an item up with another version of it, one after the other.
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

    /// Compares the resources of a deployment with the cloud, and stores the result. Leaves out what runs work on.
    ///
    /// # Errors
    /// If it is undeployed, or is being checked.
    pub async fn check(&self, actor: &Actor, deployment: &str) -> Result<Check> {
        self.check_deployment(actor, deployment).await
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

    /// Lets the server act on a deployment while nobody is logged in, with an application credential of this user. An
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

    /// Rolls a deployment whose last change failed back to the inputs of its last successful run. A paused run of it is given up.
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

    /// Cancels a run: running steps are stopped, then always-run steps follow. A second call aborts steps that do not
    /// stop.
    ///
    /// # Errors
    /// If the run has ended.
    pub async fn cancel(&self, tenant: &Tenant, run: &str) -> Result<()> {
        let row = self.run_row(tenant, run).await?;
        // If it cannot come here, its holder cancels it.
        let row = self.bring(row.clone()).await.unwrap_or(row);
        // A run that was taken over a moment ago has no task yet.
        let is_here = self.core.store.holds(&row) && self.active_runs.task_of(run).is_some();
        if !is_here && !row.shown.state.is_final() {
            let asked = self.core.store.run_ask_to_cancel(tenant, run).await?;
            self.core.wake.notify_one();
            self.tell_others().await;
            return match asked {
                Outcome::Done => Ok(()),
                Outcome::Conflict => Err(let_go()),
            };
        }
        let (answer, answered) = oneshot::channel();
        self.send_command(&row, Command::Cancel(answer)).await?;
        answered.await.unwrap_or_else(|_gone| Err(let_go()))
    }

    /// Resumes a failed, cancelled or paused run on behalf of this user. Steps that succeeded do not run again.
    ///
    /// # Errors
    /// If the run is active, succeeded, or is not the deployment's last run.
    pub async fn resume(&self, actor: &Actor, run: &str) -> Result<()> {
        let (engine, actor, id) = (self.clone(), actor.clone(), run.to_owned());
        let resumed = async move { Box::pin(engine.resume_run(&actor, &id)).await };
        self.run_to_completion(Box::pin(resumed)).await
    }

    /// True if a user's token may still be needed: by a run of the project that has not ended or that waits for its
    /// roll-back, or by a terminal of the user at another server, which closes its bastion. Whose token a run uses does
    /// not matter, for a user may have resumed a run of another.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn needs_token(&self, actor: &Actor) -> Result<bool> {
        let (store, tenant) = (&self.core.store, &actor.tenant);
        let user_id = &actor.session.user().id;
        Ok(store.run_needs_token(tenant).await?
            || store.bastion_has_terminal(tenant, user_id).await?)
    }

    /// Resumes all runs of the project that paused because their token expired. Call it at login. Returns their ids.
    ///
    /// # Errors
    /// If the journal cannot be read. A run that cannot be resumed stays paused.
    pub async fn resume_paused(&self, actor: &Actor) -> Result<Vec<String>> {
        let store = &self.core.store;
        let unfinished = store.run_list_unfinished(&actor.tenant).await?;
        let user_id = &actor.session.user().id;
        let is_own = |row: &RunRow| match &row.author_id {
            Some(id) => id == user_id,
            None => row.shown.author == actor.user,
        };
        let mut resumed = Vec::new();
        for row in unfinished
            .into_iter()
            .filter(|row| row.shown.state == RunState::Paused && is_own(row))
        {
            match Box::pin(self.resume_run(actor, &row.shown.id)).await {
                Ok(()) => resumed.push(row.shown.id),
                Err(error) => {
                    tracing::warn!(%error, run.id = row.shown.id, "a paused run stays paused")
                }
            }
        }
        Ok(resumed)
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
        self.tell_others().await;
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

    async fn run_row(&self, tenant: &Tenant, id: &str) -> Result<RunRow> {
        let row = self.core.store.run_find(tenant, id).await?;
        row.ok_or_else(|| Error::NotFound {
            what: "run",
            id: id.to_owned(),
        })
    }

    /// Sends a command to the run's task.
    async fn send_command(&self, row: &RunRow, command: Command) -> Result<()> {
        let task = self.active_runs.task_of(&row.shown.id);
        let sent = task.is_some_and(|task| task.send(command).is_ok());
        match sent {
            true => Ok(()),
            false if row.shown.state.is_final() => Err(Error::NotPossibleNow(format!(
                "the run has ended already: it is {}",
                store::to_text(&row.shown.state)
            ))),
            false => Err(let_go()),
        }
    }
}

fn let_go() -> Error {
    Error::Unavailable("the engine let go of this run, or it ended a moment ago; look again".into())
}
