//! From changes to steps.
//!
//! ```text
//! net:create -> port:create -> web:create -> bastion:open -> web:ssh -> nginx:configure -> bastion:close
//! ```
//! A resource is complete after its `create` step, a component after its `configure` step. Steps wait for the
//! completing steps of their resource's requirements. A requirement without a change has no step, so the steps of its own
//! requirements count. Servers with software are checked over SSH once the bastion is open, and so are those whose signals
//! a wait fetches: it starts after their checks. A replaced resource has a `create` step like a new one, and a
//! `delete-old` step on its older copy; the order of removals is in [`remove`](super::remove). A new component whose item
//! can be installed alone has an `install` step, which does not wait for the components that the component refers to,
//! except those in `depends_on`. A software deployment has the steps of a component; those on one server follow each
//! other, as with Heat's agent. Removals of software that run on its server are in [`last_runs`](super::last_runs). Each
//! list is built by one traversal in dependency order, so the steps are ordered.

mod components;
mod connections;
mod outdated;

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    diff::Diff,
    hooks,
    ordering::{Nearest, Ordering},
    pauses,
    remove::{RemovalPhase, Removals, delete_old_id},
    time_limits::{RESOURCE_SECONDS, SERVER_SECONDS, WAIT_SECONDS},
    upgrades, *,
};
use crate::{
    compose::Pause,
    workflow::{Step, StepKind},
};
use components::is_access;
use types::{SERVER, is_wait_condition};

/// Workflow from the deployed resources to the model. The error is a circle.
pub(super) fn workflow(
    model: Model,
    diff: &Diff<'_>,
    types: &Registry,
    outputs: BTreeMap<String, OutputSpec>,
    (pauses, rules): (&[Pause], &[Rule]),
) -> Result<Workflow, Vec<String>> {
    let mut steps = Vec::new();
    let ordering = Ordering::of(&model, &diff.deployed, &diff.changes)?;
    let removals = Removals::of(&model, &diff.deployed, &diff.changes, types);
    removals.steps(RemovalPhase::Early, &|_| None, &mut steps);
    let last_runs = software::last_runs(&model, &diff.deployed, types);
    let batch = diff.deployed.upgrade_batch;
    let mut compiler = Compiler::new(&model, &diff.changes, types, &removals, &ordering, batch);
    compiler.steps(&last_runs, &mut steps);
    if last_runs.is_empty() {
        compiler.close(&mut steps);
    }
    let done = std::mem::take(&mut compiler.done);
    removals.steps(
        RemovalPhase::Late,
        &|name| done.get(name).cloned(),
        &mut steps,
    );
    drop(done);
    if !last_runs.is_empty() {
        compiler.run_last(&last_runs, &diff.deployed, &mut steps);
        compiler.close(&mut steps);
    }
    drop(compiler);
    drop(ordering);
    pauses::insert(pauses, &mut steps);
    hooks::insert(rules, &diff.changes, &mut steps);
    let gone: Vec<(String, ResourceSpec)> = removals.into_resources().collect();
    let mut resources = model.into_resources();
    resources.extend(gone);
    Ok(Workflow {
        steps,
        resources,
        outputs,
        restores: diff.restores.clone(),
    })
}

/// Sets `old_goes_first` for each replacement.
pub(super) fn set_old_goes_first(changes: &mut [Change], workflow: &Workflow) {
    let is_first = |name: &str| {
        let step = workflow
            .steps
            .iter()
            .find(|step| step.kind == StepKind::Create && step.resource.as_deref() == Some(name));
        let removal = delete_old_id(name);
        step.is_some_and(|step| step.after.contains(&removal))
    };
    for change in changes {
        change.old_goes_first =
            change.action == Action::Replace && !change.may && is_first(&change.resource);
    }
}

