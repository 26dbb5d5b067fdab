//! Connections to servers: the opening and the closing of the bastion, and the check of each server over SSH.

use std::collections::{BTreeSet, HashMap, HashSet};

use hot::expr::Expr;
use types::{ROUTER_INTERFACE, SECURITY_GROUP_RULE, SERVER};

use super::Compiler;
use crate::{
    graph,
    plan::time_limits::{BASTION_SECONDS, SSH_SECONDS},
    workflow::{Origin, ResourceSpec, Step, StepKind},
};

impl<'a> Compiler<'a> {
    /// The rules of a server's security groups and the router interfaces of its networks, by server.
    pub(super) fn connection_requirements(
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

    pub(super) fn open(&mut self, steps: &mut Vec<Step>) {
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

    pub(super) fn wait_for_ssh(&mut self, server: &'a str, steps: &mut Vec<Step>) {
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

    pub(super) fn close(&self, steps: &mut Vec<Step>) {
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
}
