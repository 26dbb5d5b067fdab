//! Reads deployments and runs for the API.

use std::collections::BTreeMap;

use api::{Beside, Deployment, DeploymentState, Run};

use super::{Engine, outputs::Outputs};
use crate::{Actor, Result, Tenant, secrets::attributes};

impl Engine {
    pub(super) async fn show_deployments(&self, tenant: &Tenant) -> Result<Vec<Deployment>> {
        let rows = self.core.store.deployment_list(tenant).await?;
        Ok(rows
            .into_iter()
            .map(|row| Deployment {
                template: String::new(),
                beside: Beside::nothing(),
                ..row.shown
            })
            .collect())
    }

    pub(super) async fn show_deployment(&self, tenant: &Tenant, id: &str) -> Result<Deployment> {
        self.show(tenant, id, None).await
    }

    pub(super) async fn show_deployment_now(&self, actor: &Actor, id: &str) -> Result<Deployment> {
        self.show(&actor.tenant, id, Some(actor)).await
    }

    /// With an actor, the attributes in outputs are read from the cloud.
    async fn show(&self, tenant: &Tenant, id: &str, actor: Option<&Actor>) -> Result<Deployment> {
        let row = self.deployment_row(tenant, id).await?;
        let resources = self.core.store.resource_list(tenant, id).await?;
        let shown = resources.iter().map(|resource| resource.shown()).collect();
        let outputs = match row.shown.state {
            DeploymentState::Undeployed => BTreeMap::new(),
            state => {
                let mut outputs =
                    Outputs::of(&row, attributes::open(&self.core.key, id, resources));
                // While a run is active, its stored attributes are up to date.
                if let Some(actor) = actor
                    && state != DeploymentState::Busy
                {
                    let patience = self.core.config.read_patience;
                    outputs.read(actor, self.vault(actor), patience).await;
                }
                outputs.resolve()
            }
        };
        Ok(Deployment {
            resources: shown,
            outputs,
            ..row.shown
        })
    }

    pub(super) async fn show_runs(&self, tenant: &Tenant, deployment: &str) -> Result<Vec<Run>> {
        self.deployment_row(tenant, deployment).await?;
        let rows = self.core.store.run_list(tenant, deployment).await?;
        Ok(rows.into_iter().map(|row| row.shown).collect())
    }
}
