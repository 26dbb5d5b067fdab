//! Checks of a deployment, and repairs.
//!
//! A check compares the record of each resource with the cloud: gone, broken, or with properties that a user changed.
//! Then it tries the health checks of the software at its servers ([`super::health`]). It changes no resource, and runs
//! beside runs: it leaves out what they work on ([`super::at_work`]). If a server is gone, a command configures the software
//! that uses it without it ([`super::follow`]).
//!
//! The result is stored with the deployment and names the last change, because another change makes it outdated. A
//! restoration from a snapshot takes that name away, so it does the same. A repair is an update to the same template that
//! counts the findings as damage ([`planner::deployed::Damage`]), so the plan of a repair is shown and executed like any
//! other.
//!
//! Values made by Stackloom or from secrets cannot be read back: these are not compared.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use api::{
    ChangedProperty, Check, CloudFacts, Finding, FindingKind, RepairRequest, ResourceState, Started,
};
use drivers::{Difference, DriverError, Inspection};
use planner::{
    deployed::Damage,
    workflow::{ResourceSpec, copy_of},
};
use store::{DeploymentRow, Health, Outcome, ResourceRow, now_text};
use tokio::{task::JoinSet, time::timeout};
use uuid::Uuid;

use super::{
    Changes, Engine,
    read::{ReadJob, Recorded},
};
use crate::{
    Actor, Error, Result,
    resources::ResourceTable,
    run::{Origins, hidden_in, parameters},
    secrets::attributes,
    slots::Share,
};

/// Time limit of a check. Resources without a response by then count as unknown.
const DEADLINE: Duration = Duration::from_secs(60);

/// Name of a server's power state among its differences.
pub(super) const STATUS: &str = "status";

/// Ids of the deployments that are being checked. A check costs the cloud a request per resource, so there is one at a
/// time.
#[derive(Debug, Default)]
pub(super) struct ActiveChecks(Mutex<HashSet<String>>);

/// Permission for one check.
struct CheckPermit<'a> {
    active: &'a ActiveChecks,
    deployment: String,
}

impl ActiveChecks {
    fn ids(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, row: &DeploymentRow) -> Result<CheckPermit<'_>> {
        let deployment = row.shown.id.clone();
        if !self.ids().insert(deployment.clone()) {
            return Err(Error::NotPossibleNow(format!(
                "`{}` is being checked. Wait a moment, and look at the result",
                row.shown.name
            )));
        }
        Ok(CheckPermit {
            active: self,
            deployment,
        })
    }
}

