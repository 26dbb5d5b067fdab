//! Checks at an interval while nobody is logged in, with the standing permissions of deployments.

use api::{Check, DeploymentState, RepairRequest};
use jiff::Timestamp;
use store::PermissionRow;

use super::{Engine, permission::PermittedAction};
use crate::{Actor, Error, Result, Tenant};

/// A check that is due. This server alone carries it out.
#[derive(Debug)]
pub struct DueCheck(PermissionRow);

/// The result of a check that was due.
pub struct PermittedCheck {
    /// The user who gave the permission.
    pub actor: Actor,
    /// The result.
    pub check: Check,
    /// The command by which the check has software configured without servers that are gone, if it has begun one.
    pub command: Option<String>,
    /// The repair of the findings, for [`Engine::repair`]. `None` if there is nothing to repair, or it is not permitted.
    pub repair: Option<RepairRequest>,
}

impl DueCheck {
    /// The deployment's project.
    pub fn tenant(&self) -> &Tenant {
        &self.0.tenant
    }

    /// Id of the deployment.
    pub fn deployment(&self) -> &str {
        &self.0.deployment
    }
}

impl Engine {
    /// Claims the checks that are due now. Destroys the secrets of permissions that have ended by then.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn take_due_checks(&self, now: Timestamp) -> Result<Vec<DueCheck>> {
        self.core.check_running()?;
        let operator = &self.core.operator;
        let ended = operator.permission_end_expired(now).await?;
        if ended > 0 {
            tracing::info!(ended, "standing permissions have ended");
        }
        let due = operator.permission_take_checks(now).await?;
        Ok(due.into_iter().map(DueCheck).collect())
    }

    /// Carries out a check that is due. `None` if a run or another check is active on the deployment: then the next one
    /// finds what there is.
    ///
    /// A failed deployment is not repaired, so that a repair that fails is not repeated for ever.
    ///
    /// # Errors
    /// If the permission has ended meanwhile, or the cloud does not accept it.
    pub async fn check_with_permission(&self, due: &DueCheck) -> Result<Option<PermittedCheck>> {
        let (tenant, deployment) = (&due.0.tenant, due.deployment());
        let permission = self
            .permission_for(tenant, deployment, PermittedAction::Check)
            .await?;
        let row = self.live_row(tenant, deployment).await?;
        if let Err(Error::Busy(_)) = self.check_idle(&row).await {
            return Ok(None);
        }
        let actor = self.log_in_with(&permission).await?;
        let check = match self.check_deployment(&actor, deployment).await {
            Err(Error::Busy(_) | Error::NotPossibleNow(_)) => return Ok(None),
            checked => checked?,
        };
        let is_whole = row.shown.state == DeploymentState::Deployed;
        let repairs = permission.given.may.repair && is_whole && check.has_damage();
        let repair = repairs.then(|| RepairRequest {
            check: check.id.clone(),
            ..RepairRequest::default()
        });
        let run_of = |check: &Check| check.following.as_ref().map(|it| it.run.clone());
        let before = row.shown.present_check().and_then(run_of);
        let command = run_of(&check).filter(|run| Some(run) != before.as_ref());
        Ok(Some(PermittedCheck {
            actor,
            check,
            command,
            repair,
        }))
    }

    /// Notes with the permission of a check why it, or the repair of what it found, failed.
    pub async fn note_failed_check(&self, due: &DueCheck, error: &Error) {
        self.note_use(&due.0, Some(error)).await;
    }
}
