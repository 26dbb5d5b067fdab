//! What happens to load balancers over time: wires first, then what was pending is not.

use std::sync::Arc;

use super::Cloud;
use crate::model::load_balancing::Part;

impl Cloud {
    /// Carry out what was ordered of a load balancer.
    pub fn spawn_balance(self: &Arc<Self>, balancer: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            cloud.wire().await;
            tokio::time::sleep(cloud.substrate.beat()).await;
            cloud.change(|model| model.balancer_settles(&balancer));
        });
    }

    /// After a start: load balancers that were on their way when the lab stopped.
    pub(super) fn take_up_balancers(self: &Arc<Self>) {
        let all: Vec<String> = self.read(|model| {
            let all = model.hanging_on("", Part::LoadBalancer);
            all.map(|row| row.id.clone()).collect()
        });
        for balancer in all {
            self.spawn_balance(balancer);
        }
    }
}
