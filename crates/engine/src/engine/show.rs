//! Reads deployments and runs for the API.

use std::{collections::BTreeMap, sync::Arc};

use api::{Deployment, DeploymentState, OutputValue, Run, Service};
use store::{DeploymentRow, Page, ResourceRow};

use super::{Engine, outputs::Outputs, services::services};
use crate::{Actor, Result, Tenant, catalog::is_software, secrets::attributes};

impl Engine {
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
        let groups = self.show_groups(&row, &resources).await?;
        let items = self.items_in_use(tenant, id, &resources).await?;
        let row = Arc::new(row);
        let services = self.services(&row, &resources).await?;
        let is_there = row.shown.state != DeploymentState::Undeployed;
        let outputs = if is_there && !row.outputs.is_empty() {
            self.outputs(&row, resources, actor).await?
        } else {
            BTreeMap::new()
        };
        let permission = self.core.store.permission_find(tenant, id).await?;
        Ok(Deployment {
            resources: shown,
            groups,
            services,
            items,
            outputs,
            permission: permission.map(|row| row.given),
            ..Arc::unwrap_or_clone(row).shown
        })
    }

    async fn services(
        &self,
        row: &Arc<DeploymentRow>,
        resources: &[ResourceRow],
    ) -> Result<Vec<Service>> {
        let mut types = resources.iter().map(|one| &one.spec.resource_type);
        if !types.any(|resource_type| is_software(resource_type)) {
            return Ok(Vec::new());
        }
        let id = &row.shown.id;
        let catalog = self.catalog_for(&row.tenant, Some(id)).await?;
        let resources = attributes::open(&self.core.keys, id, resources.to_vec());
        let stored = row.clone();
        let work = move || services(&stored, resources, &catalog);
        self.compute(&row.tenant, work).await
    }

    async fn outputs(
        &self,
        row: &Arc<DeploymentRow>,
        resources: Vec<ResourceRow>,
        actor: Option<&Actor>,
    ) -> Result<BTreeMap<String, OutputValue>> {
        let resources = attributes::open(&self.core.keys, &row.shown.id, resources);
        let stored = row.clone();
        let work = move || Outputs::of(stored, resources);
        let mut outputs = self.compute(&row.tenant, work).await?;
        // While a run is active, its stored attributes are up to date.
        if let Some(actor) = actor
            && row.shown.state != DeploymentState::Busy
        {
            let patience = self.core.config.read_patience;
            outputs.read(actor, self.vault(actor), patience).await;
        }
        self.compute(&row.tenant, move || outputs.resolve()).await
    }

    pub(super) async fn show_runs(
        &self,
        tenant: &Tenant,
        deployment: &str,
        page: Page,
    ) -> Result<Vec<Run>> {
        self.deployment_row(tenant, deployment).await?;
        Ok(self.core.store.run_list(tenant, deployment, page).await?)
    }
}
