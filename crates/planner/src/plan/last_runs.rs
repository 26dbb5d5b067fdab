//! Removals of software that run on its server: their connection, and their place among the other steps.
//!
//! Like other removals they are late: what refers to the software is changed first. But a component goes before anything
//! is set up on its server in the same run, because its successor can need its port or its packages. Where both
//! conditions contradict each other, the second one holds. Ports are closed after that: a member that leaves its cluster has
//! to tell the others.

use std::collections::{HashMap, HashSet};

use super::remove::sort;
use crate::workflow::{Step, StepKind};

/// A removal that runs on a server.
pub(super) struct LastRun<'a> {
    pub resource: &'a str,
    pub server: &'a str,
    pub is_component: bool,
}

/// Facts of the plan that decide the order of removals.
pub(super) struct Around<'a> {
    /// The SSH step of each server.
    pub ssh: &'a HashMap<&'a str, String>,
    /// The server of a component.
    pub host_of: &'a dyn Fn(&str) -> Option<&'a str>,
    /// True if a step closes ports of servers with software, and opens none.
    pub closes: &'a dyn Fn(&Step) -> bool,
    /// Time limit of a removal.
    pub timeout_seconds: u32,
}

/// Connects removals to their servers, and orders those of components before the set-up of others and before ports are
/// closed.
pub(super) fn connect(last_runs: &[LastRun<'_>], around: &Around<'_>, steps: &mut [Step]) {
    let mut is_moved = false;
    // Dependents come before their requirements.
    for at in 0..steps.len() {
        let own = |run: &&LastRun<'_>| {
            steps[at].kind == StepKind::Delete
                && steps[at].resource.as_deref() == Some(run.resource)
        };
        let Some(run) = last_runs.iter().find(own) else {
            continue;
        };
        let Some(ssh) = around.ssh.get(run.server) else {
            continue;
        };
        // A removal that something else waits for comes before the connection to the server.
        if !steps[..at].iter().any(|step| step.id == *ssh) {
            continue;
        }
        steps[at].after.push(ssh.clone());
        steps[at].timeout_seconds = around.timeout_seconds;
        if run.is_component {
            let is_successor = |step: &Step| {
                let resource = step.resource.as_deref();
                let host = resource.and_then(around.host_of);
                matches!(step.kind, StepKind::Install | StepKind::Configure)
                    && host == Some(run.server)
            };
            is_moved |= put_before(at, &is_successor, steps);
            // What the connection itself waits for comes before.
            let needed = needed_by(ssh, steps);
            let closes = |step: &Step| !needed.contains(&step.id) && (around.closes)(step);
            is_moved |= put_before(at, &closes, steps);
        }
    }
    if is_moved {
        sort(steps);
    }
}

/// Makes other steps wait for a removal, which then waits neither for them nor for what waits for them. True if there are
/// any.
fn put_before(at: usize, is_later: &dyn Fn(&Step) -> bool, steps: &mut [Step]) -> bool {
    let after = {
        let later = steps.iter().filter(|step| is_later(step));
        let waiting = waiting_for(later.map(|step| step.id.as_str()), steps);
        let after = steps[at].after.iter();
        let free = after.filter(|id| !waiting.contains(id.as_str()));
        free.cloned().collect()
    };
    steps[at].after = after;
    let id = steps[at].id.clone();
    let mut any = false;
    for step in steps.iter_mut().filter(|step| is_later(step)) {
        step.after.push(id.clone());
        any = true;
    }
    any
}

/// The steps that a step waits for, directly and indirectly.
fn needed_by(id: &str, steps: &[Step]) -> HashSet<String> {
    let by_id: HashMap<&str, &Step> = steps.iter().map(|step| (step.id.as_str(), step)).collect();
    let mut needed = HashSet::new();
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        let after = by_id.get(id).into_iter().flat_map(|step| &step.after);
        open.extend(
            after
                .filter(|id| needed.insert((*id).clone()))
                .map(String::as_str),
        );
    }
    needed
}

/// The given steps, and those that wait for one of them directly or indirectly.
fn waiting_for<'s>(ids: impl Iterator<Item = &'s str>, steps: &'s [Step]) -> HashSet<&'s str> {
    let mut waiting: HashSet<&str> = ids.collect();
    loop {
        let next = steps.iter().filter(|step| {
            let mut after = step.after.iter();
            !waiting.contains(step.id.as_str()) && after.any(|id| waiting.contains(id.as_str()))
        });
        let next: Vec<&str> = next.map(|step| step.id.as_str()).collect();
        if next.is_empty() {
            return waiting;
        }
        waiting.extend(next);
    }
}
