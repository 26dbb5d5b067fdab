//! An update: from the existing resources to a template.

use std::collections::BTreeMap;

use api::{CloudFacts, OnFailure, RunKind, Started, TemplateFiles};
use hot::{document::Document, merged::Merged};
use planner::{deployed::Damage, plan::Deployed};
use serde_json::Value;
use store::{DeploymentContent, DeploymentRow, ResourceRow};

use super::{
    Changes, Engine, RollBack,
    begin::{Planned, accepted, beside, check_quota, plan_with, types_of},
    check, compare,
    hidden::{
        StoredHidden, hidden_values, stored_bundle, with_environments, with_stored,
        without_overridden,
    },
    start::NewRun,
};
use crate::{
    Actor, Result,
    catalog::Catalog,
    run::{divide, pseudo_parameters},
    secrets::{RunSecrets, attributes},
};

/// The data that an update stores.
struct Update<'a> {
    changes: &'a Changes,
    beside: TemplateFiles,
    /// Values of parameters that are not hidden.
    open: BTreeMap<String, Value>,
    /// The name of the secret with the values of hidden parameters.
    hidden: Option<&'a str>,
    /// The catalogue that the plan used.
    catalog: &'a Catalog,
    /// The resources that existed when the plan was made.
    there: &'a [ResourceRow],
    run: NewRun<'a>,
}

/// The stored state of a deployment that a plan changes.
pub(super) struct Stored {
    pub row: DeploymentRow,
    /// `None` if the key manager did not respond.
    pub stored_hidden: Option<StoredHidden>,
    /// Hidden parameters of the last good state. `None` unless the change rolls back to it.
    pub good_hidden: Option<BTreeMap<String, Value>>,
    pub there: Vec<ResourceRow>,
}

impl Changes {
    /// An update to the present content of a deployment.
    pub(super) fn unchanged(row: &DeploymentRow, cloud: CloudFacts) -> Changes {
        let shown = &row.shown;
        Changes {
            template: shown.template.clone(),
            layout: shown.layout.clone(),
            design: shown.design.clone(),
            design_version: shown.design_version,
            cloud,
            base_run: shown.last_run.clone(),
            ..Changes::default()
        }
    }
}

/// The damage that the last check has found, if the change repairs it.
pub(super) fn damage_if(repairs: bool, row: &DeploymentRow) -> BTreeMap<String, Damage> {
    if repairs {
        check::damage(row)
    } else {
        BTreeMap::new()
    }
}

impl Engine {
    /// Hidden parameters of the last good state, for a roll-back to it.
    pub(super) async fn good_hidden(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        rolls_back: Option<RollBack>,
    ) -> Result<Option<BTreeMap<String, Value>>> {
        match rolls_back {
            Some(RollBack::LastGood) => Ok(Some(self.roll_back_hidden(actor, row).await?)),
            Some(RollBack::EarlierRun) | None => Ok(None),
        }
    }

