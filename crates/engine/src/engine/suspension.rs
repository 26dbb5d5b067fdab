//! Suspension of a deployment: its servers stop with their memory kept, and continue from there when it is resumed.
//!
//! A suspended deployment can be checked, resumed and undeployed. Everything that relies on its servers, or changes
//! them, is refused until it is resumed.

use std::collections::BTreeSet;

use api::{DeploymentState, ResourceState, RunKind, Started};
use hot::text::listed;
use planner::{
    plan::suspension::{self, Direction},
    workflow::copy_of,
};
use store::{DeploymentRow, ResourceRow};

use super::{Engine, compare, start::NewRun, terminals::no_bastion};
use crate::{
    Actor, Error, Result,
    bastion::Bastion,
    resources::ResourceTable,
    run::parameters,
    secrets::{RunSecrets, attributes},
};

/// Maximum number of servers that an error lists.
const NAMED_MAX: usize = 10;

impl Engine {
    /// Suspends the servers of a deployment, dependents first.
    ///
    /// # Errors
    /// If a change of it is at work, its last change failed, it is suspended, or it has no servers.
    pub async fn suspend(&self, actor: &Actor, deployment: &str) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let begun =
            async move { Box::pin(engine.begin_suspension(&actor, &id, Direction::Suspend)).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    /// Resumes the suspended servers of a deployment, dependents last.
    ///
    /// # Errors
    /// If a change of it is at work, or it is not suspended.
    pub async fn resume_deployment(&self, actor: &Actor, deployment: &str) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let begun =
            async move { Box::pin(engine.begin_suspension(&actor, &id, Direction::Resume)).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    async fn begin_suspension(
        &self,
        actor: &Actor,
        deployment: &str,
        direction: Direction,
    ) -> Result<Started> {
        self.core.check_running()?;
        let tenant = &actor.tenant;
        let row = self.live_row(tenant, deployment).await?;
        self.check_unchanging(&row).await?;
        self.check_direction(&row, direction).await?;
        let store = &self.core.store;
        let there = store.resource_list(tenant, deployment).await?;
        let servers: BTreeSet<&str> = there
            .iter()
            .filter(|one| is_concerned(one, direction))
            .map(|one| one.name.as_str())
            .collect();
        if servers.is_empty() && direction == Direction::Suspend {
            return Err(Error::NotPossibleNow(format!(
                "`{}` has no servers to suspend",
                row.shown.name
            )));
        }
        let deployed = compare::deployed(there.clone(), |_, _| true);
        let software = suspension::acting_software(&deployed, direction);
        let bastion = match software.values().next() {
            None => None,
            Some(host) => {
                let there = attributes::open(&self.core.keys, deployment, there.clone());
                let known = ResourceTable::of(there);
                let values = parameters(&row, &Default::default());
                let bastion = Bastion::of(&known, &known.scope(&values), None);
                Some(bastion.ok_or_else(|| no_bastion(host))?.server)
            }
        };
        let workflow = suspension::workflow(
            &deployed,
            &servers,
            &software,
            bastion.as_deref(),
            direction,
        );
        let hidden = self.stored_hidden(actor, &row).await?;
        let token = actor.session.token().expose();
        let kind = match direction {
            Direction::Suspend => RunKind::Suspend,
            Direction::Resume => RunKind::Resume,
        };
        let secrets = RunSecrets::new(token, hidden, actor.vault_key.as_ref());
        let run = NewRun {
            seen: Some(&row),
            ..NewRun::of(actor, deployment, kind, workflow, secrets)
        };
        let mut transaction = store.begin("storing a suspension").await?;
        let run = self.store_run(&mut transaction, &run).await?;
        transaction.commit().await?;
        self.start_stored(actor, &run).await?;
        Ok(Started {
            deployment: deployment.to_owned(),
            run,
        })
    }

    /// Checks that the deployment is in a state from which it can be suspended or resumed.
    async fn check_direction(&self, row: &DeploymentRow, direction: Direction) -> Result<()> {
        // A suspension or resumption that failed can be repeated, and turned round.
        let is_between = match (row.shown.state, &row.shown.last_run) {
            (DeploymentState::Failed, Some(last)) => {
                let last = self.run_row(&row.tenant, last).await?;
                last.shown.kind.is_suspension()
            }
            _ => false,
        };
        let name = &row.shown.name;
        let why = match (direction, row.shown.state) {
            _ if is_between => return Ok(()),
            (Direction::Suspend, DeploymentState::Deployed)
            | (Direction::Resume, DeploymentState::Suspended) => return Ok(()),
            (Direction::Suspend, DeploymentState::Suspended) => {
                format!("`{name}` is suspended already")
            }
            (Direction::Suspend, _) => format!(
                "the last change of `{name}` failed. Resume that run, update the deployment or roll it back first; or undeploy it"
            ),
            (Direction::Resume, DeploymentState::Failed) => format!(
                "the last run of `{name}` did not suspend it. Resume that run, update the deployment, or undeploy it"
            ),
            (Direction::Resume, _) => format!("`{name}` is not suspended"),
        };
        Err(Error::NotPossibleNow(why))
    }

    /// Checks that no server of a deployment is suspended.
    pub(super) async fn check_not_suspended(&self, row: &DeploymentRow) -> Result<()> {
        let store = &self.core.store;
        let there = store.resource_list(&row.tenant, &row.shown.id).await?;
        not_suspended(row, &there)
    }
}

/// True for a server that a suspension or a resumption works on.
fn is_concerned(one: &ResourceRow, direction: Direction) -> bool {
    let is_ours =
        one.physical_id.is_some() && one.spec.external_id.is_none() && copy_of(&one.name).is_none();
    let driver = drivers::driver_for(&one.spec.resource_type);
    let can_be = driver.is_some_and(|driver| driver.abilities().suspension.is_some());
    let is_suspended = one.state == ResourceState::Suspended;
    is_ours && can_be && (direction == Direction::Suspend || is_suspended)
}

/// Checks that no server among a deployment's resources is suspended.
pub(super) fn not_suspended(row: &DeploymentRow, there: &[ResourceRow]) -> Result<()> {
    let name = &row.shown.name;
    if row.shown.state == DeploymentState::Suspended {
        return Err(Error::NotPossibleNow(format!(
            "`{name}` is suspended. Resume it first"
        )));
    }
    let suspended = there
        .iter()
        .filter(|one| one.state == ResourceState::Suspended);
    let names: Vec<&str> = suspended.map(|one| one.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let and_more = match names.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Err(Error::NotPossibleNow(format!(
        "these servers of `{name}` are suspended: {}{and_more}. Resume the deployment first, or undeploy it",
        listed(&names[..names.len().min(NAMED_MAX)])
    )))
}
