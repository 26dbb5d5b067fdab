//! The context that the steps of a run share, from the journal and a user's session.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::RunKind;
use openstack::Session;
use planner::workflow::Workflow;
use serde_json::Value;
use store::{DeploymentRow, RunRow};
use tokio::sync::Mutex;

use super::{
    origin,
    parameters::{hidden_names, parameters},
};
use crate::{
    Result, Tenant,
    catalog::Catalog,
    journal::RunJournal,
    resources::ResourceTable,
    secrets::{
        CommandContent, Mask, RunSecrets, RunVault, attributes, hidden_parameters::HiddenParameters,
    },
    shared::Core,
    ssh::Gateway,
};

/// The context that all steps of a run share. A new login creates a new one.
pub struct RunContext {
    pub core: Arc<Core>,
    /// The deployment's catalogue, with its versions of the items.
    pub catalog: Arc<Catalog>,
    pub tenant: Tenant,
    pub run: String,
    pub journal: RunJournal,
    pub kind: RunKind,
    pub deployment: String,
    pub deployment_name: String,
    /// True for a roll-back to the last good state.
    pub is_rollback: bool,
    pub workflow: Arc<Workflow>,
    pub known: Arc<ResourceTable>,
    pub session: Session,
    pub vault: RunVault,
    /// All parameter values, hidden ones included.
    pub parameters: BTreeMap<String, Value>,
    /// Names of the hidden parameters.
    pub hidden: BTreeSet<String>,
    /// The content of the command, if the run is one.
    pub command: Option<Box<CommandContent>>,
    pub mask: Arc<Mask>,
    /// The connection to the bastion, shared by the checks.
    pub gateway: Gateway,
    /// Held while a step of a command reads the known resources again.
    pub rereads: Mutex<()>,
}

impl RunContext {
    /// The deployment's hidden parameters in the vault.
    pub fn hidden_parameters(&self) -> HiddenParameters<'_> {
        HiddenParameters {
            store: &self.core.store,
            vault: &self.vault,
            tenant: &self.tenant,
            deployment: &self.deployment,
        }
    }
}

/// Masks the secret attributes of resources.
pub fn mask_attributes(mask: &Mask, known: &ResourceTable) {
    for (_, entry) in known.with_copies() {
        let driver = drivers::driver_for(&entry.spec.resource_type);
        let attributes = entry.attributes.iter();
        attributes
            .filter(|(name, _)| origin::is_masked(driver, name))
            .for_each(|(_, value)| mask.add_value(value));
    }
}

/// The input of a [`RunContext`].
pub struct Opening<'a> {
    /// The engine's core.
    pub core: &'a Arc<Core>,
    /// The run.
    pub run: &'a RunRow,
    /// Deployment of the run.
    pub deployment: &'a DeploymentRow,
    /// The session of the run's user.
    pub session: Session,
    /// The user's secrets for the run.
    pub secrets: &'a RunSecrets,
    /// The known resources. Read from the journal if `None`.
    pub known: Option<Arc<ResourceTable>>,
}

impl Opening<'_> {
    /// Opens the context.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn run_context(self) -> Result<RunContext> {
        let Opening {
            core,
            run,
            deployment,
            session,
            secrets,
            known,
        } = self;
        let known = match known {
            Some(known) => known,
            None => {
                let id = &deployment.shown.id;
                let rows = core.store.resource_list_all(&run.tenant, id).await?;
                let known = ResourceTable::of(attributes::open(&core.keys, id, rows));
                let last = core.store.creation_last_incarnations(&run.tenant, id);
                Arc::new(known.with_incarnations(last.await?))
            }
        };
        let mask = Mask::default();
        mask.add(&secrets.token);
        secrets
            .parameters
            .values()
            .for_each(|value| mask.add_value(value));
        mask_attributes(&mask, &known);
        let vault = RunVault::new(
            session.clone(),
            core.store.clone(),
            run.tenant.clone(),
            secrets.vault_key(),
        );
        Ok(RunContext {
            core: core.clone(),
            catalog: core
                .catalogs
                .of_deployment(&run.tenant, &deployment.shown.id)
                .await?,
            tenant: run.tenant.clone(),
            run: run.shown.id.clone(),
            journal: core.journal.of(&run.tenant, &run.shown.id, run.fence),
            kind: run.shown.kind,
            deployment: deployment.shown.id.clone(),
            deployment_name: deployment.shown.name.clone(),
            is_rollback: run.shown.rolls_back,
            workflow: Arc::new(run.workflow()?),
            known,
            session,
            vault,
            parameters: parameters(deployment, &secrets.parameters),
            hidden: hidden_names(deployment, &secrets.parameters),
            command: secrets.command.clone(),
            mask: Arc::new(mask),
            gateway: Gateway::default(),
            rereads: Mutex::default(),
        })
    }
}
