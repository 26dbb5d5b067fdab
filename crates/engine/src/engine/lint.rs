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
/// Maximum size of the linter's output in bytes: a role can have plugins, which the linter runs.
const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// Size of a line in memory besides its text, in bytes.
const LINE_BYTES: usize = 64;

impl Engine {
    /// The linter's findings on a version of an item, which can be a draft, or on its newest version.
    ///
    /// # Errors
    /// If the version does not exist, or the linter cannot run.
    pub async fn lint(
        &self,
        tenant: &Tenant,
        name: &str,
        version: Option<&str>,
    ) -> Result<Vec<LintFinding>> {
        let files = match version {
            Some(version) => {
                let item = self.item_version(tenant, name, version).await?;
                item.read_files().await?
            }
            None => self.item_files(tenant, name).await?,
        };
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
        let stop = CancellationToken::new();
        let mut output = Output::new(stop.clone());
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
        if output.is_full() {
            let most = OUTPUT_BYTES_MAX >> 20;
            return Err(unavailable(format!(
                "wrote more than {most} MiB, so it was stopped; see what the role's plugins do"
            )));
        }
        ended.map_err(|error| unavailable(format!("did not run: {error}")))?;
        lint::findings(name, &output.lines).ok_or_else(|| {
            let last = output
                .lines
                .last()
                .map_or("it wrote nothing", String::as_str);
            unavailable(format!("failed: {last}"))
        })
    }
}

/// The linter's output, up to a size. Above it, the linter is stopped.
struct Output {
    lines: Vec<String>,
    bytes: usize,
    stop: CancellationToken,
}

impl Output {
    fn new(stop: CancellationToken) -> Output {
        Output {
            lines: Vec::new(),
            bytes: 0,
            stop,
        }
    }

    fn is_full(&self) -> bool {
        self.bytes > OUTPUT_BYTES_MAX
    }
}

#[async_trait]
impl LineSink for Output {
    async fn lines(&mut self, lines: Vec<String>) {
        for line in lines {
            self.bytes = self.bytes.saturating_add(line.len() + LINE_BYTES);
            if self.is_full() {
                self.stop.cancel();
                return;
            }
            self.lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_linter_that_writes_without_end_is_stopped() {
        let stop = CancellationToken::new();
        let mut output = Output::new(stop.clone());
        output.lines(vec!["[]".to_owned(); 1000]).await;
        assert_eq!((output.lines.len(), stop.is_cancelled()), (1000, false));
        for _ in 0..100 {
            output.lines(vec![String::new(); 10_000]).await;
        }
        assert!(output.is_full() && stop.is_cancelled());
        let held = output.lines.len() * LINE_BYTES;
        assert!(held <= OUTPUT_BYTES_MAX, "{held}");
    }
}
