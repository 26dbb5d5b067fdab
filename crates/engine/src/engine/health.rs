//! The health of a deployment's software, as a part of a check: every health check of every component, over SSH.
//!
//! The check is a user of the bastion's rule, like a terminal. It runs in a separate task, so that a client that goes
//! away leaves no open bastion behind. A finding has only the names of other components from the output of a command,
//! because nothing here could mask the secrets in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use api::{Finding, FindingKind, ResourceState};
use hot::text::few;
use planner::workflow::copy_of;
use serde_json::Map;
use store::{DeploymentRow, ResourceRow};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};
use types::catalog::HealthCheck;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::{Engine, read::PARALLEL_READS, terminals};
use crate::{
    Actor, Error, Result,
    bastion::{self, Bastion, Entrance, Rule, RuleUser},
    catalog::{Catalog, Item},
    health::{Subject, Unhealthy},
    resources::{ResourceEntry, ResourceTable},
    run::parameters,
    secrets::attributes,
    ssh::{Gateway, Route, SshError, Wait, WaitProgress},
};

/// Time limit of the health checks together. Components without an answer by then count as unknown.
const DEADLINE: Duration = Duration::from_secs(60);
/// Time limit of a login. A cloud takes seconds to put a new rule into effect.
const LOGIN: Duration = Duration::from_secs(25);
/// Number of attempts of a health check. A service that restarts at this moment is not damaged.
const ATTEMPTS: u32 = 3;

/// A component whose item has health checks.
struct Component {
    name: String,
    thing: ResourceEntry,
    item: Arc<Item>,
    server: String,
}

/// The health checks of one component.
struct Examination {
    name: String,
    checks: Vec<HealthCheck>,
    subject: Subject,
    route: Route,
    /// Names of all components of the deployment.
    all: Arc<BTreeSet<String>>,
}

/// The health checks of a deployment, and the way to its servers.
struct Visit {
    id: String,
    /// The session's token, sealed.
    sealed: String,
    rule: Rule,
    entrance: Entrance,
    private_key: Zeroizing<String>,
    /// Results by component. An error is a text for users.
    examinations: BTreeMap<String, Result<Examination, String>>,
}

/// The answers of components that are not healthy, or were not asked.
type Answers = BTreeMap<String, (FindingKind, String)>;

impl Engine {
    /// Tries the health checks of the components whose server is in order, except those that are left out. Returns their
    /// names, and a finding for each one that is not healthy or could not be asked.
    pub(super) async fn inspect_health(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        resources: Vec<ResourceRow>,
        cloud: &[Finding],
        left_out: &BTreeSet<String>,
    ) -> Result<(Vec<String>, Vec<Finding>)> {
        let id = &row.shown.id;
        let known = ResourceTable::of(attributes::open(&self.core.keys, id, resources));
        let catalog = self.catalog_for(&actor.tenant, id).await?;
        let mut components = components(&known, &catalog, cloud);
        components.retain(|one| !left_out.contains(&one.name));
        if components.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let answers = match self.visit(actor, row, &known, &components).await {
            Ok(visit) => {
                let work = self.core.tasks.spawn(visit.run());
                let ended = work.await;
                ended.map_err(|error| Error::Unavailable(error.to_string()))?
            }
            Err(Error::NotPossibleNow(why)) => {
                let names = components.iter().map(|one| one.name.clone());
                names
                    .map(|name| (name, (FindingKind::NotCompared, why.clone())))
                    .collect()
            }
            Err(error) => return Err(error),
        };
        let names = components.iter().map(|one| one.name.clone()).collect();
        Ok((names, findings(&components, answers)))
    }

