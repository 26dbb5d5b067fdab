//! Taking work: plan, check, and hand over to be stored and started.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::{
    Beside, CloudFacts, DeploymentState, OnFailure, Plan, RunKind, RunState, Severity, Started,
    Workflow,
};
use serde_json::Value;
use sqlx::SqliteConnection;
use tokio::sync::oneshot;
use topology::{
    bundle::Bundle,
    document::Document,
    environment::Merged,
    plan::{Deployed, PlanInput},
    template::Template,
    types::Registry,
};
use uuid::Uuid;

use super::{Changes, Engine, Force, NewDeployment, compare, store::NewRun};
use crate::{
    Actor, Error, Result, Tenant,
    catalog::Catalog,
    driver::Vault,
    journal::{DeploymentRow, ResourceRow, RunRow, Scoped, from_json, now_text, to_json, to_text},
    run::{Command, Opening, defaults, divide, good_parameters_name, hidden_parameters_name},
    secrets::{RunSecrets, RunVault},
};

/// Characters of a deployment's name.
const NAME_MAX: usize = 63;

impl Engine {
    /// The plan, and the catalogue that it was made with.
    pub(super) async fn plan_for(
        &self,
        tenant: &Tenant,
        template: &str,
        bundle: Option<&Bundle>,
        parameters: &BTreeMap<String, Value>,
        deployment: Option<&str>,
        cloud: &CloudFacts,
    ) -> Result<(Plan, Arc<Catalog>)> {
        let catalog = self.catalog_for(tenant, deployment).await?;
        let document = Document::parse(template);
        let mut parameters = parameters.clone();
        let mut bundle = bundle.cloned();
        let mut deployed = Deployed::default();
        if let Some(id) = deployment {
            let row = self.deployment_row(tenant, id).await?;
            // Who gives a hidden value anew mostly gives another one; what is kept can only the run open.
            let hidden =
                document.template().parameters.iter().filter(|parameter| {
                    parameter.hidden && parameters.contains_key(&parameter.name)
                });
            let hidden_changed = hidden.map(|parameter| parameter.name.clone()).collect();
            parameters = with_stored(&row, &parameters);
            bundle.get_or_insert_with(|| row.shown.beside.bundle());
            deployed = Deployed {
                parameters: row.parameters,
                hidden_changed,
                ..compare::deployed(self.core.journal.resources(id).await?)
            };
        }
        let bundle = bundle.unwrap_or_default();
        let types = catalog.registry();
        let plan = plan_with(&document, &bundle, &parameters, &deployed, cloud, types);
        Ok((plan, catalog))
    }

    /// What a deployment has, or a new one would have.
    pub(super) async fn catalog_for(
        &self,
        tenant: &Tenant,
        deployment: Option<&str>,
    ) -> Result<Arc<Catalog>> {
        match deployment {
            Some(id) => self.core.catalogs.of_deployment(tenant, id).await,
            None => self.core.catalogs.of(tenant).await,
        }
    }

