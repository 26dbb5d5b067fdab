//! Stores a run and starts its task.

use std::{sync::Arc, time::Duration};

use api::{Change, CloudFacts, DeploymentState, RunCommand, RunKind, RunState, Scaling, Workflow};
use planner::workflow::StepKind;
use store::{DeploymentRow, Entry, NewRun as StoredRun, Outcome, RunRow, SealedKind, Transaction};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{Engine, Force, sweeps};
use crate::{
    Actor, Error, Result, Tenant,
    machine::{self, Event, Graph, OnFailure, Settings},
    run::{Opening, RunContext, RunTask, strays},
    secrets::{RunSecrets, load_run, seal_run},
};

/// Seconds that a step has in addition to the SSH timeout: for the sandbox, and for reading the console log.
const SSH_STEP_EXTRA_SECONDS: u32 = 180;

/// A run that is about to be stored.
pub(super) struct NewRun<'a> {
    pub actor: &'a Actor,
    pub deployment: &'a str,
    /// The row that the plan was made from, if any. It must not have changed since.
    pub seen: Option<&'a DeploymentRow>,
    pub kind: RunKind,
    pub forced: Force,
    /// True for a roll-back, to the last good state or to an earlier run.
    pub rolls_back: bool,
    /// Facts about the cloud, if the run is rolled back when it fails; else `None`.
    pub roll_back: Option<&'a CloudFacts>,
    /// The scaling that it carries out, if it was started for one.
    pub scaling: Option<&'a Scaling>,
    /// The command that it carries out, if it is one.
    pub command: Option<&'a RunCommand>,
    pub workflow: Workflow,
    /// The changes of its plan. `None` for a run without a plan, such as a command.
    pub changes: Option<Vec<Change>>,
    pub secrets: RunSecrets,
}

impl<'a> NewRun<'a> {
    /// A run that is no roll-back, scaling or command, of a workflow without a plan.
    pub fn of(
        actor: &'a Actor,
        deployment: &'a str,
        kind: RunKind,
        workflow: Workflow,
        secrets: RunSecrets,
    ) -> NewRun<'a> {
        NewRun {
            actor,
            deployment,
            seen: None,
            kind,
            forced: Force::No,
            rolls_back: false,
            roll_back: None,
            scaling: None,
            command: None,
            workflow,
            changes: None,
            secrets,
        }
    }
}

/// The error of a request that was made for an earlier state of the deployment.
pub(super) fn changed_meanwhile() -> Error {
    Error::NotPossibleNow(
        "another run has changed this deployment meanwhile; look at it and try again".into(),
    )
}

impl Engine {
    /// Stores a run and claims its deployment, within the caller's transaction. Returns the run's id.
    pub(super) async fn store_run(
        &self,
        transaction: &mut Transaction,
        new: &NewRun<'_>,
    ) -> Result<String> {
        let id = Uuid::now_v7().to_string();
        // An undeployment is always possible, because what costs money can be removed at any time.
        if new.kind != RunKind::Undeploy {
            self.check_room(transaction, &new.actor.tenant, 0).await?;
        }
        let workflow = self.workflow_to_store(transaction, new).await?;
        insert(transaction, &id, &workflow, new).await?;
        claim_deployment(transaction, &id, new).await?;
        let sealed = seal_run(&self.core.keys, &id, &new.secrets);
        transaction
            .sealed_put(&new.actor.tenant, SealedKind::Run, &id, &sealed)
            .await?;
        Ok(id)
    }

    /// Checks that the project may have one more active run, and that the disk has space for it. `ending` of the project's
    /// active runs end before the new one begins.
    pub(super) async fn check_room(
        &self,
        transaction: &mut Transaction,
        tenant: &Tenant,
        ending: i64,
    ) -> Result<()> {
        self.core.check_database_disk()?;
        let open = transaction.run_count_unfinished(tenant).await?;
        let limit = self.core.config.project_runs;
        if open - ending >= i64::from(limit) {
            return Err(Error::ProjectFull {
                what: "active runs",
                limit,
            });
        }
        Ok(())
    }