    async fn visit(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        known: &ResourceTable,
        components: &[Component],
    ) -> Result<Visit> {
        let (deployment, name) = (&row.shown.id, &row.shown.name);
        let values = parameters(row, &BTreeMap::new());
        let scope = known.scope(&values);
        let first = components.first().map_or("", |one| one.server.as_str());
        let bastion = Bastion::of(known, &scope, None);
        let bastion = bastion.ok_or_else(|| terminals::no_bastion(first))?;
        let configured = self.core.config.orchestrator_address;
        let entrance = bastion.entrance(configured);
        let entrance = entrance.map_err(Error::NotPossibleNow)?;
        let private_key = self.private_key(actor, deployment, name, known).await?;
        let all = known.all().into_iter();
        let all = all.filter(|(_, thing)| thing.spec.host().is_some());
        let all: Arc<BTreeSet<String>> = Arc::new(all.map(|(name, _)| name).collect());
        let examination = |one: &Component| {
            let route = bastion::route(known, &scope, Some(&bastion), &one.server)?;
            let described = &one.item.described;
            let given = one.thing.spec.properties.iter();
            let given = given.filter(|(name, _)| {
                let mut inputs = described.inputs.iter();
                inputs.any(|input| input.name == **name)
            });
            let given: Map<_, _> = given
                .filter_map(|(name, value)| Some((name.clone(), value.resolve(&scope).ok()?)))
                .collect();
            let private_key = private_key.clone();
            let subject = Subject::new(&one.name, described, &given, route.clone(), private_key);
            Ok(Examination {
                name: one.name.clone(),
                checks: subject.checks(described),
                subject,
                route,
                all: all.clone(),
            })
        };
        let examinations = components.iter();
        let examinations = examinations.map(|one| (one.name.clone(), examination(one)));
        let examinations = examinations.collect();
        let id = Uuid::now_v7().to_string();
        let token = actor.session.token().expose();
        Ok(Visit {
            sealed: self.core.keys.seal(&terminals::purpose(&id), token),
            id,
            rule: self.rule(actor, deployment, name),
            entrance,
            private_key,
            examinations,
        })
    }
}

/// The components with health checks that are installed, on servers that the cloud has in order and that are not
/// suspended.
fn components(known: &ResourceTable, catalog: &Catalog, cloud: &[Finding]) -> Vec<Component> {
    let components = known.all().into_iter().filter_map(|(name, thing)| {
        let item = catalog.of_type(&thing.spec.resource_type)?;
        let is_installed = thing.state == ResourceState::Ready && copy_of(&name).is_none();
        let server = thing.spec.host()?.to_owned();
        let is_lost =
            |finding: &Finding| finding.resource == server && finding.kind != FindingKind::Changed;
        let host = known.get(&server);
        let runs = host.is_some_and(|host| host.state != ResourceState::Suspended);
        let is_there = runs && !cloud.iter().any(is_lost);
        let has_checks = !item.described.health.is_empty();
        (is_installed && is_there && has_checks).then(|| Component {
            name,
            item: item.clone(),
            server,
            thing,
        })
    });
    components.collect()
}

fn findings(components: &[Component], mut answers: Answers) -> Vec<Finding> {
    let findings = components.iter().filter_map(|one| {
        let (kind, text) = answers.remove(&one.name)?;
        Some(Finding {
            resource: one.name.clone(),
            resource_type: one.thing.spec.resource_type.clone(),
            kind,
            text,
            differences: Vec::new(),
        })
    });
    findings.collect()
}

impl Visit {
    /// Runs the checks, from the opening of the bastion's rule to its closing.
    async fn run(mut self) -> Answers {
        let core = self.rule.core.clone();
        let tenure = core.lease.tenure();
        let names: Vec<String> = self.examinations.keys().cloned().collect();
        let unknown = |why: String| -> Answers {
            let names = names.iter().cloned();
            names
                .map(|name| (name, (FindingKind::NotCompared, why.clone())))
                .collect()
        };
        let user = RuleUser::Person {
            id: &self.id,
            sealed: &self.sealed,
        };
        // Not interrupted: a rule that the cloud creates after its closing would stay.
        let opening = self.rule.open(&self.entrance, user);
        let opened = openstack::while_permitted(tenure.clone(), opening).await;
        let answers = match opened {
            Err(error) => unknown(format!("the bastion was not opened: {error}")),
            Ok(()) => {
                let examinations = std::mem::take(&mut self.examinations);
                let asking = openstack::while_permitted(tenure.clone(), self.ask(examinations));
                tokio::select! {
                    answers = asking => answers,
                    () = core.stopping.cancelled() => unknown("the server of Stackloom stops; check again".into()),
                }
            }
        };
        let closing = self.rule.close(&self.id, None);
        if let Err(error) = openstack::while_permitted(tenure, closing).await {
            tracing::warn!(%error, deployment.id = self.rule.deployment, "a bastion stays open after a check; it is closed later");
        }
        answers
    }

