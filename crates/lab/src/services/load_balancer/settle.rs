//! Progress of load balancers: the wiring is applied, then pending changes are completed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::kit::record::Attributes;
use crate::services::cloud::Cloud;
use crate::services::load_balancer::{ProvisioningStatus, ResourceType};

/// Maximum time until HAProxy runs a new configuration. The load balancer is then in ERROR.
const APPLY_TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two checks of the running configuration.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An action on a load balancer or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalancerAction {
    /// Creation of a part.
    Create,
    /// Change of a part.
    Update,
    /// Deletion of a part.
    Delete,
}

impl BalancerAction {
    fn as_str(self) -> &'static str {
        match self {
            BalancerAction::Create => "create",
            BalancerAction::Update => "update",
            BalancerAction::Delete => "delete",
        }
    }
}

impl Cloud {
    /// Applies the pending changes of a load balancer. As in Octavia, it becomes ACTIVE after the new configuration is
    /// in effect, or ERROR if this fails.
    pub fn spawn_apply(self: &Arc<Self>, balancer: String, action: BalancerAction) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let name = cloud.read(|model| {
                let row = model.balancing.get(&balancer);
                row.map(|row| row.text("name").to_owned())
            });
            let fails = name.is_some_and(|name| cloud.faults.fails(&name, action.as_str()));
            let rest = if !fails && cloud.wait_until_applied(&balancer).await {
                ProvisioningStatus::Active
            } else {
                ProvisioningStatus::Error
            };
            tokio::time::sleep(cloud.substrate.simulated_delay()).await;
            cloud.change(|model| model.complete_changes(&balancer, rest));
        });
    }

    /// Waits until HAProxy runs the configuration of the model. Returns whether it did.
    async fn wait_until_applied(&self, balancer: &str) -> bool {
        if !self.substrate.has_wiring() {
            return true;
        }
        let started = Instant::now();
        loop {
            self.apply_wiring().await;
            let wanted = self.wiring().balancers.remove(balancer);
            let is_running = self
                .substrate
                .balancer_is_running(balancer, wanted.as_ref());
            if is_running.await {
                return true;
            }
            if started.elapsed() >= APPLY_TIMEOUT {
                tracing::error!(%balancer, "a load balancer does not do what it is told");
                return false;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Resumes the work on load balancers that was interrupted when the lab stopped.
    pub(crate) fn resume_balancers(self: &Arc<Self>) {
        let all: Vec<String> = self.read(|model| {
            let all = model.children_of("", ResourceType::LoadBalancer);
            all.map(|row| row.id.clone()).collect()
        });
        for balancer in all {
            self.spawn_apply(balancer, BalancerAction::Update);
        }
    }
}