    /// The workflow of a new run, with the engine's time limits and with sweeps for creations of unknown outcome.
    async fn workflow_to_store(
        &self,
        transaction: &mut Transaction,
        new: &NewRun<'_>,
    ) -> Result<Workflow> {
        let mut workflow = self.with_timeouts(&new.workflow);
        if new.kind.changes_resources() {
            let uncertain = transaction
                .creation_list_uncertain(&new.actor.tenant, new.deployment)
                .await?;
            let uncertain = uncertain.iter();
            let pending = uncertain.filter(|one| strays::is_pending_for(new.kind, one));
            let horizon = self.core.config.commit_horizon;
            sweeps::add(&mut workflow, new.kind, pending.count(), horizon);
        }
        Graph::of(&workflow).map_err(|bad| {
            Error::NotPossibleNow(format!(
                "this cannot be run: {bad}. It is a mistake of ours; please report it"
            ))
        })?;
        Ok(workflow)
    }

    /// Applies the engine's settings for time limits to a workflow.
    fn with_timeouts(&self, workflow: &Workflow) -> Workflow {
        let config = &self.core.config;
        let seconds = |limit: Duration| u32::try_from(limit.as_secs()).unwrap_or(u32::MAX);
        let ssh = seconds(config.ssh_timeout).saturating_add(SSH_STEP_EXTRA_SECONDS);
        let software = seconds(config.software_timeout);
        let mut workflow = workflow.clone();
        for step in &mut workflow.steps {
            match step.kind {
                StepKind::WaitForSsh => step.timeout_seconds = ssh,
                StepKind::Install | StepKind::Configure => {
                    step.timeout_seconds = step.timeout_seconds.min(software);
                }
                _ => {}
            }
        }
        workflow
    }

    /// Starts the task of a run that was just stored. If that is not possible, the run fails.
    pub(super) async fn start_stored(&self, actor: &Actor, run: &str) -> Result<()> {
        let _attendance = self.active_runs.attend(run);
        let row = self.run_row(&actor.tenant, run).await?;
        // Another server may have taken it already, if this one has just lost its lease.
        if !self.core.store.holds(&row) {
            return Ok(());
        }
        let begun = self.start_task(actor, &row, machine::Event::Start).await;
        let Err(error) = begun else {
            return Ok(());
        };
        // It may have been taken while its first event waited for the database: then it is at work.
        if self.run_row(&actor.tenant, run).await?.fence != row.fence {
            return Ok(());
        }
        self.could_not_begin(&row, &error.to_string()).await;
        Err(error)
    }

