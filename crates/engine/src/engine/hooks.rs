//! Hooks at which runs wait for a person.

use planner::workflow::StepKind;
use store::{Outcome, Tenant};

use super::Engine;
use crate::{Error, Result};

impl Engine {
    /// Releases a run that waits at a hook. It does so within a second.
    ///
    /// # Errors
    /// If the run has no such hook, or does not wait at it.
    pub async fn release_hook(&self, tenant: &Tenant, run: &str, step: &str) -> Result<()> {
        let row = self.run_row(tenant, run).await?;
        let workflow = row.workflow()?;
        let mut hooks = workflow.steps.iter();
        if !hooks.any(|one| one.id == step && one.kind == StepKind::Hook) {
            return Err(Error::NotFound {
                what: "hook",
                id: step.to_owned(),
            });
        }
        match self.core.store.step_release(tenant, run, step).await? {
            Outcome::Done => Ok(()),
            Outcome::Conflict => Err(Error::NotPossibleNow(format!(
                "the run does not wait at `{step}` now"
            ))),
        }
    }
}
