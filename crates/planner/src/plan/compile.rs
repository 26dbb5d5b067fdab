//! From changes to steps.
//!
//! ```text
//! net:create -> port:create -> web:create -> bastion:open -> web:ssh -> nginx:configure -> bastion:close
//! ```
//! A resource is complete after its `create` step, a component after its `configure` step. Steps wait for the
//! completing steps of their resource's requirements. Servers with software are checked over SSH once the bastion is
//! open, and so are those whose signals a wait fetches: it starts after their checks. A replaced resource has a `create`
//! step like a new one, and a `delete-old` step on its older copy; the order of removals is in
//! [`remove`](super::remove). A new component whose item can be installed alone has an `install` step, which does not
//! wait for the components that the component refers to, except those in `depends_on`. A software deployment has the steps of
//! a component; those on one server follow each other, as with Heat's agent. Removals of software that run on its server are
//! in [`last_runs`].
//! Each list is built by one traversal in dependency order, so the steps are ordered.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    diff::Diff,
    hooks,
    last_runs::{self, Around, LastRun},
    ordering::Ordering,
    pauses,
    remove::{RemovalPhase, Removals, delete_old_id},
    time_limits::{
        BASTION_SECONDS, CONFIGURE_SECONDS, RESOURCE_SECONDS, SERVER_SECONDS, SSH_SECONDS,
        WAIT_SECONDS,
    },
    upgrades, *,
};
use crate::{
    compose::Pause,
    workflow::{Origin, Step, StepKind},
};
use hot::{environment::Rule, expr::Expr};
use types::{
    ROUTER_INTERFACE, ResourceType, SECURITY_GROUP_RULE, SERVER, is_software_deployment,
    is_wait_condition,
};

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
        Compiler {
            model,
            changes: changes
                .iter()
                .map(|change| (change.resource.as_str(), change))
                .collect(),
            types,
            removals,
            ordering,
            done: HashMap::new(),
            ssh: HashMap::new(),
            reach: HashMap::new(),
            bastion,
            opened: false,
            upgrades: upgrades::Batches::of(upgrade_batch),
            last_on: HashMap::new(),
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

    /// Connects removals of software to its server, which stays.
    fn run_last(&self, last_runs: &[(String, String)], gone: &Deployed, steps: &mut [Step]) {
        let runs = last_runs.iter().map(|(name, server)| LastRun {
            resource: name,
            server,
            is_component: gone.resources.get(name).is_some_and(|spec| {
                let described = self.types.get(&spec.resource_type);
                described.is_some_and(ResourceType::is_component)
            }),
        });
        let runs: Vec<LastRun<'_>> = runs.collect();
        let around = Around {
            ssh: &self.ssh,
            host_of: &|name| self.model.get(name)?.host(),
            closes: &|step| self.closes_ports(step, gone),
            timeout_seconds: CONFIGURE_SECONDS,
        };
        last_runs::connect(&runs, &around, steps);
    }

    /// True if a step only closes ports that the pass `access` had opened.
    fn closes_ports(&self, step: &Step, before: &Deployed) -> bool {
        let Some(name) = step.resource.as_deref() else {
            return false;
        };
        let Some(old) = before.resources.get(name).filter(|spec| is_access(spec)) else {
            return false;
        };
        let rules = |spec: &ResourceSpec| match spec.properties.get("rules") {
            Some(Expr::List(rules)) => rules.clone(),
            _ => Vec::new(),
        };
        match step.kind {
            StepKind::Delete => old.resource_type == SECURITY_GROUP_RULE,
            StepKind::Update => self.model.get(name).is_some_and(|new| {
                let before = rules(old);
                rules(new).iter().all(|rule| before.contains(rule))
            }),
            _ => false,
        }
    }

    fn close(&self, steps: &mut Vec<Step>) {
        if !self.opened {
            return;
        }
        let connections: HashSet<&String> = self.ssh.values().collect();
        let users = steps.iter().filter(|step| {
            let connects = step.after.iter().any(|id| connections.contains(id));
            matches!(
                step.kind,
                StepKind::WaitForSsh | StepKind::Install | StepKind::Configure
            ) || (connects
                && matches!(
                    step.kind,
                    StepKind::Create | StepKind::Update | StepKind::Delete
                ))
        });
        let after = users.map(|step| step.id.clone()).collect();
        let close = Step::new(
            "bastion:close".to_owned(),
            StepKind::CloseBastion,
            self.bastion,
            after,
            BASTION_SECONDS,
        );
        steps.push(Step {
            always_run: true,
            ..close
        });
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

    fn done_steps(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut steps: Vec<String> = Vec::new();
        for name in names {
            if let Some(step) = self.done.get(name)
                && !steps.contains(step)
            {
                steps.push(step.clone());
            }
        }
        steps
    }

    fn create(&mut self, name: &'a str, steps: &mut Vec<Step>) {
        let Some(spec) = self.model.get(name) else {
            return;
        };
        if !self.is_touched(name) {
            return;
        }
        let timeout = match spec.resource_type.as_str() {
            SERVER => SERVER_SECONDS,
            wait if is_wait_condition(wait) => WAIT_SECONDS,
            _ => RESOURCE_SECONDS,
        };
        let mut after = self.done_steps(self.ordering.all_before(self.model, name));
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
            takes_from: self
                .ordering
                .takes_from
                .get(name)
                .into_iter()
                .flatten()
                .map(|&from| from.to_owned())
                .collect(),
            ..Step::new(id.clone(), kind, Some(name), after, timeout)
        });
        self.done.insert(name, id);
    }

    /// The rules of a server's security groups and the router interfaces of its networks, by server.
    fn connection_requirements(
        &self,
        infrastructure: &[&'a str],
    ) -> HashMap<&'a str, Vec<&'a str>> {
        let mut rules: HashMap<&str, Vec<&'a str>> = HashMap::new();
        let mut interfaces: HashMap<&str, Vec<&'a str>> = HashMap::new();
        for name in infrastructure {
            let Some(spec) = self.model.get(name) else {
                continue;
            };
            let of = |property: &str| spec.properties.get(property).and_then(graph::target);
            match spec.resource_type.as_str() {
                SECURITY_GROUP_RULE => rules
                    .entry(of("security_group").unwrap_or_default())
                    .or_default()
                    .push(name),
                ROUTER_INTERFACE => {
                    let subnet = of("subnet").and_then(|subnet| self.model.get(subnet));
                    let network =
                        subnet.and_then(|subnet| graph::target(subnet.properties.get("network")?));
                    interfaces
                        .entry(network.unwrap_or_default())
                        .or_default()
                        .push(name);
                }
                _ => {}
            }
        }
        let mut reach: HashMap<&'a str, Vec<&'a str>> = HashMap::new();
        for (server, spec) in self.model.of_type(SERVER) {
            let Some(Expr::List(networks)) = spec.properties.get("networks") else {
                continue;
            };
            for port in networks
                .iter()
                .filter_map(|entry| self.model.get(graph::target(entry.get("port")?)?))
            {
                let network = port.properties.get("network").and_then(graph::target);
                let groups = match port.properties.get("security_groups") {
                    Some(Expr::List(groups)) => groups.iter().filter_map(graph::target).collect(),
                    _ => Vec::new(),
                };
                let router_interfaces = network
                    .and_then(|network| interfaces.get(network))
                    .into_iter()
                    .flatten();
                let allowed = groups
                    .into_iter()
                    .filter_map(|group| rules.get(group))
                    .flatten();
                reach
                    .entry(server)
                    .or_default()
                    .extend(router_interfaces.chain(allowed).copied());
            }
        }
        reach
    }

    fn open(&mut self, steps: &mut Vec<Step>) {
        let Some(bastion) = self.bastion else { return };
        let ports: BTreeSet<&str> = match self
            .model
            .get(bastion)
            .and_then(|spec| spec.properties.get("networks"))
        {
            Some(Expr::List(networks)) => networks
                .iter()
                .filter_map(|entry| graph::target(entry.get("port")?))
                .collect(),
            _ => BTreeSet::new(),
        };
        let leads_there = |spec: &ResourceSpec| match spec.properties.get("port_id") {
            // The port that Nova made for a server without networks.
            Some(Expr::GetAttr(server, _)) => server == bastion,
            port => port
                .and_then(graph::target)
                .is_some_and(|port| ports.contains(port)),
        };
        let addresses = self
            .model
            .iter()
            .filter(|(_, spec)| leads_there(spec))
            .map(|(name, _)| name);
        let groups = self.model.iter().filter(|(_, spec)| {
            matches!(&spec.origin, Origin::Derived { pass, serves: Some(serves), .. } if pass == "access" && serves == bastion)
        });
        let needed: Vec<&str> = std::iter::once(bastion)
            .chain(addresses)
            .chain(groups.map(|(name, _)| name))
            .collect();
        let after = self.done_steps(needed);
        steps.push(Step::new(
            "bastion:open".to_owned(),
            StepKind::OpenBastion,
            Some(bastion),
            after,
            BASTION_SECONDS,
        ));
        self.opened = true;
    }

    fn wait_for_ssh(&mut self, server: &'a str, steps: &mut Vec<Step>) {
        if self.ssh.contains_key(server) {
            return;
        }
        let reach = self.reach.get(server).cloned().unwrap_or_default();
        let mut after = self.done_steps(std::iter::once(server).chain(reach));
        if self.opened {
            after.push("bastion:open".to_owned());
        }
        // Other servers are reached through the bastion, so the bastion is checked first.
        if let Some(bastion) = self.bastion.filter(|bastion| *bastion != server)
            && let Some(step) = self.ssh.get(bastion)
        {
            after.push(step.clone());
        }
        let id = format!("{server}:ssh");
        steps.push(Step::new(
            id.clone(),
            StepKind::WaitForSsh,
            Some(server),
            after,
            SSH_SECONDS,
        ));
        self.ssh.insert(server, id);
    }

    /// The installation of a new component, if that can begin earlier than its configuration: it does not wait for resources
    /// that only the component's properties refer to.
    fn install(
        &self,
        name: &'a str,
        spec: &'a ResourceSpec,
        others: &[&'a str],
        mut after: Vec<String>,
    ) -> Option<Step> {
        let described = self.types.get(&spec.resource_type)?;
        if !described.has_installation() || self.action(name) != Some(Action::Create) {
            return None;
        }
        let referred: HashSet<&str> = spec.properties.values().flat_map(Expr::resources).collect();
        let is_ordered = |name: &str| spec.depends_on.iter().any(|one| one == name);
        let (referred, before): (Vec<&'a str>, Vec<&'a str>) = others
            .iter()
            .copied()
            .partition(|name| referred.contains(*name) && !is_ordered(name));
        let before = self.done_steps(before);
        let later = self.done_steps(referred);
        if later.iter().all(|step| before.contains(step)) {
            return None;
        }
        after.extend(before);
        let id = format!("{name}:install");
        let step = Step::new(id, StepKind::Install, Some(name), after, CONFIGURE_SECONDS);
        Some(step)
    }

    fn configure(&mut self, name: &'a str, spec: &'a ResourceSpec, steps: &mut Vec<Step>) {
        if !self.is_touched(name) {
            return;
        }
        let host = spec.host();
        let mut after: Vec<String> = host
            .and_then(|host| self.ssh.get(host))
            .cloned()
            .into_iter()
            .collect();
        let others = spec
            .requires
            .iter()
            .map(String::as_str)
            .filter(|required| Some(*required) != host);
        let others: Vec<&'a str> = others.collect();
        if let Some(install) = self.install(name, spec, &others, after.clone()) {
            after.push(install.id.clone());
            steps.push(install);
        }
        after.extend(self.done_steps(others));
        let id = format!("{name}:configure");
        if self.changes.get(name).is_some_and(|change| change.upgrades) {
            let before = self.upgrades.add(&id).iter();
            let before = before.filter(|step| !after.contains(step));
            let before: Vec<String> = before.cloned().collect();
            after.extend(before);
        }
        let mut kind = StepKind::Configure;
        if is_software_deployment(&spec.resource_type) {
            let last = host.and_then(|host| self.last_on.insert(host, id.clone()));
            after.extend(last.filter(|last| !after.contains(last)));
            if self.action(name) == Some(Action::Update) {
                kind = StepKind::Update;
            }
        }
        let change = self.changes.get(name).filter(|_| kind == StepKind::Update);
        steps.push(Step {
            if_changed: change.is_some_and(|change| change.may),
            changed: change
                .map(|change| change.changed_values())
                .unwrap_or_default(),
            ..Step::new(id.clone(), kind, Some(name), after, CONFIGURE_SECONDS)
        });
        self.done.insert(name, id);
    }
}

/// True for security groups and rules that open the ports of software.
fn is_access(spec: &ResourceSpec) -> bool {
    matches!(&spec.origin, Origin::Derived { pass, .. } if pass == "access")
}