    pub(super) async fn begin_deploy(&self, actor: &Actor, new: NewDeployment) -> Result<Started> {
        self.core.check_running()?;
        check_name(&new.name)?;
        let (plan, catalog) = self
            .plan_for(
                &actor.tenant,
                &new.template,
                Some(&new.bundle),
                &new.parameters,
                None,
                &new.cloud,
            )
            .await?;
        let workflow = accepted(plan)?;
        let document = Document::parse(new.template.clone());
        let (open, _) = divide(document.template(), &new.parameters);
        let hidden = hidden_values(
            document.template(),
            &with_environments(&document, &new.bundle, &new.parameters),
            &BTreeMap::new(),
        );
        let id = Uuid::now_v7().to_string();
        if self.name_is_taken(&actor.tenant, &new.name).await? {
            return Err(Error::NameTaken(new.name));
        }
        self.keep_hidden(actor, &id, &workflow, &hidden).await?;

        let mut transaction = self
            .core
            .journal
            .pool()
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(Error::storage("storing a deployment"))?;
        let now = now_text();
        let stored = sqlx::query(
            "INSERT INTO deployments (id, cloud, project_id, name, state, template, beside, layout, parameters, outputs, design, design_version, \
             author, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&id)
        .bind(&actor.tenant.cloud)
        .bind(&actor.tenant.project_id)
        .bind(&new.name)
        .bind(to_text(&DeploymentState::Busy))
        .bind(&new.template)
        .bind(to_json(&Beside::of(&new.bundle)))
        .bind(to_json(&new.layout))
        .bind(to_json(&open))
        .bind(to_json(&workflow.outputs))
        .bind(&new.design)
        .bind(new.design_version)
        .bind(&actor.user)
        .bind(&now)
        .bind(&now)
        .execute(&mut *transaction)
        .await;
        match stored {
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                return Err(Error::NameTaken(new.name));
            }
            other => other.map_err(Error::storage("storing a deployment"))?,
        };
        let types = types_of(&workflow, &[]);
        let catalogs = &self.core.catalogs;
        catalogs
            .pin(&mut transaction, &id, &catalog, &types)
            .await?;
        let secrets = RunSecrets::new(
            actor.session.token().expose(),
            hidden,
            actor.vault_key.as_ref(),
        );
        let run = NewRun {
            actor,
            deployment: &id,
            kind: RunKind::Deploy,
            forced: Force::No,
            rolls_back: false,
            workflow,
            secrets,
        };
        let run = self.store_run(&mut transaction, &run).await?;
        transaction
            .commit()
            .await
            .map_err(Error::storage("storing a deployment"))?;
        self.go(actor, &run).await?;
        Ok(Started {
            deployment: id,
            run,
        })
    }

    pub(super) async fn begin_update(
        &self,
        actor: &Actor,
        deployment: &str,
        changes: Changes,
    ) -> Result<Started> {
        self.core.check_running()?;
        let row = self.deployment_row(&actor.tenant, deployment).await?;
        if row.shown.state == DeploymentState::Undeployed {
            return Err(Error::NotNow(format!(
                "`{}` is undeployed; deploy the design again",
                row.shown.name
            )));
        }
        self.check_idle(&row).await?;
        let bundle = changes.bundle.unwrap_or_else(|| row.shown.beside.bundle());
        let document = Document::parse(changes.template.clone());
        let given = match changes.rolls_back {
            true => changes.parameters.clone(),
            false => with_stored(&row, &changes.parameters),
        };
        let (open, _) = divide(document.template(), &given);
        let kept = self.kept_hidden(actor, deployment).await?;
        let said = with_environments(&document, &bundle, &given);
        let hidden = match changes.rolls_back {
            true => {
                let good = self.kept_hidden_of_good(actor, deployment).await?;
                hidden_values(document.template(), &good, &said)
            }
            false => hidden_values(document.template(), &said, &kept),
        };
        let mut all = given;
        all.extend(hidden.clone());
        let there = self.core.journal.resources(deployment).await?;
        let deployed = Deployed {
            parameters: row.parameters.clone(),
            hidden_changed: compare::hidden_changed(&kept, &hidden),
            ..compare::deployed(there.clone())
        };
        let catalog = self.catalog_for(&actor.tenant, Some(deployment)).await?;
        let plan = plan_with(
            &document,
            &bundle,
            &all,
            &deployed,
            &changes.cloud,
            catalog.registry(),
        );
        let workflow = accepted(plan)?;
        if row.shown.state == DeploymentState::Deployed && !kept.is_empty() {
            self.keep_hidden_of_good(actor, deployment, &kept).await?;
        }
        self.keep_hidden(actor, deployment, &workflow, &hidden)
            .await?;

        let doing = "storing an update";
        let mut transaction = self
            .core
            .journal
            .pool()
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(Error::storage(doing))?;
        sqlx::query(
            "UPDATE deployments SET template = ?, beside = ?, layout = ?, parameters = ?, outputs = ?, design = COALESCE(?, design), \
             design_version = COALESCE(?, design_version) WHERE id = ?",
        )
        .bind(&changes.template)
        .bind(to_json(&Beside::of(&bundle)))
        .bind(to_json(&changes.layout))
        .bind(to_json(&open))
        .bind(to_json(&workflow.outputs))
        .bind(&changes.design)
        .bind(changes.design_version)
        .bind(deployment)
        .execute(&mut *transaction)
        .await
        .map_err(Error::storage(doing))?;
        let secrets = RunSecrets::new(
            actor.session.token().expose(),
            hidden,
            actor.vault_key.as_ref(),
        );
        take_back(&mut transaction, deployment, &workflow).await?;
        let types = types_of(&workflow, &there);
        let catalogs = &self.core.catalogs;
        catalogs
            .pin(&mut transaction, deployment, &catalog, &types)
            .await?;
        let run = NewRun {
            actor,
            deployment,
            kind: RunKind::Update,
            forced: Force::No,
            rolls_back: changes.rolls_back,
            workflow,
            secrets,
        };
        let run = self.store_run(&mut transaction, &run).await?;
        transaction.commit().await.map_err(Error::storage(doing))?;
        if changes.on_failure == OnFailure::Rollback {
            self.roll_back_if_it_fails(&run, actor, changes.cloud);
        }
        self.go(actor, &run).await?;
        Ok(Started {
            deployment: deployment.to_owned(),
            run,
        })
    }

