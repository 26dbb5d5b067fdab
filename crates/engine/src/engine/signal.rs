//! Receives signals to resources. The sender has no login: the signature of the address is its permission.
//!
//! A signal to a policy scales its group with the standing permission of the deployment. Everything that needs no login
//! is checked first, so that a flood of signals costs the cloud nothing.

use api::{DeploymentState, ScaleRequest};
use hot::text::counted;
use planner::scaling::ScalingGroup;
use store::{SIGNALS_MAX, SignalOutcome, SignalTarget};

use super::{Engine, permission::PermittedAction, scale::groups};
use crate::{
    Actor, Error, Result,
    signals::{self, Alarm},
};

/// The kind of a resource that takes signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalReceiver {
    /// A wait condition handle, which stores them.
    Handle,
    /// A scaling policy, which scales its group.
    Policy,
}

/// The effect of a signal to a policy.
pub enum PolicySignal {
    /// No effect, with the reason.
    Nothing(String),
    /// A scaling, for [`Engine::scale`].
    Scaling(Box<PermittedScaling>),
}

/// A scaling with a standing permission.
pub struct PermittedScaling {
    /// The user who gave the permission.
    pub actor: Actor,
    /// Id of the deployment.
    pub deployment: String,
    /// The group.
    pub group: String,
    /// The policy.
    pub request: ScaleRequest,
    /// The scaling in words.
    pub summary: String,
}

impl Engine {
    /// The resource of a signed address: its last part, and its token. Reads nothing from the database.
    ///
    /// # Errors
    /// If the address was not signed by this server's keys.
    pub fn signal_target(&self, name: &str, token: &str) -> Result<SignalTarget> {
        signals::target(&self.core.keys, name, token).ok_or(Error::SignalRefused)
    }

    /// The kind of a target's resource.
    ///
    /// # Errors
    /// If the resource is gone or was replaced, or takes no signals.
    pub async fn signal_receiver(&self, target: &SignalTarget) -> Result<SignalReceiver> {
        let found = self.core.store.signal_target_type(target).await?;
        match found.as_deref() {
            Some(hot::template::members::SCALING_POLICY) => Ok(SignalReceiver::Policy),
            Some(other) if types::is_wait_condition_handle(other) => Ok(SignalReceiver::Handle),
            _ => Err(Error::SignalRefused),
        }
    }

    /// Receives a signal to a wait condition handle, as the body of a request.
    ///
    /// # Errors
    /// If the handle is gone or was replaced, or cannot take this signal.
    pub async fn signal(&self, target: &SignalTarget, body: &[u8]) -> Result<()> {
        let store = &self.core.store;
        if self.signal_receiver(target).await? != SignalReceiver::Handle {
            return Err(Error::SignalRefused);
        }
        let signal = signals::parse(body).map_err(Error::SignalInvalid)?;
        match store.signal_put(target, &signal).await? {
            SignalOutcome::Stored => Ok(()),
            SignalOutcome::NoTarget => Err(Error::SignalRefused),
            SignalOutcome::Full => Err(Error::SignalInvalid(format!(
                "the handle has {SIGNALS_MAX} signals, and keeps no more; repeat an `id` to replace one of them"
            ))),
        }
    }

    /// Receives a signal to a policy, as the body of a request.
    ///
    /// # Errors
    /// If the policy is gone, no permission lets it scale its group, or a change of the deployment is at work.
    pub async fn policy_signal(&self, target: &SignalTarget, body: &[u8]) -> Result<PolicySignal> {
        let SignalTarget {
            tenant,
            deployment,
            resource: policy,
            ..
        } = target;
        if signals::parse_alarm(body).map_err(Error::SignalInvalid)? == Alarm::Quiet {
            let why = "the alarm is not raised, so the group stays as it is";
            return Ok(PolicySignal::Nothing(why.to_owned()));
        }
        let row = self.live_row(tenant, deployment).await?;
        let permission = self
            .permission_for(tenant, deployment, PermittedAction::Scale)
            .await?;
        // Sizes are uncertain during a run.
        self.check_unchanging(&row).await?;
        if row.shown.state == DeploymentState::Suspended {
            return Ok(PolicySignal::Nothing(format!(
                "`{}` is suspended, so its groups stay as they are",
                row.shown.name
            )));
        }
        let there = self.core.store.resource_list(tenant, deployment).await?;
        let (group, to) = scaled(groups(&there), policy).ok_or(Error::SignalRefused)?;
        let ScalingGroup {
            name,
            size,
            min_size,
            max_size,
            ..
        } = group;
        if let Some(until) = self.cooldown_until(tenant, deployment, &name).await? {
            return Ok(PolicySignal::Nothing(format!(
                "`{name}` was scaled a short time ago, so it stays as it is until {until}"
            )));
        }
        if to == size {
            return Ok(PolicySignal::Nothing(format!(
                "`{policy}` changes nothing now: `{name}` has {}, and may have {min_size} to {max_size}",
                counted(size, "member")
            )));
        }
        Ok(PolicySignal::Scaling(Box::new(PermittedScaling {
            actor: self.log_in_with(&permission).await?,
            deployment: deployment.clone(),
            summary: format!(
                "`{policy}` scales `{name}` from {size} to {}",
                counted(to, "member")
            ),
            group: name,
            request: ScaleRequest {
                policy: Some(policy.clone()),
                base_run: row.shown.last_run,
                ..ScaleRequest::default()
            },
        })))
    }
}

/// The group of a policy, and the size that the policy asks for.
fn scaled(groups: Vec<ScalingGroup>, policy: &str) -> Option<(ScalingGroup, u64)> {
    groups.into_iter().find_map(|group| {
        let policy = group.policies.iter().find(|one| one.name == policy)?;
        let to = policy
            .adjustment
            .new_size(group.size, group.min_size, group.max_size);
        Some((group, to))
    })
}