    /// Asks the components, a few at a time.
    async fn ask(&self, examinations: BTreeMap<String, Result<Examination, String>>) -> Answers {
        let late = "its health checks did not end in time. Check again".to_owned();
        let mut answers = Answers::new();
        let gate = Arc::new(Semaphore::new(PARALLEL_READS));
        let gateway = Arc::new(Gateway::default());
        let mut asked = JoinSet::new();
        for (name, examination) in examinations {
            let examination = match examination {
                Ok(examination) => examination,
                Err(why) => {
                    answers.insert(name, (FindingKind::NotCompared, why));
                    continue;
                }
            };
            answers.insert(name.clone(), (FindingKind::NotCompared, late.clone()));
            let (gate, gateway) = (gate.clone(), gateway.clone());
            let slots = self.rule.core.ssh_attempts.of(&self.rule.tenant);
            let private_key = self.private_key.clone();
            let work = async move {
                let _permit = gate.acquire_owned().await;
                let route = examination.route.clone();
                let wait = Wait::new(route, private_key, &gateway, slots, LOGIN);
                (name, examination.answer(wait, &gateway).await)
            };
            asked.spawn(openstack::under_same_permit(work));
        }
        let gather = async {
            while let Some(ended) = asked.join_next().await {
                let Ok((name, answer)) = ended else { continue };
                match answer {
                    Some(answer) => answers.insert(name, answer),
                    None => answers.remove(&name),
                };
            }
        };
        let _in_time = timeout(DEADLINE, gather).await;
        answers
    }
}

impl Examination {
    /// The answer of a component. `None` if it is healthy.
    async fn answer(
        mut self,
        mut wait: Wait<'_>,
        gateway: &Gateway,
    ) -> Option<(FindingKind, String)> {
        let server = &self.route.host.name;
        loop {
            match wait.news().await {
                WaitProgress::LoggedIn => break,
                WaitProgress::NotYet(_) => {}
                WaitProgress::TimeIsUp(why) => {
                    let text = format!("`{server}` could not be asked over SSH: {why}");
                    return Some((FindingKind::NotCompared, text));
                }
                WaitProgress::HostKey(server) => {
                    let text = format!(
                        "`{server}` shows another SSH host key than the pinned one, so nothing was sent to it"
                    );
                    return Some((FindingKind::NotCompared, text));
                }
            }
        }
        for check in &self.checks {
            let mut attempt = 1;
            let unhealthy = loop {
                match self.subject.attempt(check, gateway).await {
                    Ok(()) => break None,
                    Err(unhealthy) if attempt == ATTEMPTS => break Some(unhealthy),
                    Err(_) => attempt += 1,
                }
                sleep(Duration::from_secs(check.interval.into())).await;
            };
            let title = &check.title;
            match unhealthy {
                None => {}
                Some(Unhealthy::Answer(why)) => {
                    return Some((FindingKind::Unhealthy, format!("{title}: {why}")));
                }
                Some(Unhealthy::Exit(code, output)) => {
                    let named = others(&output, &self.all, &self.name);
                    let mut text = format!("{title}: exit status {code}");
                    if !named.is_empty() {
                        text += &format!("; its output names {}", few(&named));
                    }
                    return Some((FindingKind::Unhealthy, text));
                }
                Some(Unhealthy::Ssh(error @ SshError::NotForwarded { .. })) => {
                    return Some((FindingKind::Unhealthy, format!("{title}: {error}")));
                }
                Some(Unhealthy::Ssh(error)) => {
                    return Some((FindingKind::NotCompared, format!("{title}: {error}")));
                }
            }
        }
        None
    }
}

/// The components that the output of a command names as words, without the component itself (`own`).
fn others<'a>(output: &'a str, all: &BTreeSet<String>, own: &str) -> Vec<&'a str> {
    let words = output.split_whitespace();
    let words = words.map(|word| word.trim_matches(|c: char| "`'\"()[]{}<>,.;:".contains(c)));
    let mut named: Vec<&str> = Vec::new();
    for word in words.filter(|word| *word != own && all.contains(*word)) {
        if !named.contains(&word) {
            named.push(word);
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_only_the_names_of_other_components_from_an_output() {
        let all = ["db", "proxy", "web/1/nginx", "web/12/nginx"].map(str::to_owned);
        let all = BTreeSet::from(all);
        let output = "proxy: 2 of 3 backends do not answer: web/12/nginx at 10.0.0.9:80 (no `web`), \
                      web/1/nginx: sesame; web/12/nginx; dbx";
        assert_eq!(
            others(output, &all, "proxy"),
            ["web/12/nginx", "web/1/nginx"]
        );
        assert_eq!(others("sesame", &all, "proxy"), [""; 0]);
    }
}
