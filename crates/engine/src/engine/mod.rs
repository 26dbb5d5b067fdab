//! The facade: what the server asks of the engine.

mod begin;
mod compare;
mod hidden;
mod outputs;
mod recover;
mod roll_back;
mod show;
mod start;
mod strays;
mod sweeps;
mod update;

use std::{collections::BTreeMap, sync::Arc};

use api::{CloudFacts, Deployment, Event, Layout, OnFailure, Plan, Run, RunState, Started, Stray};
use futures::stream::BoxStream;
use hot::bundle::Bundle;
use serde_json::Value;
use store::{Operator, RunRow};
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::{
    Actor, Config, Error, Result, Tenant,
    catalog::{Catalog, Published},
    run::Command,
    shared::Core,
};

pub(crate) use roll_back::after_the_end;

/// Runs workflows. A cheap handle: clone it.
#[derive(Clone)]
pub struct Engine {
    core: Arc<Core>,
}

/// What [`Engine::deploy`] makes real.
#[derive(Clone, Debug, Default)]
pub struct NewDeployment {
    /// Unique among the project's live deployments.
    pub name: String,
    /// HOT.
    pub template: String,
    /// Files and environments beside it.
    pub bundle: Bundle,
    /// Where nodes stand.
    pub layout: Layout,
    /// Parameter values.
    pub parameters: BTreeMap<String, Value>,
    /// Id of the design that it is made from.
    pub design: Option<String>,
    /// That design's version.
    pub design_version: Option<u32>,
    /// What the cloud has; passes and checks read it.
    pub cloud: CloudFacts,
    /// It is started although a quota is too small for it.
    pub despite_quota: bool,
}

/// What [`Engine::update`] leads to.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// HOT.
    pub template: String,
    /// Files and environments beside it; those that it was deployed with where absent.
    pub bundle: Option<Bundle>,
    /// Where nodes stand.
    pub layout: Layout,
    /// Parameter values.
    pub parameters: BTreeMap<String, Value>,
    /// Id of the design that it is made from.
    pub design: Option<String>,
    /// That design's version.
    pub design_version: Option<u32>,
    /// What the cloud has; passes and checks read it.
    pub cloud: CloudFacts,
    /// It leads back to what worked: the parameters are all there are.
    pub rolls_back: bool,
    /// What happens when it fails.
    pub on_failure: OnFailure,
    /// It is started although a quota is too small for it. A rollback always is.
    pub despite_quota: bool,
}

/// Whether an undeploy may leave things behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Force {
    /// A deletion that fails ends the run; resume it.
    #[default]
    No,
    /// Go on past deletions that fail, forget the deployment, and report what was left.
    Yes,
}

impl Engine {
    /// Starts, and goes on with the runs that were not finished.
    ///
    /// # Errors
    /// Where the database, the key file or the catalogue cannot be read.
    pub async fn start(config: Config, operator: Operator) -> Result<Engine> {
        let engine = Engine {
            core: Core::start(config, operator)?,
        };
        engine.recover().await?;
        Ok(engine)
    }