    pub(super) async fn begin_undeploy(
        &self,
        actor: &Actor,
        deployment: &str,
        force: Force,
    ) -> Result<Started> {
        self.core.check_running()?;
        let row = self.deployment_row(&actor.tenant, deployment).await?;
        if row.shown.state == DeploymentState::Undeployed {
            return Err(Error::NotNow(format!(
                "`{}` is undeployed already",
                row.shown.name
            )));
        }
        self.give_up_paused(actor, &row, force).await?;
        self.check_idle(&row).await?;

        let there = self.core.journal.resources(deployment).await?;
        let all = compare::deployed(there);
        let catalog = self.catalog_for(&actor.tenant, Some(deployment)).await?;
        let workflow = accepted(topology::plan::plan_undeploy(&all, catalog.registry()))?;
        let doing = "storing an undeploy";
        let mut transaction = self
            .core
            .journal
            .pool()
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(Error::storage(doing))?;
        // Whose hidden parameters cannot be opened can still undeploy: deletion needs ids only.
        let hidden = self
            .kept_hidden(actor, deployment)
            .await
            .unwrap_or_default();
        let secrets = RunSecrets::new(
            actor.session.token().expose(),
            hidden,
            actor.vault_key.as_ref(),
        );
        let run = NewRun {
            actor,
            deployment,
            kind: RunKind::Undeploy,
            forced: force,
            rolls_back: false,
            workflow,
            secrets,
        };
        let run = self.store_run(&mut transaction, &run).await?;
        transaction.commit().await.map_err(Error::storage(doing))?;
        self.go(actor, &run).await?;
        Ok(Started {
            deployment: deployment.to_owned(),
            run,
        })
    }

    // ---- checks ----

    pub(super) async fn deployment_row(&self, tenant: &Tenant, id: &str) -> Result<DeploymentRow> {
        let row = self.core.journal.deployment(Scoped::To(tenant), id).await?;
        row.ok_or_else(|| Error::NotFound {
            what: "deployment",
            id: id.to_owned(),
        })
    }

    async fn name_is_taken(&self, tenant: &Tenant, name: &str) -> Result<bool> {
        let count: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM deployments WHERE cloud = ? AND project_id = ? AND name = ? AND state <> 'undeployed'",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(name)
        .fetch_one(self.core.journal.pool())
        .await
        .map_err(Error::storage("looking for a name"))?;
        Ok(count > 0)
    }

