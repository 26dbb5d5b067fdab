//! Hooks: steps that wait until a person releases the run.
//!
//! The release is a mark in the step's row. So any server can receive it, and a run that is taken up again after a crash
//! waits further, or continues.

use std::time::Duration;

use super::{
    outcome::Ended,
    step::{Attempt, StepResult},
};

/// Longest pause between two looks at the mark.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Attempt {
    /// Waits for the release.
    pub(super) async fn hook(&self) -> StepResult {
        let run_context = &self.run_context;
        let (tenant, run) = (&run_context.tenant, run_context.run.as_str());
        let store = &run_context.core.store;
        let name = self.name()?;
        let message = format!("Waiting at a hook of `{name}` until a user continues the run");
        self.log.info(message).await;
        let pause = run_context.core.config.poll_longest.min(LOOK_EVERY);
        loop {
            // During an outage of the database the run waits further.
            match store.step_is_released(tenant, run, &self.step.id).await {
                Ok(true) => return Ok(()),
                Err(error) if !error.is_transient() => {
                    return Err(Ended::lasting(error.to_string()));
                }
                Ok(false) | Err(_) => self.pause(pause).await?,
            }
        }
    }
}
