//! Accepts changes: plans, checks, stores and starts them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::{
    Action, Change, CloudFacts, DeploymentState, Plan, RunKind, RunState, Severity, Started,
    TemplateFiles, Workflow,
};
use hot::{bundle::Bundle, document::Document, merged::Merged};
use planner::plan::{Deployed, PlanInput, plan_undeploy};
use serde_json::Value;
use store::{DeploymentContent, DeploymentRow, Outcome, ResourceRow, RunRow};
use tokio::sync::oneshot;
use types::Registry;
use uuid::Uuid;

use super::{
    Engine, Force, NewDeployment, compare,
    hidden::{Keeping, hidden_values, with_environments, without_overridden},
    start::NewRun,
};
use crate::{
    Actor, Error, Result, Tenant,
    catalog::Catalog,
    run::{Command, Opening, divide, pseudo_parameters},
    secrets::RunSecrets,
};

/// Maximum length of a deployment's name in characters.
const NAME_MAX: usize = 63;

impl Engine {
    /// The catalogue of a deployment.
    pub(super) async fn catalog_for(
        &self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Arc<Catalog>> {
        self.core.catalogs.of_deployment(tenant, deployment).await
    }

    pub(super) async fn begin_deploy(
        &self,
        actor: &Actor,
        mut new: NewDeployment,
    ) -> Result<Started> {
        self.core.check_running()?;
        check_name(&new.name)?;
        if let Some(digest) = &new.plan_digest {
            let checked = self.check_reviewed(actor, None, new.preview(), digest);
            Box::pin(checked).await?;
        }
        let texts = (new.template.as_str(), new.bundle.clone());
        let catalog = self
            .catalog_of_template(&actor.tenant, None, texts, &new.versions)
            .await?;
        let id = Uuid::now_v7().to_string();
        let pseudo = pseudo_parameters(&new.name, &id, &actor.tenant);
        let types = catalog.clone();
        let work = move || Planned::of(&mut new, pseudo, types.registry()).map(|plan| (plan, new));
        let (planned, new) = self.compute(&actor.tenant, work).await??;
        let Planned {
            workflow,
            changes,
            hidden,
            open,
            beside,
        } = planned;
        let store = &self.core.store;
        if store
            .deployment_name_is_taken(&actor.tenant, &new.name)
            .await?
        {
            return Err(Error::NameTaken(new.name));
        }
        let keeping = self
            .store_hidden(actor, &id, &workflow, &hidden, None)
            .await?;
        let token = actor.session.token().expose();
        let secrets = RunSecrets::new(token, hidden, actor.vault_key.as_ref());
        let run = NewRun {
            changes: Some(changes),
            ..NewRun::of(actor, &id, RunKind::Deploy, workflow, secrets)
        };
        let stored = self
            .store_deployment(
                (&new, &beside, &open),
                &catalog,
                keeping.name.as_deref(),
                run,
            )
            .await;
        let run = self
            .start_and_clean_up(actor, &id, &keeping, stored)
            .await?;
        Ok(Started {
            deployment: id,
            run,
        })
    }

    /// Starts the stored run, if there is one, and then removes unused hidden values. In this order, because the key
    /// manager can be slow.
    pub(super) async fn start_and_clean_up(
        &self,
        actor: &Actor,
        deployment: &str,
        keeping: &Keeping,
        stored: Result<String>,
    ) -> Result<String> {
        let begun = match &stored {
            Ok(run) => self.start_stored(actor, run).await,
            Err(_refused) => Ok(()),
        };
        self.clean_up_hidden(actor, deployment, keeping, stored.is_ok())
            .await;
        let run = stored?;
        begun.map(|()| run)
    }

    /// Stores everything in one transaction, or nothing.
    async fn store_deployment(
        &self,
        (new, beside, open): (&NewDeployment, &TemplateFiles, &BTreeMap<String, Value>),
        catalog: &Catalog,
        hidden: Option<&str>,
        run: NewRun<'_>,
    ) -> Result<String> {
        let (tenant, id) = (&run.actor.tenant, run.deployment);
        let types = types_of(&run.workflow, &[]);
        let catalogs = &self.core.catalogs;
        catalogs.keep_own(catalog, &types).await?;
        let mut transaction = self.core.store.begin("storing a deployment").await?;
        let counts = transaction.deployment_count(tenant).await?;
        let config = &self.core.config;
        for (what, count, limit) in [
            ("deployments", counts.live, config.project_deployments),
            (
                "undeployed deployments with their history",
                counts.undeployed,
                config.project_undeployed,
            ),
        ] {
            if count >= i64::from(limit) {
                return Err(Error::ProjectFull { what, limit });
            }
        }
        let content = DeploymentContent {
            template: &new.template,
            beside,
            layout: &new.layout,
            parameters: open,
            outputs: &run.workflow.outputs,
            hidden,
            design: new.design.as_deref(),
            design_version: new.design_version,
        };
        let inserted = transaction
            .deployment_insert(tenant, id, &new.name, &run.actor.user, content)
            .await?;
        if inserted == Outcome::Conflict {
            return Err(Error::NameTaken(new.name.clone()));
        }
        if let Some(name) = hidden {
            transaction.hidden_keep(tenant, name).await?;
        }
        catalogs
            .pin(&mut transaction, (tenant, id), catalog, &types)
            .await?;
        let id = self.store_run(&mut transaction, &run).await?;
        transaction.commit().await?;
        Ok(id)
    }

    pub(super) async fn begin_undeploy(
        &self,
        actor: &Actor,
        deployment: &str,
        force: Force,
    ) -> Result<Started> {
        self.core.check_running()?;
        let row = self.live_row(&actor.tenant, deployment).await?;
        // Its paused commands have nothing left to work on either.
        let open = self.core.store.run_list_open(&actor.tenant, deployment);
        self.abandon_paused(actor, &row, open.await?, force).await?;
        let row = self.deployment_row(&actor.tenant, deployment).await?;
        self.check_unchanging(&row).await?;

        let there = self
            .core
            .store
            .resource_list(&actor.tenant, deployment)
            .await?;
        let all = compare::deployed(there, |_, _| true);
        let catalog = self.catalog_for(&actor.tenant, deployment).await?;
        let document = Document::parse(row.shown.template.as_str());
        let environments = Merged::of(&row.shown.beside.bundle(), document.template());
        let plan = plan_undeploy(&all, catalog.registry(), &environments.rules);
        let (workflow, changes) = accepted(plan)?;
        // An undeployment works without hidden parameters: a deletion needs only ids.
        let hidden = self.stored_hidden(actor, &row).await.unwrap_or_default();
        let secrets = RunSecrets::new(
            actor.session.token().expose(),
            hidden,
            actor.vault_key.as_ref(),
        );
        let run = NewRun {
            seen: Some(&row),
            forced: force,
            changes: Some(changes),
            ..NewRun::of(actor, deployment, RunKind::Undeploy, workflow, secrets)
        };
        let tenant = &actor.tenant;
        let permission = self.core.store.permission_find(tenant, deployment).await?;
        let mut transaction = self.core.store.begin("storing an undeploy").await?;
        let run = self.store_run(&mut transaction, &run).await?;
        // Nothing is left to act on.
        let revoked = transaction.permission_revoke(tenant, deployment).await?;
        transaction.commit().await?;
        self.start_stored(actor, &run).await?;
        if let Some(permission) = permission.filter(|_| revoked == Outcome::Done) {
            self.delete_own_credential(actor, &permission).await;
        }
        Ok(Started {
            deployment: deployment.to_owned(),
            run,
        })
    }

    // ---- checks ----

    pub(super) async fn deployment_row(&self, tenant: &Tenant, id: &str) -> Result<DeploymentRow> {
        let row = self.core.store.deployment_find(tenant, id).await?;
        row.ok_or_else(|| Error::NotFound {
            what: "deployment",
            id: id.to_owned(),
        })
    }

    /// The row of a deployment that is not undeployed.
    pub(super) async fn live_row(&self, tenant: &Tenant, id: &str) -> Result<DeploymentRow> {
        let row = self.deployment_row(tenant, id).await?;
        match row.shown.state {
            DeploymentState::Undeployed => Err(Error::NotPossibleNow(format!(
                "`{}` is undeployed. To have it again, deploy its design",
                row.shown.name
            ))),
            _ => Ok(row),
        }
    }

    /// Checks that `base` is the newest run.
    pub(super) async fn is_based_on(&self, row: &DeploymentRow, base: &str) -> Result<()> {
        let newest = match row.shown.last_run.as_deref() {
            Some(newest) if newest != base => newest,
            _ => return Ok(()),
        };
        let run = self.run_row(&row.tenant, newest).await?.shown;
        Err(Error::Changed {
            name: row.shown.name.clone(),
            kind: run.kind,
            author: run.author,
            created: run.created,
        })
    }

    /// Checks that no run of a deployment is at work, neither a change nor a command.
    pub(super) async fn check_idle(&self, row: &DeploymentRow) -> Result<()> {
        let store = &self.core.store;
        let runs = store.run_list_open(&row.tenant, &row.shown.id).await?;
        match runs.into_iter().next() {
            Some(busy) => Err(Error::Busy(busy.shown.id)),
            None => Ok(()),
        }
    }

    /// Checks that no change of a deployment is at work. Commands may be: they run beside it.
    pub(super) async fn check_unchanging(&self, row: &DeploymentRow) -> Result<()> {
        match self.change_at_work(row).await? {
            Some(busy) => Err(Error::Busy(busy.shown.id)),
            None => Ok(()),
        }
    }

    /// The change of a deployment that is at work. There is at most one.
    pub(super) async fn change_at_work(&self, row: &DeploymentRow) -> Result<Option<RunRow>> {
        let store = &self.core.store;
        let runs = store.run_list_open(&row.tenant, &row.shown.id).await?;
        let mut changes = runs.into_iter();
        Ok(changes.find(|run| run.shown.kind != RunKind::Command))
    }

    /// Abandons the change of a deployment, if it is paused.
    pub(super) async fn abandon_paused_change(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
    ) -> Result<()> {
        let change = self.change_at_work(row).await?.into_iter().collect();
        self.abandon_paused(actor, row, change, Force::No).await
    }

    /// Abandons those of the runs that are paused, because they must not prevent an undeployment. Their always-run steps (the
    /// closing of the bastion) run first, with the session of the user who abandons them: their own sessions have expired.
    async fn abandon_paused(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        runs: Vec<RunRow>,
        force: Force,
    ) -> Result<()> {
        let store = &self.core.store;
        for run in runs
            .iter()
            .filter(|run| run.shown.state == RunState::Paused)
        {
            let run = &Box::pin(self.bring(run.clone())).await?;
            match (self.run_always_run_steps(actor, row, run).await, force) {
                (Err(error), Force::Yes) => {
                    tracing::warn!(%error, run.id = run.shown.id, "a run is given up with its bastion open");
                }
                (done, _) => done?,
            }
            // The user who abandons the run decides about the next one, so its roll-back is dropped.
            store
                .run_forget_roll_back(&actor.tenant, &run.shown.id)
                .await?;
            let (answer, answered) = oneshot::channel();
            self.send_command(run, Command::Abandon(answer)).await?;
            answered
                .await
                .unwrap_or_else(|_gone| Err(super::let_go()))?;
        }
        Ok(())
    }

    /// Runs the always-run steps of a run that will not reach them.
    async fn run_always_run_steps(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        run: &RunRow,
    ) -> Result<()> {
        let secrets = RunSecrets::new(
            actor.session.token().expose(),
            self.stored_hidden(actor, row).await.unwrap_or_default(),
            actor.vault_key.as_ref(),
        );
        let opening = Opening {
            core: &self.core,
            run,
            deployment: row,
            session: actor.session.clone(),
            secrets: &secrets,
            known: None,
        };
        let context = opening.run_context().await?;
        let tenure = self.core.lease.tenure();
        let done = openstack::while_permitted(tenure, Box::pin(context.perform_always_run())).await;
        done.map_err(|ended| {
            Error::NotPossibleNow(format!("the last steps of the paused run failed: {ended}"))
        })
    }
}

/// An accepted plan, and the values to store with it.
pub(super) struct Planned {
    pub workflow: Workflow,
    /// The changes that the workflow makes.
    pub changes: Vec<Change>,
    /// Values of hidden parameters.
    pub hidden: BTreeMap<String, Value>,
    /// Values of the other parameters.
    pub open: BTreeMap<String, Value>,
    /// The files and environments to store.
    pub beside: TemplateFiles,
}

impl Planned {
    fn of(
        new: &mut NewDeployment,
        pseudo: BTreeMap<String, Value>,
        types: &Registry,
    ) -> Result<Planned> {
        let document = Document::parse(new.template.clone());
        let deployed = Deployed {
            pseudo,
            ..Deployed::default()
        };
        let (bundle, given) = (&new.bundle, &new.parameters);
        let plan = plan_with(&document, bundle, given, &deployed, &new.cloud, types);
        if !new.despite_quota {
            check_quota(&plan)?;
        }
        let (workflow, changes) = accepted(plan)?;
        let given = without_overridden(&document, bundle, given);
        let said = with_environments(&document, bundle, &given);
        let planned = Planned {
            workflow,
            changes,
            hidden: hidden_values(&document, bundle, &said, &BTreeMap::new()),
            open: divide(document.template(), &given).0,
            beside: beside(bundle, &document),
        };
        new.parameters = given;
        Ok(planned)
    }
}

fn check_name(name: &str) -> Result<()> {
    let begins_well = name
        .chars()
        .next()
        .is_some_and(|first| first.is_ascii_alphanumeric());
    let is_plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if begins_well && is_plain && name.len() <= NAME_MAX {
        Ok(())
    } else {
        Err(Error::BadName(name.to_owned()))
    }
}

pub(super) fn plan_with(
    document: &Document,
    bundle: &Bundle,
    parameters: &BTreeMap<String, Value>,
    deployed: &Deployed,
    cloud: &CloudFacts,
    types: &Registry,
) -> Plan {
    planner::plan::plan(&PlanInput {
        document,
        bundle,
        parameters,
        deployed,
        types,
        cloud,
    })
}

/// The types of planned and of existing resources.
pub(super) fn types_of<'w>(workflow: &'w Workflow, there: &'w [ResourceRow]) -> BTreeSet<&'w str> {
    let planned = workflow.resources.values();
    planned
        .chain(there.iter().map(|row| &row.spec))
        .map(|spec| spec.resource_type.as_str())
        .collect()
}

/// Refuses a plan that exceeds a quota of the project.
pub(super) fn check_quota(plan: &Plan) -> Result<()> {
    let found = plan.diagnostics.iter();
    let exceeded: Vec<_> = found
        .filter(|one| one.code == planner::plan::QUOTA_EXCEEDED)
        .cloned()
        .collect();
    if exceeded.is_empty() {
        Ok(())
    } else {
        Err(Error::QuotaExceeded(exceeded))
    }
}

/// The workflow and the changes of a plan without errors. Unchanged resources are left out.
pub(super) fn accepted(plan: Plan) -> Result<(Workflow, Vec<Change>)> {
    match plan.workflow {
        Some(workflow)
            if !plan
                .diagnostics
                .iter()
                .any(|found| found.severity == Severity::Error) =>
        {
            let mut changes = plan.changes;
            changes.retain(|change| change.action != Action::None);
            Ok((workflow, changes))
        }
        _ => Err(Error::Refused(plan.diagnostics)),
    }
}

/// The files and environments to store, without the values of hidden parameters.
pub(super) fn beside(bundle: &Bundle, document: &Document) -> TemplateFiles {
    TemplateFiles::of(&hot::merged::without_hidden(bundle, document.template()))
}