    async fn check_idle(&self, row: &DeploymentRow) -> Result<()> {
        let runs = self.core.journal.runs(&row.tenant, &row.shown.id).await?;
        match runs.into_iter().find(|run| !run.shown.state.is_final()) {
            Some(busy) => Err(Error::Busy(busy.shown.id)),
            None => Ok(()),
        }
    }

    /// A paused run must not keep a deployment from being undeployed. What it owes at its end, the bastion's
    /// closing, is done first, with the session of the person who gives it up: its own has ended.
    pub(super) async fn give_up_paused(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        force: Force,
    ) -> Result<()> {
        let runs = self.core.journal.runs(&actor.tenant, &row.shown.id).await?;
        for run in runs
            .iter()
            .filter(|run| run.shown.state == RunState::Paused)
        {
            match (self.finish_off(actor, row, run).await, force) {
                (Err(error), Force::Yes) => {
                    tracing::warn!(%error, run.id = run.shown.id, "a run is given up with its bastion open");
                }
                (done, _) => done?,
            }
            let (answer, answered) = oneshot::channel();
            self.tell(run, Command::Abandon(answer)).await?;
            answered
                .await
                .unwrap_or_else(|_gone| Err(super::let_go()))?;
        }
        Ok(())
    }

    /// Performs the always-run steps of a run that will not come to them.
    async fn finish_off(&self, actor: &Actor, row: &DeploymentRow, run: &RunRow) -> Result<()> {
        let secrets = RunSecrets::new(
            actor.session.token().expose(),
            self.kept_hidden(actor, &row.shown.id)
                .await
                .unwrap_or_default(),
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
        let done = opening.site().await?.perform_always_run().await;
        done.map_err(|ended| {
            Error::NotNow(format!("what the paused run owes cannot be done: {ended}"))
        })
    }

    // ---- hidden parameters ----

    fn vault(&self, actor: &Actor) -> RunVault {
        RunVault::new(
            actor.session.clone(),
            self.core.journal.pool().clone(),
            actor.tenant.clone(),
            actor.vault_key.clone(),
        )
    }

    /// Keeps them for later runs; refuses early where secrets cannot be kept.
    async fn keep_hidden(
        &self,
        actor: &Actor,
        deployment: &str,
        workflow: &Workflow,
        hidden: &BTreeMap<String, Value>,
    ) -> Result<()> {
        let vault = self.vault(actor);
        let makes_keys = workflow
            .resources
            .values()
            .any(|spec| spec.resource_type == "Stackloom::SSHKey");
        if !vault.is_there() && (makes_keys || !hidden.is_empty()) {
            return Err(Error::NoVault);
        }
        if hidden.is_empty() {
            return Ok(());
        }
        vault
            .put(&hidden_parameters_name(deployment), &to_json(hidden))
            .await
            .map(drop)
            .map_err(from_vault)
    }

    pub(super) async fn kept_hidden(
        &self,
        actor: &Actor,
        deployment: &str,
    ) -> Result<BTreeMap<String, Value>> {
        self.hidden_under(actor, &hidden_parameters_name(deployment))
            .await
    }

    /// Those that a roll-back needs: from before a change.
    async fn kept_hidden_of_good(
        &self,
        actor: &Actor,
        deployment: &str,
    ) -> Result<BTreeMap<String, Value>> {
        self.hidden_under(actor, &good_parameters_name(deployment))
            .await
    }

    async fn keep_hidden_of_good(
        &self,
        actor: &Actor,
        deployment: &str,
        hidden: &BTreeMap<String, Value>,
    ) -> Result<()> {
        self.vault(actor)
            .put(&good_parameters_name(deployment), &to_json(hidden))
            .await
            .map(drop)
            .map_err(from_vault)
    }

    async fn hidden_under(&self, actor: &Actor, name: &str) -> Result<BTreeMap<String, Value>> {
        let kept = self.vault(actor).get(name).await.map_err(from_vault)?;
        kept.map(|text| from_json(&text))
            .transpose()
            .map(Option::unwrap_or_default)
            .map_err(Error::storage("reading hidden parameters"))
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

fn plan_with(
    document: &Document,
    bundle: &Bundle,
    parameters: &BTreeMap<String, Value>,
    deployed: &Deployed,
    cloud: &CloudFacts,
    types: &Registry,
) -> Plan {
    topology::plan::plan(&PlanInput {
        document,
        bundle,
        parameters,
        deployed,
        types,
        cloud,
    })
}

/// Types of what will be there and of what is there.
fn types_of<'w>(workflow: &'w Workflow, there: &'w [ResourceRow]) -> BTreeSet<&'w str> {
    let planned = workflow.resources.values();
    planned
        .chain(there.iter().map(|row| &row.spec))
        .map(|spec| spec.resource_type.as_str())
        .collect()
}

/// The workflow of a plan without errors.
fn accepted(plan: Plan) -> Result<Workflow> {
    match plan.workflow {
        Some(workflow)
            if !plan
                .diagnostics
                .iter()
                .any(|found| found.severity == Severity::Error) =>
        {
            Ok(workflow)
        }
        _ => Err(Error::Refused(plan.diagnostics)),
    }
}

/// Copies take their names back, and what is known of removed copies goes: their names may come again.
async fn take_back(
    connection: &mut SqliteConnection,
    deployment: &str,
    workflow: &Workflow,
) -> Result<()> {
    let doing = "taking back copies";
    sqlx::query(
        "DELETE FROM resources WHERE deployment = ? AND state = 'deleted' AND name LIKE '%@%'",
    )
    .bind(deployment)
    .execute(&mut *connection)
    .await
    .map_err(Error::storage(doing))?;
    for (name, copy) in &workflow.restores {
        let aside = format!("{copy}@");
        for (from, to) in [(name, &aside), (copy, name), (&aside, copy)] {
            sqlx::query("UPDATE resources SET name = ? WHERE deployment = ? AND name = ?")
                .bind(to)
                .bind(deployment)
                .bind(from)
                .execute(&mut *connection)
                .await
                .map_err(Error::storage(doing))?;
        }
    }
    Ok(())
}

/// What was given last counts where nothing is given now.
fn with_stored(row: &DeploymentRow, given: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut all = row.parameters.clone();
    all.extend(given.clone());
    all
}

/// And what environments say where a person said nothing.
fn with_environments(
    document: &Document,
    bundle: &Bundle,
    given: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    Merged::of(bundle, document.template()).parameters(document.template(), given)
}

/// Values of hidden parameters: what was given, else what is kept, else the default.
fn hidden_values(
    template: &Template,
    given: &BTreeMap<String, Value>,
    kept: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let mut values = defaults(template, |hidden| hidden);
    for known in [kept, given] {
        let (_, hidden) = divide(template, known);
        values.extend(hidden);
    }
    values
}

fn from_vault(error: crate::driver::DriverError) -> Error {
    match error {
        crate::driver::DriverError::Cloud(error) => Error::Cloud(error),
        other => Error::NotNow(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hidden_value_is_what_was_given_else_what_is_kept_else_the_default() {
        let document = Document::parse(
            "heat_template_version: 2021-04-16
parameters:
  given: {type: string, hidden: true, default: d}
  kept: {type: string, hidden: true, default: d}
  neither: {type: string, hidden: true, default: d}
  nothing: {type: string, hidden: true}
  open: {type: string, default: d}
",
        );
        let values = |all: &[(&str, &str)]| {
            all.iter()
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect::<BTreeMap<_, _>>()
        };
        assert_eq!(
            hidden_values(
                document.template(),
                &values(&[("given", "new"), ("open", "seen")]),
                &values(&[
                    ("given", "old"),
                    ("kept", "old"),
                    ("of another template", "x")
                ]),
            ),
            values(&[("given", "new"), ("kept", "old"), ("neither", "d")])
        );
    }
}
