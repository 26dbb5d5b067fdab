//! The configuration of components without servers that are gone, after a check.
//!
//! A proxy or a name server should not wait for a repair before it forgets a member that will not come back. So a check that
//! finds a server gone begins a command ([`super::command`]): the roles of all components that require software on it run
//! without it. The resources stay recorded as they are. So the next repair creates the server again, and configures the same
//! components with it, as any change of a provider does.
//!
//! Only servers that are gone count. One that does not answer and software that is unhealthy can come back at any time, and
//! proxies look after these themselves. A component keeps the providers that it cannot be without, and its last one in any
//! case: a web server without backends would serve its own page instead of an error.
//!
//! The check keeps which component was configured without which providers ([`Following`]). So the next one does not do it
//! again, repeats what failed, and adds a server again that the cloud lists again. A change of the deployment makes a check
//! outdated, and with it what it has kept.

use std::collections::{BTreeMap, BTreeSet};

use api::{CommandKind, Finding, FindingKind, Following, ResourceState, RunCommand, RunState};
use planner::plan::command::{Target, step_id};
use store::{DeploymentRow, ResourceRow};
use types::SERVER;

use super::{Engine, check::STATUS};
use crate::{
    Actor, Error, Result,
    bastion::Bastion,
    catalog::Catalog,
    resources::{ResourceEntry, ResourceTable, address},
    run::parameters,
    secrets::{CommandContent, Configuration, attributes},
};

/// Maximum number of components that are configured at the same time.
const PARALLEL: u32 = 5;

/// Names of the providers that each component is without.
type Missing = BTreeMap<String, BTreeSet<String>>;

impl Engine {
    /// Begins the configuration of the components for which servers have gone, or come back, since the last check. Returns
    /// what the check keeps. A failure is described in the servers' findings.
    pub(super) async fn follow(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        resources: Vec<ResourceRow>,
        findings: &mut [Finding],
    ) -> Option<Following> {
        let before = row.shown.present_check();
        let before = before.and_then(|check| check.following.clone());
        let mut kinds = findings.iter().map(|one| one.kind);
        if before.is_none() && !kinds.any(|kind| kind == FindingKind::Gone) {
            return None;
        }
        let begun = self.begin_following(actor, row, resources, findings, before.clone());
        match begun.await {
            Ok(following) => following,
            Err(error) => {
                tracing::warn!(
                    deployment = row.shown.id,
                    "software was not configured after a check: {error}"
                );
                let is_lost = |one: &&mut Finding| {
                    one.kind == FindingKind::Gone && one.resource_type == SERVER
                };
                for finding in findings.iter_mut().filter(is_lost) {
                    finding.text = format!(
                        "It no longer exists. Software that uses it was not configured without it: {error}"
                    );
                }
                before
            }
        }
    }

    /// The content of the next check, after the command for what has changed has begun.
    async fn begin_following(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        resources: Vec<ResourceRow>,
        findings: &[Finding],
        before: Option<Following>,
    ) -> Result<Option<Following>> {
        let id = &row.shown.id;
        let known = ResourceTable::of(attributes::open(&self.core.keys, id, resources));
        let catalog = self.catalog_for(&actor.tenant, id).await?;
        let last = before.as_ref().map(|before| before.run.as_str());
        let repeats = self.has_failed(actor, last).await?;
        let done = before.as_ref().map(|one| one.without.clone());
        let done = done.unwrap_or_default();
        let without = missing(&known, &catalog, findings, &done);
        let names = without.keys().chain(done.keys());
        let components: BTreeSet<&String> = names
            .filter(|name| repeats || without.get(*name) != done.get(*name))
            .collect();
        if components.is_empty() {
            return Ok(before);
        }
        let values = parameters(row, &BTreeMap::new());
        let bastion = Bastion::of(&known, &known.scope(&values), None);
        if let Some(bastion) = bastion
            && !is_in_order(findings, &bastion.server)
        {
            let bastion = &bastion.server;
            return Err(Error::NotPossibleNow(format!(
                "the bastion `{bastion}` is not in order, so no server can be reached. Repair it"
            )));
        }
        let hosts = components.iter().filter_map(|name| {
            let host = known.get(name)?.spec.host()?.to_owned();
            let id = known.get(&host)?.physical_id?;
            Some((name.as_str(), host, id))
        });
        let hosts: Vec<(&str, String, String)> = hosts.collect();
        let targets = hosts
            .iter()
            .map(|(name, server, id)| Target { name, server, id });
        let targets: Vec<Target<'_>> = targets.collect();
        let configuration = |name: &str| {
            let lost = without.get(name).into_iter().flatten();
            Configuration {
                component: name.to_owned(),
                without: lost
                    .map(|lost| (lost.clone(), known.server_id_of(lost)))
                    .collect(),
            }
        };
        let of_steps = targets
            .iter()
            .map(|one| (step_id(one.name), configuration(one.name)));
        let content = CommandContent::Configure(of_steps.collect());
        let servers: BTreeSet<&str> = targets.iter().map(|one| one.server).collect();
        let shown = RunCommand {
            title: title(&components, &without),
            kind: CommandKind::Configure,
            servers: u32::try_from(servers.len()).unwrap_or(u32::MAX),
            bytes: 0,
            parallel: PARALLEL,
            max_failures: None,
        };
        let limit = self.core.config.software_timeout.as_secs();
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let run = self.start_command(actor, row, &known, (content, &shown), (&targets, limit));
        let run = run.await?;
        Ok(Some(Following { run, without }))
    }