struct Compiler<'a> {
    model: &'a Model,
    changes: HashMap<&'a str, &'a Change>,
    types: &'a Registry,
    removals: &'a Removals<'a>,
    ordering: &'a Ordering<'a>,
    /// Id of the step that completes each resource.
    done: HashMap<&'a str, String>,
    /// The changed resources that each resource so far waits for.
    nearest: Nearest<'a>,
    /// Id of the SSH step of each server.
    ssh: HashMap<&'a str, String>,
    /// The resources required for a connection to a server, by server: rules and router interfaces.
    reach: HashMap<&'a str, Vec<&'a str>>,
    bastion: Option<&'a str>,
    opened: bool,
    /// The components that are set up with another version of their item.
    upgrades: upgrades::Batches,
    /// Id of the last step of a software deployment on each server.
    last_on: HashMap<&'a str, String>,
    /// The resources that use what each of these resources changes ([`outdated::outdated`]).
    outdated: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Compiler<'a> {
    fn new(
        model: &'a Model,
        changes: &'a [Change],
        types: &'a Registry,
        removals: &'a Removals<'a>,
        ordering: &'a Ordering<'a>,
        upgrade_batch: usize,
    ) -> Compiler<'a> {
        let bastion = model
            .of_type(SERVER)
            .find(|(_, spec)| spec.marks.bastion)
            .map(|(name, _)| name);
        let changes: HashMap<&str, &Change> = changes
            .iter()
            .map(|change| (change.resource.as_str(), change))
            .collect();
        let outdated = outdated::outdated(model, &changes, &ordering.order, types);
        Compiler {
            model,
            changes,
            types,
            removals,
            ordering,
            done: HashMap::new(),
            nearest: Nearest::default(),
            ssh: HashMap::new(),
            reach: HashMap::new(),
            bastion,
            opened: false,
            upgrades: upgrades::Batches::of(upgrade_batch),
            last_on: HashMap::new(),
            outdated,
        }
    }

    fn is_software(&self, spec: &ResourceSpec) -> bool {
        self.types
            .get(&spec.resource_type)
            .is_some_and(|described| described.runs_on_server())
    }

    fn action(&self, name: &str) -> Option<Action> {
        self.changes.get(name).map(|change| change.action)
    }

    fn is_touched(&self, name: &str) -> bool {
        self.action(name).is_some_and(|action| {
            matches!(action, Action::Create | Action::Update | Action::Replace)
        })
    }

    fn steps(&mut self, last_runs: &'a [(String, String)], steps: &mut Vec<Step>) {
        let order = self.ordering.order.as_slice();
        // The cloud's resources come first; components follow when the bastion is open.
        let late = self.after_software(order);
        let (software, infrastructure): (Vec<&'a str>, Vec<&'a str>) =
            order.iter().partition(|name| late.contains(*name));
        for name in &infrastructure {
            self.create(name, steps);
        }
        let fresh: Vec<&'a str> = software
            .iter()
            .copied()
            .filter(|name| self.is_touched(name))
            .collect();
        let model = self.model;
        let specs = || fresh.iter().filter_map(|name| model.get(name));
        let components = specs().filter(|spec| self.is_software(spec));
        let mut servers: BTreeSet<&'a str> = components
            .filter_map(ResourceSpec::host)
            .chain(specs().flat_map(|spec| spec.signal_servers(move |name| model.get(name))))
            .chain(last_runs.iter().map(|(_, server)| server.as_str()))
            .collect();
        if !servers.is_empty() {
            servers.extend(self.bastion);
            self.reach = self.connection_requirements(&infrastructure);
            self.open(steps);
        }
        // A server can itself wait for software on another one.
        for server in &servers {
            if self.done.contains_key(server) || !self.is_touched(server) {
                self.wait_for_ssh(server, steps);
            }
        }
        for name in &software {
            let Some(spec) = self.model.get(name) else {
                continue;
            };
            if self.is_software(spec) {
                self.configure(name, spec, steps);
            } else {
                self.create(name, steps);
                if servers.contains(name) {
                    self.wait_for_ssh(name, steps);
                }
            }
        }
    }

    /// Components, waits that fetch signals, and resources that wait for one. `order` contains predecessors first.
    fn after_software(&self, order: &[&'a str]) -> HashSet<&'a str> {
        let mut late: HashSet<&'a str> = HashSet::new();
        for name in order {
            let Some(spec) = self.model.get(name) else {
                continue;
            };
            if self.is_software(spec)
                || spec.fetches_signals()
                || self
                    .ordering
                    .all_before(self.model, name)
                    .any(|before| late.contains(before))
            {
                late.insert(name);
            }
        }
        late
    }

    /// The steps that complete these resources. A resource without a change has no step, so the steps of its requirements
    /// count: as in Heat, the order holds through it.
    fn done_steps(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        self.steps_of(&self.nearest.of(names))
    }

    /// The steps that complete these changed resources.
    fn steps_of(&self, names: &[&'a str]) -> Vec<String> {
        let steps = names.iter().filter_map(|name| self.done.get(name));
        steps.cloned().collect()
    }

    /// Skips a resource without a change: the order holds through it. Its security groups and rules of the pass `access` are
    /// an exception, since the steps on servers have an order of their own with the ports that these open and close.
    fn skip(&mut self, name: &'a str) {
        let (model, ordering) = (self.model, self.ordering);
        let opens_ports = |name: &str| model.get(name).is_some_and(is_access);
        let before = ordering.all_before(model, name);
        let before = before.filter(|name| !opens_ports(name));
        self.nearest.skip(name, before);
    }

    fn create(&mut self, name: &'a str, steps: &mut Vec<Step>) {
        let Some(spec) = self.model.get(name) else {
            return;
        };
        if !self.is_touched(name) {
            return self.skip(name);
        }
        let timeout = match spec.resource_type.as_str() {
            SERVER => SERVER_SECONDS,
            wait if is_wait_condition(wait) => WAIT_SECONDS,
            _ => RESOURCE_SECONDS,
        };
        let before = self.nearest.of(self.ordering.all_before(self.model, name));
        let mut after = self.steps_of(&before);
        after.extend(self.removals.before(name).iter().cloned());
        let model = self.model;
        let servers = spec.signal_servers(move |name| model.get(name));
        after.extend(servers.filter_map(|server| self.ssh.get(server).cloned()));
        let (kind, verb) = match self.action(name) {
            Some(Action::Update) => (StepKind::Update, "update"),
            _ => (StepKind::Create, "create"),
        };
        let id = format!("{name}:{verb}");
        steps.push(Step {
            replaces: self.removals.copies.get(name).cloned(),
            if_changed: self.changes.get(name).is_some_and(|change| change.may)
                && !self.removals.is_early(name),
            changed: self
                .changes
                .get(name)
                .map(|change| change.changed_values())
                .unwrap_or_default(),
            repairs: self.changes.get(name).is_some_and(|change| change.repairs),
            takes_from: names_of(&self.ordering.takes_from, name),
            outdates: names_of(&self.outdated, name),
            ..Step::new(id.clone(), kind, Some(name), after, timeout)
        });
        self.done.insert(name, id);
        self.nearest.add(name, before);
    }
}

/// The names in the list of a resource.
fn names_of(lists: &HashMap<&str, Vec<&str>>, resource: &str) -> Vec<String> {
    let names = lists.get(resource).into_iter().flatten();
    names.map(|&name| name.to_owned()).collect()
}