    /// Marks a stored run without a task as failed, so that a user can resume it.
    pub(super) async fn could_not_begin(&self, row: &RunRow, why: &str) {
        let (tenant, run) = (&row.tenant, row.shown.id.as_str());
        let advice = match row.shown.kind {
            RunKind::Command => "Nothing was started on a server. Run the command again.",
            RunKind::Snapshot | RunKind::Restore => "Nothing was started. Try it again.",
            _ => "Resume it, update again, or undeploy.",
        };
        let keeps_deployment = row.shown.kind.keeps_deployment();
        let failed = Entry::Run {
            state: RunState::Failed,
            ending: Some(machine::Ending::Failed),
            reason: Some(format!("the run could not begin: {why}\n{advice}")),
            deployment: (!keeps_deployment).then_some(DeploymentState::Failed),
        };
        let written = match self
            .core
            .journal
            .of(tenant, run, row.fence)
            .write(vec![failed])
            .await
        {
            // Nothing has changed in the cloud, so there is nothing to roll back.
            Ok(()) => {
                let forgotten = self.core.store.run_forget_roll_back(tenant, run).await;
                forgotten.map_err(Error::from)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::error!(%error, run.id = run, "a run that could not begin waits until it is taken up again");
        }
    }

    /// Starts a run's task with a user's session, in the state that the row has.
    pub(super) async fn start_task(
        &self,
        actor: &Actor,
        row: &RunRow,
        first: machine::Event,
    ) -> Result<()> {
        let run = row.shown.id.as_str();
        let missing = || Error::NotFound {
            what: "run",
            id: run.to_owned(),
        };
        let deployment = self
            .deployment_row(&actor.tenant, &row.shown.deployment)
            .await?;
        let secrets = load_run(&self.core.store, &self.core.keys, &actor.tenant, run)
            .await?
            .ok_or_else(missing)?;
        let machine = self.restore(row).await?;
        let opening = Opening {
            core: &self.core,
            run: row,
            deployment: &deployment,
            session: actor.session.clone(),
            secrets: &secrets,
            known: None,
        };
        let run_context = opening.run_context().await?;
        let workflow = run_context.workflow.clone();
        let begun = self.spawn(row, workflow, machine, Some(run_context), first);
        begun.await.map_err(|_gone| super::let_go())
    }

    /// Starts the task of a run. The receiver resolves when the journal has its first event.
    pub(super) fn spawn(
        &self,
        row: &RunRow,
        workflow: Arc<Workflow>,
        machine: machine::Run,
        run_context: Option<RunContext>,
        first: Event,
    ) -> oneshot::Receiver<()> {
        let (engine, tenant, id) = (self.clone(), row.tenant.clone(), row.shown.id.clone());
        let task = RunTask::new(
            &self.core,
            &self.active_runs,
            row,
            workflow,
            machine,
            run_context,
        );
        task.spawn(first, async move |run_context, state| {
            engine
                .after_the_end(run_context, (&tenant, &id), state)
                .await;
        })
    }

    /// The machine of a stored run.
    pub(super) async fn restore(&self, row: &RunRow) -> Result<machine::Run> {
        let graph = Graph::of(&row.workflow()?).map_err(|bad| {
            Error::NotPossibleNow(format!("a stored workflow cannot be run: {bad}"))
        })?;
        let steps = self
            .core
            .store
            .step_list(&row.tenant, &row.shown.id)
            .await?;
        let (config, command) = (&self.core.config, row.shown.command.as_ref());
        let settings = Settings {
            grace: config.grace,
            retry_pause: config.retry_pause,
            parallel_steps: command.map_or(config.parallel_steps, |command| {
                let parallel = usize::try_from(command.parallel).unwrap_or(usize::MAX);
                parallel.min(config.parallel_steps)
            }),
            on_failure: match command {
                Some(command) => OnFailure::EndAfter(command.max_failures.unwrap_or(u32::MAX)),
                None if row.forced => OnFailure::Continue,
                None => OnFailure::EndTheRun,
            },
        };
        let steps = steps
            .into_iter()
            .map(|step| (step.state, step.attempts, step.error));
        Ok(machine::Run::restore(
            Arc::new(graph),
            settings,
            row.shown.state,
            row.ending,
            row.shown.reason.clone(),
            steps,
        ))
    }
}

/// Inserts the row of a new run.
async fn insert(
    transaction: &mut Transaction,
    id: &str,
    workflow: &Workflow,
    new: &NewRun<'_>,
) -> Result<()> {
    let stored = transaction.run_insert(
        &new.actor.tenant,
        StoredRun {
            id,
            deployment: new.deployment,
            kind: new.kind,
            forced: new.forced == Force::Yes,
            rolls_back: new.rolls_back,
            roll_back: new.roll_back,
            scaling: new.scaling,
            command: new.command,
            workflow,
            changes: new.changes.as_deref(),
            author: &new.actor.user,
            author_id: &new.actor.session.user().id,
        },
    );
    // Another request came first.
    if stored.await? == Outcome::Conflict {
        let busy = transaction
            .run_change_at_work(&new.actor.tenant, new.deployment)
            .await?;
        return Err(busy.map_or_else(changed_meanwhile, Error::Busy));
    }
    Ok(())
}

/// Makes a run the last one of its deployment, unless it keeps the deployment as it is.
async fn claim_deployment(transaction: &mut Transaction, id: &str, new: &NewRun<'_>) -> Result<()> {
    let (tenant, deployment) = (&new.actor.tenant, new.deployment);
    let claimed = if new.kind.keeps_deployment() {
        // The deployment keeps its state and its last run: such a run changes neither.
        transaction.deployment_hold(tenant, deployment).await
    } else {
        let seen = new.seen.map(DeploymentRow::seen);
        transaction
            .deployment_claim(tenant, deployment, id, seen.as_ref())
            .await
    };
    if claimed? == Outcome::Conflict {
        return Err(changed_meanwhile());
    }
    // This run replaces a requested roll-back of the previous run.
    if !new.kind.keeps_deployment() {
        transaction.run_supersede(tenant, deployment, id).await?;
    }
    Ok(())
}