    /// True if a command has failed. One that a user cancelled has not.
    async fn has_failed(&self, actor: &Actor, run: Option<&str>) -> Result<bool> {
        let Some(run) = run else { return Ok(false) };
        let row = self.core.store.run_find(&actor.tenant, run).await?;
        Ok(row.is_some_and(|row| row.shown.state == RunState::Failed))
    }
}

/// True for a server that runs.
fn is_in_order(findings: &[Finding], server: &str) -> bool {
    let mut findings = findings.iter().filter(|one| one.resource == server);
    findings.all(|one| {
        let mut differences = one.differences.iter();
        one.kind == FindingKind::Changed && differences.all(|one| one.property != STATUS)
    })
}

fn kind_of(findings: &[Finding], name: &str) -> Option<FindingKind> {
    let finding = findings.iter().find(|finding| finding.resource == name);
    finding.map(|finding| finding.kind)
}

/// The components that have to do without some of their providers. `done` has those that were configured so already.
fn missing(
    known: &ResourceTable,
    catalog: &Catalog,
    findings: &[Finding],
    done: &Missing,
) -> Missing {
    let entries = known.all();
    let server_of = |name: &str| {
        let host = entries.get(name).and_then(|entry| entry.spec.host());
        host.map_or_else(|| name.to_owned(), str::to_owned)
    };
    let is_lost = |name: &str| match kind_of(findings, &server_of(name)) {
        Some(FindingKind::Gone) => true,
        Some(FindingKind::Broken | FindingKind::NotCompared | FindingKind::InTransition) => {
            done.values().any(|names| names.contains(name))
        }
        _ => false,
    };
    let can_be_configured = |name: &str, entry: &ResourceEntry| {
        let server = server_of(name);
        let is_ready = |entry: &ResourceEntry| entry.state == ResourceState::Ready;
        is_ready(entry)
            && entries.get(&server).is_some_and(is_ready)
            && is_in_order(findings, &server)
    };
    let of_component = |name: &String, entry: &ResourceEntry| {
        let item = catalog.of_type(&entry.spec.resource_type)?;
        let done = done.get(name);
        if !can_be_configured(name, entry) {
            return done.cloned();
        }
        let mut lost = BTreeSet::new();
        for requirement in &item.described.requires {
            let providers = entry.spec.properties.get(&requirement.name);
            let providers = providers.map(address::targets).unwrap_or_default();
            let (gone, rest): (Vec<&str>, Vec<&str>) =
                providers.into_iter().partition(|name| is_lost(name));
            let needed = usize::try_from(requirement.min)
                .unwrap_or(usize::MAX)
                .max(1);
            if !gone.is_empty() && rest.len() < needed {
                return done.cloned();
            }
            lost.extend(gone.into_iter().map(str::to_owned));
        }
        Some(lost)
    };
    let missing = entries
        .iter()
        .filter_map(|(name, entry)| Some((name.clone(), of_component(name, entry)?)));
    missing.filter(|(_, lost)| !lost.is_empty()).collect()
}

/// The title of the command, for lists of runs.
fn title(components: &BTreeSet<&String>, without: &Missing) -> String {
    let named = |names: &BTreeSet<&String>, noun: &str| match names.len() {
        1 => names.iter().map(|name| name.as_str()).collect(),
        many => format!("{many} {noun}"),
    };
    let lost = components.iter().filter_map(|name| without.get(*name));
    let lost: BTreeSet<&String> = lost.flatten().collect();
    let components = named(components, "components");
    if lost.is_empty() {
        format!("Configure {components} again")
    } else {
        format!(
            "Configure {components} without {}",
            named(&lost, "providers")
        )
    }
}

#[cfg(test)]
mod tests;
