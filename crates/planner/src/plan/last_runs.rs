//! Removals of software that run on its server: their connection, and their place among the other steps.
//!
//! Like other removals they are late: what refers to the software is changed first. But a component goes before anything
//! is set up on its server in the same run, because its successor can need its port or its packages. Where both
//! conditions contradict each other, the second one holds.

use std::collections::{HashMap, HashSet};

use super::remove::sort;
use crate::workflow::{Step, StepKind};

/// A removal that runs on a server.
pub(super) struct LastRun<'a> {
    pub resource: &'a str,
    pub server: &'a str,
    pub is_component: bool,
}

/// Connects removals to their servers, and orders those of components before the set-up of others. `ssh` contains the SSH
/// step of each server, `host_of` returns the server of a component.
pub(super) fn connect<'a>(
    last_runs: &[LastRun<'_>],
    ssh: &HashMap<&str, String>,
    host_of: &dyn Fn(&str) -> Option<&'a str>,
    timeout_seconds: u32,
    steps: &mut [Step],
) {
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
        let Some(ssh) = ssh.get(run.server) else {
            continue;
        };
        // A removal that something else waits for comes before the connection to the server.
        if !steps[..at].iter().any(|step| step.id == *ssh) {
            continue;
        }
        steps[at].after.push(ssh.clone());
        steps[at].timeout_seconds = timeout_seconds;
        if run.is_component {
            is_moved |= put_before_successors(at, run.server, host_of, steps);
        }
    }
    if is_moved {
        sort(steps);
    }
}

/// Lets the components that are set up on the server wait for a removal. True if there are any.
fn put_before_successors<'a>(
    at: usize,
    server: &str,
    host_of: &dyn Fn(&str) -> Option<&'a str>,
    steps: &mut [Step],
) -> bool {
    let is_successor = |step: &Step| {
        let resource = step.resource.as_deref();
        step.kind == StepKind::Configure && resource.and_then(host_of) == Some(server)
    };
    let after = {
        let successors = steps.iter().filter(|step| is_successor(step));
        let waiting = waiting_for(successors.map(|step| step.id.as_str()), steps);
        let free = steps[at]
            .after
            .iter()
            .filter(|id| !waiting.contains(id.as_str()));
        free.cloned().collect()
    };
    steps[at].after = after;
    let id = steps[at].id.clone();
    let mut any = false;
    for step in steps.iter_mut().filter(|step| is_successor(step)) {
        step.after.push(id.clone());
        any = true;
    }
    any
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