impl Drop for CheckPermit<'_> {
    fn drop(&mut self) {
        self.active.ids().remove(&self.deployment);
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The components on servers that are gone or broken, which are not asked.
fn on_lost_servers(resources: &[ResourceRow], findings: &[Finding]) -> BTreeMap<String, Health> {
    let is_lost = |server: &str| {
        let mut findings = findings.iter();
        findings.any(|finding| {
            let is_lost = matches!(finding.kind, FindingKind::Gone | FindingKind::Broken);
            is_lost && finding.resource == server
        })
    };
    let on_lost = resources
        .iter()
        .filter(|one| one.spec.host().is_some_and(is_lost));
    let unhealthy = on_lost.map(|one| (one.name.clone(), Health::Unhealthy));
    unhealthy.collect()
}

/// Health of the checked components, without those whose check could not be run.
fn seen(components: Vec<String>, ill: &[Finding]) -> BTreeMap<String, Health> {
    let seen = components.into_iter().filter_map(|name| {
        let finding = ill.iter().find(|finding| finding.resource == name);
        let health = match finding.map(|finding| finding.kind) {
            None => Health::Healthy,
            Some(FindingKind::NotCompared) => return None,
            Some(_) => Health::Unhealthy,
        };
        Some((name, health))
    });
    seen.collect()
}

impl Engine {
    pub(super) async fn check_deployment(&self, actor: &Actor, id: &str) -> Result<Check> {
        self.core.check_running()?;
        let tenant = &actor.tenant;
        let row = self.live_row(tenant, id).await?;
        let _permit = self.checks.begin(&row)?;
        let at_work = self.at_work(&row).await?;
        let resources = self.core.store.resource_list(tenant, id).await?;
        let mut left_out = at_work.left_out(&resources);
        let jobs = self.inspections(actor, &row, resources.clone(), &left_out);
        let jobs = jobs.await?;
        let mut compared: Vec<String> = jobs.iter().map(|(name, _)| name.clone()).collect();
        let share = self.core.check_requests.share(tenant);
        let mut findings = inspect_all(jobs, DEADLINE, share).await;
        leave_out_suspension(&resources, &mut findings);
        let specs = resources
            .iter()
            .map(|one| (one.name.clone(), one.spec.clone()));
        let mut findings = self
            .without_secrets(&row, specs.collect(), findings)
            .await?;
        let mut health = on_lost_servers(&resources, &findings);
        let asked = self.inspect_health(actor, &row, resources.clone(), &findings, &left_out);
        let (components, ill) = asked.await?;
        compared.extend(components.iter().cloned());
        health.extend(seen(components, &ill));
        findings.extend(ill);
        left_out.extend(self.was_at_work(&row).await?.left_out(&resources));
        let is_in = |name: &String| !left_out.contains(name);
        compared.retain(is_in);
        health.retain(|name, _| is_in(name));
        findings.retain(|finding| is_in(&finding.resource));
        findings.sort_by(|one, other| one.resource.cmp(&other.resource));
        let following = if left_out.is_empty() {
            let resources = resources.clone();
            self.follow(actor, &row, resources, &mut findings).await
        } else {
            // The next check sees what that work has left.
            let before = row.shown.present_check();
            before.and_then(|check| check.following.clone())
        };
        let check = Check {
            id: Uuid::now_v7().to_string(),
            time: now_text(),
            author: actor.user.clone(),
            run: row.shown.last_run,
            checked: count(compared.len()),
            left_out: count(
                resources
                    .iter()
                    .filter(|one| copy_of(&one.name).is_none() && !is_in(&one.name))
                    .count(),
            ),
            findings,
            following,
        };
        let store = &self.core.store;
        let stored = store.deployment_set_check(tenant, id, &check, &health);
        match stored.await? {
            Outcome::Done => Ok(check),
            Outcome::Conflict => Err(Error::NotFound {
                what: "deployment",
                id: id.to_owned(),
            }),
        }
    }

    /// The inspections of all resources that the cloud should have, except those that are left out.
    async fn inspections(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        resources: Vec<ResourceRow>,
        left_out: &BTreeSet<String>,
    ) -> Result<Vec<(String, ReadJob)>> {
        let resources = attributes::open(&self.core.keys, &row.shown.id, resources);
        // A resource whose last step failed is brought in order by any update.
        let names: Vec<String> = resources
            .iter()
            .filter(|one| matches!(one.state, ResourceState::Ready | ResourceState::Suspended))
            .filter(|one| one.spec.external_id.is_none())
            .filter(|one| copy_of(&one.name).is_none() && !left_out.contains(&one.name))
            .map(|one| one.name.clone())
            .collect();
        let vault = Arc::new(self.vault(actor));
        let (row, reader) = (row.clone(), actor.clone());
        let work = move || {
            let recorded = Recorded {
                deployment: &row.shown,
                resources: &ResourceTable::of(resources),
                parameters: &parameters(&row, &BTreeMap::new()),
            };
            let jobs = names.into_iter();
            jobs.filter_map(|name| {
                let job = recorded.read_job(&name, &reader, &vault)?;
                Some((name, job))
            })
            .collect()
        };
        self.compute(&actor.tenant, work).await
    }

    /// Findings without the values of properties with a secret.
    async fn without_secrets(
        &self,
        row: &DeploymentRow,
        specs: BTreeMap<String, ResourceSpec>,
        mut findings: Vec<Finding>,
    ) -> Result<Vec<Finding>> {
        if findings
            .iter()
            .all(|finding| finding.differences.is_empty())
        {
            return Ok(findings);
        }
        let open = parameters(row, &BTreeMap::new());
        let work = move || {
            let values = specs.values().flat_map(|spec| spec.properties.values());
            let hidden = hidden_in(values, &open);
            let spec_of = |name: &str| specs.get(name).cloned();
            let origins = Origins::of(&hidden, &spec_of);
            for finding in &mut findings {
                let Some(spec) = specs.get(&finding.resource) else {
                    continue;
                };
                for difference in &mut finding.differences {
                    if origins.property_is_secret(spec, &difference.property) {
                        (difference.recorded, difference.found) = (None, None);
                    }
                }
            }
            findings
        };
        self.compute(&row.tenant, work).await
    }

    pub(super) async fn begin_repair(
        &self,
        actor: &Actor,
        deployment: &str,
        request: RepairRequest,
        cloud: CloudFacts,
    ) -> Result<Started> {
        let row = self.live_row(&actor.tenant, deployment).await?;
        let Some(check) = row.shown.check.clone() else {
            return Err(never_checked(&row));
        };
        if let Some(run) = &check.run {
            self.is_based_on(&row, run).await?;
        }
        if row.shown.present_check().is_none() {
            return Err(Error::NotPossibleNow(format!(
                "data of `{}` was restored from a snapshot after its last check. Check it again before you repair",
                row.shown.name
            )));
        }
        if check.id != request.check {
            return Err(Error::NotPossibleNow(format!(
                "{} has checked `{}` again meanwhile. Look at the new result before you repair",
                check.author, row.shown.name
            )));
        }
        if !check.has_damage() {
            return Err(Error::NotPossibleNow(format!(
                "the last check of `{}` found nothing to repair",
                row.shown.name
            )));
        }
        let changes = Changes {
            base_run: check.run.clone(),
            repairs: true,
            plan_digest: request.plan_digest,
            despite_quota: request.despite_quota,
            ..Changes::unchanged(&row, cloud)
        };
        self.begin_update(actor, deployment, changes).await
    }
}

/// Leaves out that suspended servers do not run.
fn leave_out_suspension(resources: &[ResourceRow], findings: &mut Vec<Finding>) {
    let suspended: BTreeSet<&str> = resources
        .iter()
        .filter(|one| one.state == ResourceState::Suspended)
        .map(|one| one.name.as_str())
        .collect();
    findings.retain_mut(|finding| {
        if finding.kind != FindingKind::Changed || !suspended.contains(finding.resource.as_str()) {
            return true;
        }
        finding.differences.retain(|one| one.property != STATUS);
        !finding.differences.is_empty()
    });
}

fn never_checked(row: &DeploymentRow) -> Error {
    Error::NotPossibleNow(format!(
        "`{}` was not checked yet. Check it first: a repair corrects the findings of a check",
        row.shown.name
    ))
}

/// The damage that the last check has found. Empty if a change or a restoration has come after it.
pub(super) fn damage(row: &DeploymentRow) -> BTreeMap<String, Damage> {
    let findings = row.shown.present_check().map(|check| &check.findings);
    let damage = findings.into_iter().flatten().filter_map(|finding| {
        let damage = match finding.kind {
            FindingKind::Gone => Damage::Gone,
            FindingKind::Broken => Damage::Broken(finding.text.clone()),
            FindingKind::Unhealthy => Damage::Unhealthy(finding.text.clone()),
            FindingKind::Changed => {
                let changed = finding.differences.iter();
                Damage::Changed(
                    changed
                        .map(|one| (one.property.clone(), one.found.clone()))
                        .collect(),
                )
            }
            FindingKind::InTransition | FindingKind::NotCompared => return None,
        };
        Some((finding.resource.clone(), damage))
    });
    damage.collect()
}

/// Inspects resources, a few at a time. Returns what differs, by name.
async fn inspect_all(
    jobs: Vec<(String, ReadJob)>,
    deadline: Duration,
    share: Share,
) -> Vec<Finding> {
    let mut open: BTreeMap<String, String> = BTreeMap::new();
    let mut inspections = JoinSet::new();
    for (name, job) in jobs {
        open.insert(name.clone(), job.resource_type().to_owned());
        let share = share.clone();
        inspections.spawn(async move {
            let _turn = share.turn().await;
            (name, job.inspect().await)
        });
    }
    let mut findings = Vec::new();
    let gather = async {
        while let Some(inspected) = inspections.join_next().await {
            let Ok((name, inspected)) = inspected else {
                continue;
            };
            let resource_type = open.remove(&name).unwrap_or_default();
            findings.extend(finding(name, resource_type, inspected));
        }
    };
    // Resources without a response by then are still in `open`.
    let _in_time = timeout(deadline, gather).await;
    findings.extend(open.into_iter().map(|(resource, resource_type)| Finding {
        resource,
        resource_type,
        kind: FindingKind::NotCompared,
        text: "the cloud did not answer in time. Check again".to_owned(),
        differences: Vec::new(),
    }));
    findings.sort_by(|one, other| one.resource.cmp(&other.resource));
    findings
}

/// The finding of an inspection. `None` if the resource is as recorded.
fn finding(
    resource: String,
    resource_type: String,
    inspected: Result<(Inspection, Vec<Difference>), DriverError>,
) -> Option<Finding> {
    let (kind, text, differences) = match inspected {
        Ok((Inspection::Usable(_), differences)) if differences.is_empty() => return None,
        Ok((Inspection::Usable(_), differences)) => {
            (FindingKind::Changed, String::new(), differences)
        }
        Ok((Inspection::InTransition(why), _)) => (FindingKind::InTransition, why, Vec::new()),
        Ok((Inspection::Broken(why), _)) => (FindingKind::Broken, why, Vec::new()),
        Ok((Inspection::Gone, _)) => (FindingKind::Gone, String::new(), Vec::new()),
        Err(error) => (FindingKind::NotCompared, error.to_string(), Vec::new()),
    };
    let differences = differences.into_iter().map(|one| ChangedProperty {
        property: one.property,
        recorded: Some(one.recorded),
        found: Some(one.found),
    });
    Some(Finding {
        resource,
        resource_type,
        kind,
        text,
        differences: differences.collect(),
    })
}

#[cfg(test)]
mod tests {
    use hot::expr::Expr;

    use super::*;
    use crate::testing::{resource, row};

    fn finding(resource: &str, kind: FindingKind) -> Finding {
        Finding {
            resource: resource.into(),
            resource_type: String::new(),
            kind,
            text: String::new(),
            differences: Vec::new(),
        }
    }

    fn on(server: &str, name: &str) -> ResourceRow {
        let host = ("host", Expr::GetResource(server.into()));
        row(name, resource("Stackloom::Catalog::nginx", [host]))
    }

    #[test]
    fn software_is_as_its_checks_say_and_not_healthy_on_a_lost_server() {
        let ill = [
            finding("db", FindingKind::Unhealthy),
            finding("silent", FindingKind::NotCompared),
        ];
        let names = ["db", "silent", "web"].map(str::to_owned);
        let expected = [("db", Health::Unhealthy), ("web", Health::Healthy)];
        let expected = expected.map(|(name, health)| (name.to_owned(), health));
        assert_eq!(seen(names.to_vec(), &ill), BTreeMap::from(expected));

        let rows = [
            on("one", "first"),
            on("two", "second"),
            on("three", "third"),
        ];
        let found = [
            finding("one", FindingKind::Gone),
            finding("two", FindingKind::Changed),
        ];
        let lost = BTreeMap::from([("first".to_owned(), Health::Unhealthy)]);
        assert_eq!(on_lost_servers(&rows, &found), lost);
    }
}
