//! Showing what is there.

use std::collections::BTreeMap;

use api::{Beside, Deployment, DeploymentState, OutputValue, Run};

use super::Engine;
use crate::{
    Result, Tenant,
    journal::DeploymentRow,
    run::{Known, parameters},
    secrets::kept,
};

impl Engine {
    pub(super) async fn show_deployments(&self, tenant: &Tenant) -> Result<Vec<Deployment>> {
        let rows = self.core.journal.deployments(tenant).await?;
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
        let row = self.deployment_row(tenant, id).await?;
        let resources = self.core.journal.resources(id).await?;
        let shown = resources.iter().map(|resource| resource.shown()).collect();
        let outputs = match row.shown.state {
            DeploymentState::Undeployed => BTreeMap::new(),
            _ => outputs(&row, &Known::of(kept::open(&self.core.key, id, resources))),
        };
        Ok(Deployment {
            resources: shown,
            outputs,
            ..row.shown
        })
    }

    pub(super) async fn show_runs(&self, tenant: &Tenant, deployment: &str) -> Result<Vec<Run>> {
        self.deployment_row(tenant, deployment).await?;
        let rows = self.core.journal.runs(tenant, deployment).await?;
        Ok(rows.into_iter().map(|row| row.shown).collect())
    }
}

/// Resolved from what is stored. Hidden parameters are not here, so what hangs on one says so.
fn outputs(row: &DeploymentRow, known: &Known) -> BTreeMap<String, OutputValue> {
    let values = parameters(row, &BTreeMap::new());
    let scope = known.scope(&values);
    let resolved = row.outputs.iter().map(|(name, output)| {
        let (value, error) = match output.value.resolve(&scope) {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error.to_string())),
        };
        (
            name.clone(),
            OutputValue {
                description: output.description.clone(),
                value,
                error,
            },
        )
    });
    resolved.collect()
}
