//! The workflows that suspend and resume the servers of a deployment. As in Heat, dependents are suspended first, and
//! resumed last: a software deployment that acts on SUSPEND runs before its server is suspended, and one that acts on
//! RESUME after its server is resumed.
//!
//! ```text
//! bastion:open -> gate:ssh -> web:ssh -> drain:suspend -> web:suspend -> gate:suspend
//!                                                    \-> bastion:close
//! gate:resume -> bastion:open -> gate:ssh -> web:ssh -> fill:resume -> bastion:close
//! web:resume --------------------------------/
//! ```
//! Other resources have no such state, and stay as they are. A bastion that software needs is suspended after all other
//! servers, so a run that is repeated finds it until nothing needs it any more.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    Deployed,
    ordering::Nearest,
    remove::{in_order, required, sort},
    time_limits::{BASTION_SECONDS, CONFIGURE_SECONDS, SERVER_SECONDS, SSH_SECONDS},
};
use crate::{
    software::{acts_on, config_of},
    workflow::{Step, StepKind, Workflow, copy_of},
};
use types::is_software_deployment;

/// One of the two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Servers are suspended.
    Suspend,
    /// Suspended servers are resumed.
    Resume,
}

impl Direction {
    fn kind(self) -> StepKind {
        match self {
            Direction::Suspend => StepKind::Suspend,
            Direction::Resume => StepKind::Resume,
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Direction::Suspend => "suspend",
            Direction::Resume => "resume",
        }
    }

    /// The action of software deployments, as Heat names it.
    pub fn action(self) -> &'static str {
        match self {
            Direction::Suspend => "SUSPEND",
            Direction::Resume => "RESUME",
        }
    }
}

/// The software deployments that act on suspension or resumption, with their servers.
pub fn acting_software(deployed: &Deployed, direction: Direction) -> BTreeMap<&str, &str> {
    let resources = deployed.resources.iter();
    let acting = resources.filter_map(|(name, spec)| {
        let is_acting = || {
            let config = config_of(spec).and_then(|config| deployed.resources.get(config));
            acts_on(spec, config, direction.action())
        };
        let is_one = is_software_deployment(&spec.resource_type) && copy_of(name).is_none();
        let host = spec.host().filter(|_| is_one && is_acting())?;
        Some((name.as_str(), host))
    });
    acting.collect()
}

/// A workflow that suspends or resumes these servers, and runs this software with its servers.
pub fn workflow(
    deployed: &Deployed,
    servers: &BTreeSet<&str>,
    software: &BTreeMap<&str, &str>,
    bastion: Option<&str>,
    direction: Direction,
) -> Workflow {
    let id = |name: &str| format!("{name}:{}", direction.verb());
    let ssh = |server: &str| format!("{server}:ssh");
    let bastion = bastion.filter(|_| !software.is_empty());
    let acts = |name: &str| servers.contains(name) || software.contains_key(name);
    let is_last = |name: &str| direction == Direction::Suspend && bastion == Some(name);
    let resources = deployed.resources.iter();
    let mut requires: HashMap<&str, Vec<&str>> = resources
        .map(|(name, spec)| (name.as_str(), required(deployed, name, spec)))
        .collect();
    let order = in_order(deployed, &mut requires);
    let mut nearest = Nearest::default();
    let mut before: HashMap<&str, BTreeSet<String>> = HashMap::new();
    for name in order.iter().copied() {
        let required = requires[name].iter().copied();
        if !acts(name) || is_last(name) {
            nearest.skip(name, required);
            continue;
        }
        nearest.add(name, nearest.of(required));
        for other in nearest.before(name).iter().copied() {
            let (first, then) = match direction {
                Direction::Suspend => (name, other),
                Direction::Resume => (other, name),
            };
            before.entry(then).or_default().insert(id(first));
        }
    }
    let turned: Vec<&str> = match direction {
        Direction::Suspend => order.into_iter().rev().collect(),
        Direction::Resume => order,
    };
    let mut steps = Vec::new();
    let mut users = Vec::new();
    if let Some(bastion) = bastion {
        let resumed = |server: &str| {
            let is_first = direction == Direction::Resume && servers.contains(server);
            is_first.then(|| id(server))
        };
        let open = "bastion:open".to_owned();
        steps.push(Step::new(
            open.clone(),
            StepKind::OpenBastion,
            Some(bastion),
            resumed(bastion).into_iter().collect(),
            BASTION_SECONDS,
        ));
        let hosts: BTreeSet<&str> = software.values().copied().chain([bastion]).collect();
        for host in hosts {
            // Other servers are reached through the bastion, so the bastion is checked first.
            let through = (host != bastion).then(|| ssh(bastion));
            let after = std::iter::once(open.clone()).chain(through);
            let after = after.chain(resumed(host)).collect();
            let kind = StepKind::WaitForSsh;
            steps.push(Step::new(ssh(host), kind, Some(host), after, SSH_SECONDS));
            users.push(ssh(host));
        }
    }
    // Deployments on one server follow each other, as with Heat's agent.
    let mut last_on: HashMap<&str, String> = HashMap::new();
    for name in turned.iter().copied().filter(|name| acts(name)) {
        let mut after = before.remove(name).unwrap_or_default();
        let mut seconds = SERVER_SECONDS;
        if let Some(host) = software.get(name) {
            after.insert(ssh(host));
            after.extend(last_on.insert(host, id(name)));
            users.push(id(name));
            seconds = CONFIGURE_SECONDS;
        }
        if is_last(name) {
            let others = turned.iter().filter(|other| acts(other) && **other != name);
            after.extend(others.map(|other| id(other)));
        }
        let after = after.into_iter().collect();
        steps.push(Step::new(
            id(name),
            direction.kind(),
            Some(name),
            after,
            seconds,
        ));
    }
    if let Some(bastion) = bastion {
        let close = Step::new(
            "bastion:close".to_owned(),
            StepKind::CloseBastion,
            Some(bastion),
            users,
            BASTION_SECONDS,
        );
        steps.push(Step {
            always_run: true,
            ..close
        });
    }
    sort(&mut steps);
    Workflow {
        steps,
        ..Workflow::default()
    }
}
