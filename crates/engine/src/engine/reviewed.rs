//! A change is carried out only if its plan is the one that its user has reviewed.
//!
//! The plan is made again as it was shown, from the present facts, and the digests are compared. Between this plan and the
//! one that is carried out, facts and template are the same, and the deployment's row is locked by its newest run.

use api::Plan;

use super::{Changes, Engine, Hidden, NewDeployment, Preview};
use crate::{Actor, Error, Result};

impl NewDeployment {
    /// The input of the plan that is shown for this deployment.
    pub(super) fn preview(&self) -> Preview {
        Preview {
            template: self.template.clone(),
            bundle: Some(self.bundle.clone()),
            parameters: self.parameters.clone(),
            cloud: self.cloud.clone(),
            hidden: Hidden::Compared,
            versions: self.versions.clone(),
            ..Preview::default()
        }
    }
}

impl Changes {
    /// The input of the plan that is shown for this update.
    pub(super) fn preview(&self) -> Preview {
        Preview {
            template: self.template.clone(),
            bundle: self.bundle.clone(),
            parameters: self.parameters.clone(),
            cloud: self.cloud.clone(),
            hidden: Hidden::Compared,
            groups: self.groups.clone(),
            repairs: self.repairs,
            versions: self.versions.clone(),
            rolls_back: self.rolls_back,
        }
    }
}

impl Engine {
    /// Plans again, and refuses if the changes are not those of the reviewed digest.
    pub(super) async fn check_reviewed(
        &self,
        actor: &Actor,
        deployment: Option<&str>,
        preview: Preview,
        digest: &str,
    ) -> Result<()> {
        let plan = self.plan_for(actor, preview, deployment).await?;
        check_digest(&plan, digest)
    }
}

/// Refuses a plan with another digest, or without one: it has errors, which say more.
pub(super) fn check_digest(plan: &Plan, reviewed: &str) -> Result<()> {
    match plan.digest.as_deref() {
        Some(present) if present == reviewed => Ok(()),
        Some(_) => Err(Error::PlanChanged),
        None => Err(Error::Refused(plan.diagnostics.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_the_reviewed_one_only_by_its_digest() {
        let plan = |digest: Option<&str>| Plan {
            digest: digest.map(str::to_owned),
            ..Plan::default()
        };
        assert!(check_digest(&plan(Some("a")), "a").is_ok());
        let changed = check_digest(&plan(Some("b")), "a");
        assert!(matches!(changed, Err(Error::PlanChanged)), "{changed:?}");
        let without = check_digest(&plan(None), "a");
        assert!(matches!(without, Err(Error::Refused(_))), "{without:?}");
    }
}