    /// The catalogue that a project sees: the server's own items and those that were uploaded to it.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub async fn catalog(&self, tenant: &Tenant) -> Result<Arc<Catalog>> {
        self.core.catalogs.of(tenant).await
    }

    /// Takes a tar.gz of an item into the project's catalogue.
    ///
    /// # Errors
    /// Where it is no item, or its name or version is taken; then nothing has changed.
    pub async fn publish(&self, actor: &Actor, archive: Vec<u8>) -> Result<Published> {
        self.core.check_running()?;
        let catalogs = &self.core.catalogs;
        catalogs.publish(&actor.tenant, &actor.user, archive).await
    }

    /// What a template would do: to nothing, or to `deployment`. Problems are in the plan.
    ///
    /// # Errors
    /// Where there is no such deployment.
    pub async fn plan(
        &self,
        actor: &Actor,
        template: &str,
        bundle: Option<&Bundle>,
        parameters: &BTreeMap<String, Value>,
        deployment: Option<&str>,
        cloud: &CloudFacts,
    ) -> Result<Plan> {
        self.plan_for(actor, template, bundle, parameters, deployment, cloud)
            .await
    }

    /// Makes a template real.
    ///
    /// # Errors
    /// Where the name is taken, the template has errors or a quota is too small; then nothing was started.
    pub async fn deploy(&self, actor: &Actor, new: NewDeployment) -> Result<Started> {
        let (engine, actor) = (self.clone(), actor.clone());
        self.to_its_end(async move { engine.begin_deploy(&actor, new).await })
            .await
    }

    /// Leads a deployment to what a template says now.
    ///
    /// # Errors
    /// As [`Engine::deploy`], and where a run works on it.
    pub async fn update(
        &self,
        actor: &Actor,
        deployment: &str,
        changes: Changes,
    ) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        self.to_its_end(async move { engine.begin_update(&actor, &id, changes).await })
            .await
    }

    /// Leads a deployment whose last change failed back to what the last run that ended well was given. A
    /// paused run of it is given up.
    ///
    /// # Errors
    /// Where a run works on it, the last change did not fail, or nothing ever ended well.
    pub async fn roll_back(
        &self,
        actor: &Actor,
        deployment: &str,
        cloud: &CloudFacts,
    ) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let cloud = cloud.clone();
        self.to_its_end(async move { engine.begin_roll_back(&actor, &id, &cloud).await })
            .await
    }

    /// Removes all that a deployment has in the cloud. A paused run of it is given up.
    ///
    /// # Errors
    /// Where a run works on it.
    pub async fn undeploy(&self, actor: &Actor, deployment: &str, force: Force) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        self.to_its_end(async move { engine.begin_undeploy(&actor, &id, force).await })
            .await
    }

    /// Stops a run: steps at work are stopped, always-run steps follow. Asked for twice, steps that
    /// do not stop are cut off.
    ///
    /// # Errors
    /// Where the run has ended.
    pub async fn cancel(&self, tenant: &Tenant, run: &str) -> Result<()> {
        let row = self.run_row(tenant, run).await?;
        let (answer, answered) = oneshot::channel();
        self.tell(&row, Command::Cancel(answer)).await?;
        answered.await.unwrap_or_else(|_gone| Err(let_go()))
    }

    /// Goes on with a failed, cancelled or paused run, as this person; done steps are not walked again.
    ///
    /// # Errors
    /// Where the run is at work, succeeded, or is not the deployment's last.
    pub async fn resume(&self, actor: &Actor, run: &str) -> Result<()> {
        let (engine, actor, id) = (self.clone(), actor.clone(), run.to_owned());
        self.to_its_end(async move { engine.go_on(&actor, &id).await })
            .await
    }

    /// Goes on with all runs of the project that paused because their token ended. Call it at login.
    /// Returns their ids.
    ///
    /// # Errors
    /// Where the journal cannot be read. A run that cannot go on stays paused.
    pub async fn resume_paused(&self, actor: &Actor) -> Result<Vec<String>> {
        let store = &self.core.store;
        let at_work = store.run_list_unfinished(&actor.tenant).await?;
        let mut resumed = Vec::new();
        for row in at_work
            .into_iter()
            .filter(|row| row.shown.state == RunState::Paused && row.shown.author == actor.user)
        {
            match self.go_on(actor, &row.shown.id).await {
                Ok(()) => resumed.push(row.shown.id),
                Err(error) => {
                    tracing::warn!(%error, run.id = row.shown.id, "a paused run stays paused")
                }
            }
        }
        Ok(resumed)
    }

    /// The project's deployments, newest first; undeployed ones included.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub async fn deployments(&self, tenant: &Tenant) -> Result<Vec<Deployment>> {
        self.show_deployments(tenant).await
    }

    /// One, with its resources, and with outputs of attributes that were read for this answer, as this person. While a
    /// run is at work, and where the cloud cannot be asked in time, the stored attributes count.
    ///
    /// # Errors
    /// Where there is no such deployment.
    pub async fn deployment_now(&self, actor: &Actor, id: &str) -> Result<Deployment> {
        self.show_deployment_now(actor, id).await
    }

    /// One, with its resources, and with outputs of the attributes that are stored.
    ///
    /// # Errors
    /// Where there is no such deployment.
    pub async fn deployment(&self, tenant: &Tenant, id: &str) -> Result<Deployment> {
        self.show_deployment(tenant, id).await
    }

    /// What the cloud has now that carries the deployment's mark and belongs to none of its resources. Asks every service in which
    /// the deployment ever began to create something.
    ///
    /// # Errors
    /// Where there is no such deployment, or a service cannot be asked.
    pub async fn strays(&self, actor: &Actor, deployment: &str) -> Result<Vec<Stray>> {
        self.find_strays(actor, deployment).await
    }

    /// Its runs, newest first.
    ///
    /// # Errors
    /// Where there is no such deployment.
    pub async fn runs(&self, tenant: &Tenant, deployment: &str) -> Result<Vec<Run>> {
        self.show_runs(tenant, deployment).await
    }

    /// One, with its steps.
    ///
    /// # Errors
    /// Where there is no such run.
    pub async fn run(&self, tenant: &Tenant, id: &str) -> Result<Run> {
        let row = self.run_row(tenant, id).await?;
        Ok(Run {
            steps: self.core.store.step_list(tenant, id).await?,
            ..row.shown
        })
    }

    /// Events with `seq > after`, at most `limit`.
    ///
    /// # Errors
    /// Where there is no such run.
    pub async fn events(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Event>> {
        self.run_row(tenant, run).await?;
        let store = &self.core.store;
        let limit = limit.clamp(1, 10_000);
        Ok(store.event_list(tenant, run, after, limit).await?)
    }

    /// Events with `seq > after` from storage, then as they happen: no gap, none twice. Ends after
    /// the run's final event. A viewer that lags is served from storage again.
    ///
    /// # Errors
    /// Where there is no such run.
    pub async fn stream(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
    ) -> Result<BoxStream<'static, Vec<Event>>> {
        self.run_row(tenant, run).await?;
        Ok(self.core.journal.stream(tenant, run, after))
    }

    /// Stops taking work and lets go of the runs; they go on at the next start.
    pub async fn shutdown(&self) {
        self.core.stopping.cancel();
        self.core.tasks.close();
        self.core.tasks.wait().await;
    }

    /// Does what changes a deployment to its end, whether or not who asked for it waits: a browser that goes
    /// away must not leave a run behind that is stored and has not begun.
    async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
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

    /// Hands a command to the run's task.
    async fn tell(&self, row: &RunRow, command: Command) -> Result<()> {
        let task = self.core.task_of(&row.shown.id);
        let sent = task.is_some_and(|task| task.send(command).is_ok());
        match sent {
            true => Ok(()),
            false if row.shown.state.is_final() => Err(Error::NotNow(format!(
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
