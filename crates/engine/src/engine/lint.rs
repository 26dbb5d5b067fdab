//! Ansible's linter on an item, in a sandbox.

use std::time::Duration;

use api::LintFinding;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use types::catalog::recipe::Recipe;

use super::{Engine, catalog::files_of};
use crate::{
    Error, Result, Tenant,
    catalog::{Files, lint},
    sandbox::LineSink,
};

/// Time limit of the linter, with its wait for a sandbox.
const TIME_MAX: Duration = Duration::from_secs(60);

impl Engine {
    /// The linter's findings on the newest version of an item.
    ///
    /// # Errors
    /// If the item does not exist, or the linter cannot run.
    pub async fn lint(&self, tenant: &Tenant, name: &str) -> Result<Vec<LintFinding>> {
        let files = self.item_files(tenant, name).await?;
        self.lint_files(tenant, name, &files).await
    }

    /// The linter's findings on the role of a recipe that is not published yet.
    ///
    /// # Errors
    /// If the recipe has problems, or the linter cannot run.
    pub async fn lint_recipe(&self, tenant: &Tenant, recipe: &Recipe) -> Result<Vec<LintFinding>> {
        let files = files_of(recipe)?;
        self.lint_files(tenant, &recipe.name, &files).await
    }

    async fn lint_files(
        &self,
        tenant: &Tenant,
        name: &str,
        files: &Files,
    ) -> Result<Vec<LintFinding>> {
        self.core.check_running()?;
        let job = lint::job(name, files);
        let mut output = Output::default();
        let stop = CancellationToken::new();
        let sandboxes = &self.core.sandboxes;
        let executed = async {
            let project = format!("{}/{}", tenant.cloud, tenant.project_id);
            let slot = sandboxes.slot(&project).await;
            sandboxes.execute(slot, &job, &stop, &mut output).await
        };
        let ended = tokio::time::timeout(TIME_MAX, executed).await;
        let unavailable = |why: String| Error::Unavailable(format!("the linter {why}"));
        let late = |_| unavailable(format!("did not end within {} s", TIME_MAX.as_secs()));
        let ended = ended.map_err(late)?;
        ended.map_err(|error| unavailable(format!("did not run: {error}")))?;
        lint::findings(name, &output.0).ok_or_else(|| {
            let last = output.0.last().map_or("it wrote nothing", String::as_str);
            unavailable(format!("failed: {last}"))
        })
    }
}

#[derive(Default)]
struct Output(Vec<String>);

#[async_trait]
impl LineSink for Output {
    async fn lines(&mut self, lines: Vec<String>) {
        self.0.extend(lines);
    }
}
