//! Scaling of groups: an update that changes nothing but the size of one group.
//!
//! The sizes are those of the recorded resources (`planner::scaling`). A policy's cooldown counts from the end of the
//! newest successful run that scaled the group.

use std::collections::BTreeMap;

use api::{CloudFacts, ScaleRequest, Scaling, Started};
use hot::text::counted;
use jiff::{SignedDuration, Timestamp};
use planner::{
    deployed::GroupRequest,
    scaling::{self, ScalingGroup},
};
use store::{DeploymentRow, ResourceRow};

use super::{Changes, Engine};
use crate::{Actor, Error, Result, Tenant};

impl Engine {
    pub(super) async fn begin_scale(
        &self,
        actor: &Actor,
        deployment: &str,
        group: &str,
        request: ScaleRequest,
        cloud: CloudFacts,
    ) -> Result<Started> {
        let tenant = &actor.tenant;
        let row = self.live_row(tenant, deployment).await?;
        // Sizes are uncertain during a run.
        self.check_unchanging(&row).await?;
        let there = self.core.store.resource_list(tenant, deployment).await?;
        let groups = groups(&there).into_iter();
        let group = groups
            .clone()
            .find(|one| one.name == group)
            .ok_or_else(|| Error::NotFound {
                what: "scaling group",
                id: group.to_owned(),
            })?;
        let scaling = wanted(&group, &request)?;
        if scaling.policy.is_some() && !request.force {
            self.check_cooldown(tenant, deployment, &group.name).await?;
        }
        let changes = Changes {
            // The size was computed for the deployment as it is now.
            base_run: request.base_run.or(row.shown.last_run.clone()),
            groups: BTreeMap::from([(group.name, GroupRequest::Size(scaling.to))]),
            scaling: Some(scaling),
            plan_digest: request.plan_digest,
            despite_quota: request.despite_quota,
            ..Changes::unchanged(&row, cloud)
        };
        self.begin_update(actor, deployment, changes).await
    }

    async fn check_cooldown(&self, tenant: &Tenant, deployment: &str, group: &str) -> Result<()> {
        match self.cooldown_until(tenant, deployment, group).await? {
            Some(until) => Err(Error::Cooldown {
                group: group.to_owned(),
                until,
            }),
            None => Ok(()),
        }
    }

    /// End of a group's cooldown, in RFC 3339. `None` if there is none now.
    pub(super) async fn cooldown_until(
        &self,
        tenant: &Tenant,
        deployment: &str,
        group: &str,
    ) -> Result<Option<String>> {
        let store = &self.core.store;
        let last = store.run_last_scaling(tenant, deployment, group).await?;
        let until = last.and_then(|run| {
            let ended: Timestamp = run.ended?.parse().ok()?;
            let seconds = i64::try_from(run.scaling?.cooldown_seconds).ok()?;
            ended.checked_add(SignedDuration::from_secs(seconds)).ok()
        });
        let until = until.filter(|until| *until > Timestamp::now());
        Ok(until.map(|until| until.to_string()))
    }

    /// The scaling groups of a deployment, for the API.
    pub(super) async fn show_groups(
        &self,
        row: &DeploymentRow,
        there: &[ResourceRow],
    ) -> Result<Vec<api::ScalingGroup>> {
        let mut shown = Vec::new();
        for group in groups(there) {
            let cooldown_until = self
                .cooldown_until(&row.tenant, &row.shown.id, &group.name)
                .await?;
            let new_size = |adjustment: scaling::Adjustment| {
                adjustment.new_size(group.size, group.min_size, group.max_size)
            };
            let policies = group.policies.iter().map(|policy| api::ScalingPolicy {
                name: policy.name.clone(),
                new_size: new_size(policy.adjustment),
            });
            shown.push(api::ScalingGroup {
                size: group.size,
                min_size: group.min_size,
                max_size: group.max_size,
                cooldown_until,
                policies: policies.collect(),
                name: group.name,
            });
        }
        Ok(shown)
    }
}

/// The scaling groups among a deployment's resources.
pub(super) fn groups(there: &[ResourceRow]) -> Vec<ScalingGroup> {
    let relevant = there
        .iter()
        .filter(|row| scaling::is_part(&row.spec.resource_type));
    let resources = relevant.map(|row| (row.name.clone(), row.spec.clone()));
    scaling::groups(&resources.collect())
}

/// The scaling that a request asks for.
fn wanted(group: &ScalingGroup, request: &ScaleRequest) -> Result<Scaling> {
    let ScalingGroup {
        name,
        size,
        min_size,
        max_size,
        ..
    } = group;
    let (to, cooldown) = match &request.policy {
        Some(policy) => {
            let found = group.policies.iter().find(|one| one.name == *policy);
            let found = found.ok_or_else(|| Error::NotFound {
                what: "policy of this group",
                id: policy.clone(),
            })?;
            let to = found.adjustment.new_size(*size, *min_size, *max_size);
            (to, found.cooldown_seconds)
        }
        None => (request.size.unwrap_or(*size), None),
    };
    if !(*min_size..=*max_size).contains(&to) {
        return Err(Error::GroupSize {
            group: name.clone(),
            size: to,
            min: *min_size,
            max: *max_size,
        });
    }
    if to == *size {
        let members = counted(*size, "member");
        return Err(Error::NotPossibleNow(match &request.policy {
            Some(policy) => format!(
                "`{policy}` changes nothing now: `{name}` has {members}, and may have {min_size} to {max_size}"
            ),
            None => format!("`{name}` has {members} already"),
        }));
    }
    Ok(Scaling {
        group: name.clone(),
        from: *size,
        to,
        policy: request.policy.clone(),
        cooldown_seconds: cooldown.unwrap_or(group.cooldown_seconds),
    })
}
