//! Reads deployments and runs for the API.

use std::{collections::BTreeMap, sync::Arc};

use api::{Deployment, DeploymentState, OutputValue, Plan, Run, RunContent, Service, Stray};
use store::{DeploymentRow, Page, ResourceRow};

use super::{Engine, outputs::Outputs, services::services, suspension::not_suspended};
use crate::{Actor, Error, Result, Tenant, catalog::is_software, secrets::attributes};

impl Engine {
    /// A page of the project's deployments, newest first, including undeployed ones.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn deployments(&self, tenant: &Tenant, page: Page) -> Result<Vec<Deployment>> {
        Ok(self.core.store.deployment_list(tenant, page).await?)
    }

    /// A deployment with its resources, and with outputs whose attributes are read from the cloud now, with this user's
    /// session.
    ///
    /// While a run is active, and if the cloud does not respond in time, the stored attributes are used.
    ///
    /// # Errors
    /// If there is no such deployment.
    pub async fn deployment_now(&self, actor: &Actor, id: &str) -> Result<Deployment> {
        self.show(&actor.tenant, id, Some(actor)).await
    }

    /// A deployment with its resources, and with outputs from stored attributes.
    ///
    /// # Errors
    /// If there is no such deployment.
    pub async fn deployment(&self, tenant: &Tenant, id: &str) -> Result<Deployment> {
        self.show(tenant, id, None).await
    }

    /// Resources in the cloud with the deployment's marker that are in none of its records. Searches every service in
    /// which the deployment ever began to create something.
    ///
    /// # Errors
    /// If there is no such deployment, or a service cannot be searched.
    pub async fn strays(&self, actor: &Actor, deployment: &str) -> Result<Vec<Stray>> {
        self.find_strays(actor, deployment).await
    }

    /// A page of the runs of a deployment, newest first.
    ///
    /// # Errors
    /// If there is no such deployment.
    pub async fn runs(&self, tenant: &Tenant, deployment: &str, page: Page) -> Result<Vec<Run>> {
        self.deployment_row(tenant, deployment).await?;
        Ok(self.core.store.run_list(tenant, deployment, page).await?)
    }

    /// A run with its steps.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn run(&self, tenant: &Tenant, id: &str) -> Result<Run> {
        let row = self.run_row(tenant, id).await?;
        self.show_run(tenant, row).await
    }

    /// The content that a run was started with.
    ///
    /// # Errors
    /// If there is no such run, or its content is not kept any more.
    pub async fn run_content(&self, tenant: &Tenant, id: &str) -> Result<RunContent> {
        let content = self.core.store.run_content(tenant, id).await?;
        content.ok_or_else(|| Error::NotFound {
            what: "content of the run",
            id: id.to_owned(),
        })
    }

    /// The plan that a run carries out: its changes and its workflow, as accepted at its start.
    ///
    /// # Errors
    /// If there is no such run, if it has no plan, as a command, or if it is older than the storing of plans.
    pub async fn run_plan(&self, tenant: &Tenant, id: &str) -> Result<Plan> {
        let row = self.run_row(tenant, id).await?;
        let changes = self.core.store.run_changes(tenant, id).await?;
        let changes = changes.ok_or_else(|| Error::NotFound {
            what: "plan of the run",
            id: id.to_owned(),
        })?;
        Ok(Plan {
            changes,
            workflow: Some(row.workflow()?),
            ..Plan::default()
        })
    }

    /// Shows a deployment. With an actor, the attributes in outputs are read from the cloud.
    async fn show(&self, tenant: &Tenant, id: &str, actor: Option<&Actor>) -> Result<Deployment> {
        let row = self.deployment_row(tenant, id).await?;
        let resources = self.core.store.resource_list(tenant, id).await?;
        let is_awake = not_suspended(&row, &resources).is_ok();
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
            can_roll_back: row.shown.can_roll_back && is_awake,
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
        let catalog = self.catalog_for(&row.tenant, id).await?;
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
        let catalog = self.catalog_for(&row.tenant, &row.shown.id).await?;
        let stored = row.clone();
        let work = move || Outputs::of(stored, resources, catalog);
        let mut outputs = self.compute(&row.tenant, work).await?;
        // While a run is active, its stored attributes are up to date.
        if let Some(actor) = actor
            && row.shown.state != DeploymentState::Running
        {
            let patience = self.core.config.read_patience;
            let share = self.core.page_requests.share(&row.tenant);
            let read = outputs.read(actor, self.vault(actor), patience, share);
            read.await;
        }
        self.compute(&row.tenant, move || outputs.resolve()).await
    }
}