    /// True if a hidden parameter has the value of a stored digest. Parameters without a stored value are not compared.
    pub(super) fn is_same<'a>(
        &'a self,
        deployment: &'a str,
        values: &'a BTreeMap<String, Value>,
    ) -> impl Fn(&str, &str) -> bool + 'a {
        move |parameter, digest| {
            let value = values.get(parameter);
            value.is_none_or(|value| {
                attributes::may_match(&self.core.keys, deployment, parameter, value, digest)
            })
        }
    }

    pub(super) async fn begin_update(
        &self,
        actor: &Actor,
        deployment: &str,
        changes: Changes,
    ) -> Result<Started> {
        self.core.check_running()?;
        let row = self.row_to_update(actor, deployment, &changes).await?;
        let stored = Stored {
            stored_hidden: Some(self.stored_hidden_or_lost(actor, &row).await?),
            good_hidden: self.good_hidden(actor, &row, changes.rolls_back).await?,
            there: self.versioned_resources(&actor.tenant, deployment).await?,
            row,
        };
        let kept = || stored.row.shown.beside.bundle();
        let texts = (
            changes.template.as_str(),
            changes.bundle.clone().unwrap_or_else(kept),
        );
        let catalog = self
            .catalog_of_template(&actor.tenant, Some(deployment), texts, &changes.versions)
            .await?;
        let (engine, types) = (self.clone(), catalog.clone());
        let work = move || {
            let planned = engine.planned(&changes, &stored, &types)?;
            Ok((planned, changes, stored))
        };
        let computed: Result<_> = self.compute(&actor.tenant, work).await?;
        let (planned, changes, stored) = computed?;
        self.begin_planned(actor, planned, &changes, &stored, &catalog)
            .await
    }

    /// The row of a deployment that can be updated now. Refuses an update whose user has not seen the newest run, or has
    /// reviewed another plan.
    async fn row_to_update(
        &self,
        actor: &Actor,
        deployment: &str,
        changes: &Changes,
    ) -> Result<DeploymentRow> {
        let row = self.live_row(&actor.tenant, deployment).await?;
        if let Some(base) = &changes.base_run {
            self.is_based_on(&row, base).await?;
        }
        self.check_unchanging(&row).await?;
        self.check_not_suspended(&row).await?;
        if let Some(digest) = &changes.plan_digest {
            let checked = self.check_reviewed(actor, Some(deployment), changes.preview(), digest);
            Box::pin(checked).await?;
        }
        Ok(row)
    }

    /// Stores a planned update and starts its run.
    async fn begin_planned(
        &self,
        actor: &Actor,
        planned: Planned,
        changes: &Changes,
        stored: &Stored,
        catalog: &Catalog,
    ) -> Result<Started> {
        let Planned {
            workflow,
            changes: planned,
            hidden,
            open,
            beside,
        } = planned;
        let deployment = stored.row.shown.id.as_str();
        let stored_hidden = stored.stored_hidden.as_ref();
        let keeping = self
            .store_hidden(actor, deployment, &workflow, &hidden, stored_hidden)
            .await?;
        let secrets = RunSecrets::new(
            actor.session.token().expose(),
            hidden,
            actor.vault_key.as_ref(),
        );
        let roll_back = (changes.on_failure == OnFailure::Rollback).then_some(&changes.cloud);
        let stored_run = self
            .store_update(Update {
                changes,
                beside,
                open,
                hidden: keeping.name.as_deref(),
                catalog,
                there: &stored.there,
                run: NewRun {
                    seen: Some(&stored.row),
                    rolls_back: changes.rolls_back.is_some(),
                    roll_back,
                    scaling: changes.scaling.as_ref(),
                    changes: Some(planned),
                    ..NewRun::of(actor, deployment, RunKind::Update, workflow, secrets)
                },
            })
            .await;
        let run = self
            .start_and_clean_up(actor, deployment, &keeping, stored_run)
            .await?;
        Ok(Started {
            deployment: deployment.to_owned(),
            run,
        })
    }

    /// The plan of an update, if it has no errors.
    fn planned(&self, changes: &Changes, stored: &Stored, catalog: &Catalog) -> Result<Planned> {
        let Stored {
            row,
            stored_hidden,
            good_hidden,
            there,
        } = stored;
        let deployment = row.shown.id.as_str();
        let bundle = changes.bundle.clone();
        let bundle = bundle.unwrap_or_else(|| stored_bundle(row, &changes.parameters));
        let document = Document::parse(changes.template.clone());
        let given = if good_hidden.is_some() {
            changes.parameters.clone()
        } else {
            with_stored(row, &changes.parameters)
        };
        let (open, _) = divide(
            document.template(),
            &without_overridden(&document, &bundle, &given),
        );
        let requested = with_environments(&document, &bundle, &given);
        let nothing = BTreeMap::new();
        let hidden = match (good_hidden, stored_hidden) {
            (Some(good), _) => hidden_values(&document, &bundle, good, &requested),
            (None, Some(stored_hidden)) => {
                let before = Document::parse(row.shown.template.clone());
                let merged = Merged::of(&bundle, document.template());
                stored_hidden.check(before.template(), document.template(), &requested, &merged)?;
                hidden_values(&document, &bundle, &requested, &stored_hidden.values)
            }
            (None, None) => hidden_values(&document, &bundle, &requested, &nothing),
        };
        let mut all = given;
        all.extend(divide(document.template(), &hidden).1);
        let deployed = Deployed {
            parameters: row.parameters.clone(),
            hidden_changed: stored_hidden
                .as_ref()
                .map(|stored_hidden| stored_hidden.changed(&hidden))
                .unwrap_or_default(),
            stored_hidden: hidden.clone(),
            pseudo: pseudo_parameters(&row.shown.name, deployment, &row.tenant),
            groups: changes.groups.clone(),
            damage: damage_if(changes.repairs, row),
            upgrade_batch: changes.upgrade_batch,
            ..compare::deployed(there.clone(), self.is_same(deployment, &hidden))
        };
        let types = catalog.registry();
        let plan = plan_with(&document, &bundle, &all, &deployed, &changes.cloud, types);
        if !changes.despite_quota {
            check_quota(&plan)?;
        }
        let (workflow, changes) = accepted(plan)?;
        Ok(Planned {
            workflow,
            changes,
            hidden,
            open,
            beside: beside(&bundle, &document),
        })
    }

    /// Accepts the update: stores everything in one transaction, or nothing.
    async fn store_update(&self, update: Update<'_>) -> Result<String> {
        let Update {
            changes,
            beside,
            open,
            hidden,
            catalog,
            there,
            run,
        } = update;
        let (tenant, deployment) = (&run.actor.tenant, run.deployment);
        let types = types_of(&run.workflow, there);
        let catalogs = &self.core.catalogs;
        catalogs.keep_own(catalog, &types).await?;
        let mut transaction = self.core.store.begin("storing an update").await?;
        let content = DeploymentContent {
            template: &changes.template,
            beside: &beside,
            layout: &changes.layout,
            parameters: &open,
            outputs: &run.workflow.outputs,
            hidden,
            design: changes.design.as_deref(),
            design_version: changes.design_version,
        };
        transaction
            .deployment_update(tenant, deployment, content)
            .await?;
        // A run keeps the content that its deployment has now.
        let id = self.store_run(&mut transaction, &run).await?;
        if let Some(name) = hidden {
            transaction.hidden_keep(tenant, name).await?;
        }
        transaction
            .resource_restore_copies(tenant, deployment, &run.workflow.restores)
            .await?;
        catalogs
            .pin(&mut transaction, (tenant, deployment), catalog, &types)
            .await?;
        transaction.commit().await?;
        Ok(id)
    }
}
