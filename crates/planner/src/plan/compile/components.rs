//! Steps that run on servers: installations and configurations of components, software deployments, and removals of
//! software whose server stays.

use std::collections::HashSet;

use hot::expr::Expr;
use types::{ResourceType, SECURITY_GROUP_RULE, is_software_deployment};

use super::{Compiler, names_of};
use crate::{
    plan::{
        Action, Deployed,
        last_runs::{self, Around, LastRun},
        time_limits::CONFIGURE_SECONDS,
    },
    workflow::{Origin, ResourceSpec, Step, StepKind},
};

impl<'a> Compiler<'a> {
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

    pub(super) fn configure(
        &mut self,
        name: &'a str,
        spec: &'a ResourceSpec,
        steps: &mut Vec<Step>,
    ) {
        if !self.is_touched(name) {
            return self.skip(name);
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
        let before = self.nearest.of(others);
        after.extend(self.steps_of(&before));
        let id = format!("{name}:configure");
        if self.changes.get(name).is_some_and(|change| change.upgrades) {
            let batch = self.upgrades.add(&id).iter();
            let batch = batch.filter(|step| !after.contains(step));
            let batch: Vec<String> = batch.cloned().collect();
            after.extend(batch);
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
            outdates: names_of(&self.outdated, name),
            ..Step::new(id.clone(), kind, Some(name), after, CONFIGURE_SECONDS)
        });
        self.done.insert(name, id);
        self.nearest.add(name, before);
    }

    /// Connects removals of software to its server, which stays.
    pub(super) fn run_last(
        &self,
        last_runs: &[(String, String)],
        gone: &Deployed,
        steps: &mut [Step],
    ) {
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
}

/// True for security groups and rules that open the ports of software.
pub(super) fn is_access(spec: &ResourceSpec) -> bool {
    matches!(&spec.origin, Origin::Derived { pass, .. } if pass == "access")
}
