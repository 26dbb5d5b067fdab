//! The facade: what the server asks of the engine.

use std::{collections::BTreeMap, sync::Arc};

use api::{CloudFacts, Deployment, Event, Layout, Plan, Run, Started};
use futures::stream::BoxStream;
use serde_json::Value;
use sqlx::SqlitePool;

use crate::{Actor, Config, Result, Tenant};

/// Runs workflows. A cheap handle: clone it.
#[derive(Clone)]
pub struct Engine {
    #[expect(dead_code, reason = "filled in next")]
    inner: Arc<()>,
}

/// What [`Engine::deploy`] makes real.
#[derive(Clone, Debug, Default)]
pub struct NewDeployment {
    /// Unique among the project's live deployments.
    pub name: String,
    /// HOT.
    pub template: String,
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
}

/// What [`Engine::update`] leads to.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// HOT.
    pub template: String,
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
    /// Starts, and goes on with the runs that were not finished. The pool's database has the
    /// migrations of `migrations/` applied.
    pub async fn start(_config: Config, _pool: SqlitePool) -> Result<Engine> {
        todo!()
    }

    /// What a template would do: to nothing, or to `deployment`. Problems are in the plan.
    pub async fn plan(
        &self,
        _tenant: &Tenant,
        _template: &str,
        _parameters: &BTreeMap<String, Value>,
        _deployment: Option<&str>,
        _cloud: &CloudFacts,
    ) -> Result<Plan> {
        todo!()
    }

    /// Makes a template real.
    pub async fn deploy(&self, _actor: &Actor, _new: NewDeployment) -> Result<Started> {
        todo!()
    }

    /// Leads a deployment to what a template says now.
    pub async fn update(
        &self,
        _actor: &Actor,
        _deployment: &str,
        _changes: Changes,
    ) -> Result<Started> {
        todo!()
    }

    /// Removes all that a deployment has in the cloud.
    pub async fn undeploy(
        &self,
        _actor: &Actor,
        _deployment: &str,
        _force: Force,
    ) -> Result<Started> {
        todo!()
    }

    /// Stops a run: steps at work are stopped, always-run steps follow. Asked for twice, steps that
    /// do not stop are cut off.
    pub async fn cancel(&self, _tenant: &Tenant, _run: &str) -> Result<()> {
        todo!()
    }

    /// Goes on with a failed, cancelled or paused run, as this person; done steps are not walked again.
    pub async fn resume(&self, _actor: &Actor, _run: &str) -> Result<()> {
        todo!()
    }

    /// Goes on with all runs of the project that paused because their token ended. Call it at login.
    /// Returns their ids.
    pub async fn resume_paused(&self, _actor: &Actor) -> Result<Vec<String>> {
        todo!()
    }

    /// The project's deployments, newest first; undeployed ones included.
    pub async fn deployments(&self, _tenant: &Tenant) -> Result<Vec<Deployment>> {
        todo!()
    }

    /// One, with its resources and outputs.
    pub async fn deployment(&self, _tenant: &Tenant, _id: &str) -> Result<Deployment> {
        todo!()
    }

    /// Its runs, newest first.
    pub async fn runs(&self, _tenant: &Tenant, _deployment: &str) -> Result<Vec<Run>> {
        todo!()
    }

    /// One, with its steps.
    pub async fn run(&self, _tenant: &Tenant, _id: &str) -> Result<Run> {
        todo!()
    }

    /// Events with `seq > after`, at most `limit`.
    pub async fn events(
        &self,
        _tenant: &Tenant,
        _run: &str,
        _after: u64,
        _limit: u32,
    ) -> Result<Vec<Event>> {
        todo!()
    }

    /// Events with `seq > after` from storage, then as they happen: no gap, none twice. Ends after
    /// the run's final event. A viewer that lags is served from storage again.
    pub async fn stream(
        &self,
        _tenant: &Tenant,
        _run: &str,
        _after: u64,
    ) -> Result<BoxStream<'static, Vec<Event>>> {
        todo!()
    }

    /// Stops taking work and lets go of the runs; they go on at the next start.
    pub async fn shutdown(&self) {
        todo!()
    }
}
