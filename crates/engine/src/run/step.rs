//! One attempt at one step.
//!
//! Every part can run twice: an existing resource in the cloud is found again, and a fact in the journal is not
//! requested again. A waiting step uses no thread and no process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use api::ResourceState;
use futures::future::BoxFuture;
use planner::{
    plan::suspension::Direction,
    workflow::{ResourceSpec, Step, StepKind, copy_of},
};
use serde_json::{Map, Value};
use store::{Entry, ResourceChange};
use tokio_util::sync::CancellationToken;
use types::catalog::CatalogItem;

use super::{
    context::RunContext,
    log::StepLog,
    origin::{self, Origins},
    outcome::Ended,
};
use crate::{
    bastion::key_pair,
    compute::in_place,
    resources::{made_from, made_with},
    secrets::attributes,
    ssh::LOGIN_USER,
};
use drivers::{Context, Driver, Earlier, Login, Marker, Progress, Ready, Vault};

impl RunContext {
    /// Runs the always-run steps of a run that is abandoned before it reaches them.
    pub async fn perform_always_run(self) -> StepResult {
        let run_context = Arc::new(self);
        // The run that replaces this one does the sweep.
        let owed = |step: &&Step| step.always_run && step.kind != StepKind::Sweep;
        for step in run_context.workflow.steps.iter().filter(owed) {
            let log = StepLog {
                journal: run_context.journal.clone(),
                step: step.id.clone(),
                mask: run_context.mask.clone(),
            };
            let attempt = Attempt {
                run_context: run_context.clone(),
                step: step.clone(),
                number: 0,
                earlier: Earlier::Possible,
                was_interrupted: false,
                stop: CancellationToken::new(),
                log,
                report: Box::new(|_| {}),
                tidying: Mutex::default(),
            };
            attempt.perform().await?;
        }
        Ok(())
    }
}

/// One attempt.
pub struct Attempt {
    pub run_context: Arc<RunContext>,
    pub step: Step,
    /// Number of the attempt, from 1. A repetition after a crash has the same one.
    pub number: u32,
    /// Whether an earlier attempt can have created the step's resource.
    pub earlier: Earlier,
    /// True if the last work on the step's resource possibly did not end well, in this run or an earlier one, or if another
    /// step has made the resource incomplete since.
    pub was_interrupted: bool,
    pub stop: CancellationToken,
    pub log: StepLog,
    /// Reports to the run's task that the attempt enters or leaves a queue of the engine.
    pub report: Box<dyn Fn(QueueMove) + Send + Sync>,
    /// Work that must not begin before the attempt's ending is in the journal.
    pub tidying: Mutex<Option<BoxFuture<'static, ()>>>,
}

/// An attempt enters or leaves a queue of the engine. Its time limit is suspended in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMove {
    /// The attempt enters a queue.
    In,
    /// The attempt leaves a queue.
    Out,
}

pub type StepResult<T = ()> = Result<T, Ended>;

impl Attempt {
    /// Runs the attempt. In the step's log, a line separates a repeated attempt from the one before it.
    pub async fn perform(&self) -> StepResult {
        if self.number > 1 {
            self.log.info(format!("Attempt {}", self.number)).await;
        }
        self.lock_server().await?;
        if let StepKind::Create | StepKind::Update | StepKind::Configure = self.step.kind {
            self.read_requested_attributes().await?;
        }
        match self.step.kind {
            StepKind::Create => self.create().await,
            StepKind::Update | StepKind::Configure
                if types::is_software_deployment(&self.spec()?.resource_type) =>
            {
                self.deploy_software().await
            }
            StepKind::Update if self.item()?.is_some() => self.configure().await,
            StepKind::Update => self.update().await,
            StepKind::Delete => self.delete().await,
            StepKind::OpenBastion => self.open_bastion().await,
            StepKind::CloseBastion => self.close_bastion().await,
            StepKind::WaitForSsh => self.wait_for_ssh().await,
            StepKind::Install => self.install().await,
            StepKind::Configure => self.configure().await,
            StepKind::Pause => self.rest().await,
            StepKind::Hook => self.hook().await,
            StepKind::Sweep => self.sweep().await,
            StepKind::Command => self.command().await,
            StepKind::Suspend => self.suspend_or_resume(Direction::Suspend).await,
            StepKind::Resume => self.suspend_or_resume(Direction::Resume).await,
            StepKind::Snapshot => self.take_snapshot().await,
            StepKind::Restore => self.restore().await,
        }
    }

    // ---- the resource ----

    /// Name of the step's resource.
    pub(super) fn name(&self) -> StepResult<&str> {
        self.step
            .resource
            .as_deref()
            .ok_or_else(|| Ended::lasting("the step names no resource"))
    }

    /// The description of the step's resource.
    pub(super) fn spec(&self) -> StepResult<ResourceSpec> {
        let name = self.name()?;
        let planned = self.run_context.workflow.resources.get(name).cloned();
        // A deletion works on the existing resource, not on a planned one.
        let there = self.run_context.known.get(name).map(|entry| entry.spec);
        let spec = if self.step.kind == StepKind::Delete {
            there.or(planned)
        } else {
            planned.or(there)
        };
        spec.ok_or_else(|| Ended::lasting(format!("the workflow does not describe `{name}`")))
    }

    fn item(&self) -> StepResult<Option<&CatalogItem>> {
        Ok(self
            .run_context
            .catalog
            .of_type(&self.spec()?.resource_type)
            .map(|item| &item.described))
    }

    /// The values of a description's properties. Properties without a value are left out.
    pub(super) fn resolve(&self, spec: &ResourceSpec) -> StepResult<Map<String, Value>> {
        in_place(|| self.resolve_now(spec))
    }

    fn resolve_now(&self, spec: &ResourceSpec) -> StepResult<Map<String, Value>> {
        let scope = self.run_context.known.scope(&self.run_context.parameters);
        let mut properties = Map::new();
        for (name, value) in &spec.properties {
            let value = value
                .resolve(&scope)
                .map_err(|error| Ended::lasting(format!("property `{name}`: {error}")))?;
            if !value.is_null() {
                properties.insert(name.clone(), value);
            }
        }
        Ok(properties)
    }

    /// Resolved properties in the types of their description.
    pub(super) fn typed(
        &self,
        spec: &ResourceSpec,
        resolved: &Map<String, Value>,
    ) -> Map<String, Value> {
        match self.run_context.catalog.registry().get(&spec.resource_type) {
            Some(described) => types::typed(&described.properties, resolved),
            None => resolved.clone(),
        }
    }

    /// The driver of a description's type.
    pub(super) fn driver(&self, spec: &ResourceSpec) -> StepResult<&'static dyn Driver> {
        drivers::driver_for(&spec.resource_type).ok_or_else(|| {
            Ended::lasting(format!(
                "resources of type `{}` cannot be deployed yet; take it out of the template",
                spec.resource_type
            ))
        })
    }

    /// The marker of a resource in the cloud.
    pub(super) fn marker(&self, resource: &str) -> Marker {
        Marker {
            deployment: self.run_context.deployment.clone(),
            deployment_name: self.run_context.deployment_name.clone(),
            resource: self.marked_as(resource),
        }
    }

    /// The name in the marker. A successor's marker differs from that of the resource that it replaces.
    fn marked_as(&self, name: &str) -> String {
        let incarnation = self
            .run_context
            .known
            .get(name)
            .map_or(0, |entry| entry.incarnation);
        Marker::resource_of(copy_of(name).unwrap_or(name), incarnation)
    }

    /// The values that a later plan compares, without secrets.
    pub(super) fn made_from(
        &self,
        name: &str,
        resolved: &Map<String, Value>,
    ) -> BTreeMap<String, Value> {
        let Some(entry) = self.run_context.known.get(name) else {
            return BTreeMap::new();
        };
        let mut values = made_from(&entry.spec, resolved);
        self.with_origins(|origins| {
            values.retain(|property, value| {
                !origins.property_is_secret(&entry.spec, property) && !self.is_masked(value)
            });
        });
        values
    }

    /// Digests of the hidden values that a resource has now, for later plans.
    pub(super) fn made_with(&self, name: &str) -> BTreeMap<String, String> {
        let Some(entry) = self.run_context.known.get(name) else {
            return BTreeMap::new();
        };
        let (key, deployment) = (&self.run_context.core.keys, &self.run_context.deployment);
        made_with(&entry.spec, &self.run_context.hidden, |parameter| {
            let value = self.run_context.parameters.get(parameter)?;
            Some(attributes::digest(key, deployment, parameter, value))
        })
    }

    /// Looks up the origins of values.
    fn with_origins<R>(&self, look: impl FnOnce(&Origins<'_>) -> R) -> R {
        let spec_of = |name: &str| {
            let planned = self.run_context.workflow.resources.get(name).cloned();
            planned.or_else(|| Some(self.run_context.known.get(name)?.spec))
        };
        look(&Origins::of(&self.run_context.hidden, &spec_of))
    }

    /// True if the value of a property can be stored in clear text.
    pub(super) fn may_be_shown(&self, spec: &ResourceSpec, property: &str, value: &Value) -> bool {
        let is_secret = self.with_origins(|origins| origins.property_is_secret(spec, property));
        !is_secret && !self.is_masked(value)
    }

    /// True if the value literally contains a secret of this run. Such a value is not stored in clear text, regardless
    /// of its origin.
    fn is_masked(&self, value: &Value) -> bool {
        let text = value.to_string();
        self.run_context.mask.apply(&text) != text
    }

    /// The stored form of a resource's attributes: secrets sealed, the others unchanged.
    pub(super) fn to_store(
        &self,
        name: &str,
        reference: &Value,
        attributes: &Map<String, Value>,
    ) -> (Value, Map<String, Value>) {
        let (key, deployment) = (&self.run_context.core.keys, &self.run_context.deployment);
        let (reference_is_secret, secret) = self.with_origins(|origins| {
            let secret: Vec<&str> = attributes
                .iter()
                .filter(|(attribute, value)| {
                    origins.attribute_is_secret(name, attribute) || self.is_masked(value)
                })
                .map(|(attribute, _)| attribute.as_str())
                .collect();
            (origins.reference_is_secret(name), secret)
        });
        let reference = if reference_is_secret || self.is_masked(reference) {
            attributes::seal(key, deployment, name, "", reference)
        } else {
            reference.clone()
        };
        let attributes = attributes::seal_all(key, deployment, name, &secret, attributes);
        (reference, attributes)
    }

    /// The data that a server needs for our login. `None` if no step logs in, of this run or of a later wait for signals.
    pub(super) fn login(&self, name: &str, spec: &ResourceSpec) -> StepResult<Option<Login>> {
        let checked = |step: &Step| {
            step.kind == StepKind::WaitForSsh && step.resource.as_deref() == Some(name)
        };
        let signals = spec.marks.signals_over_ssh && spec.resource_type == types::SERVER;
        let is_needed =
            spec.marks.bastion || signals || self.run_context.workflow.steps.iter().any(checked);
        if !is_needed {
            return Ok(None);
        }
        let Some((_, public_key)) = key_pair(&self.run_context.known) else {
            return Ok(None);
        };
        let public_key = public_key
            .ok_or_else(|| Ended::lasting("the deployment's key pair is not created yet"))?;
        Ok(Some(Login {
            user: LOGIN_USER.into(),
            public_key,
        }))
    }

    /// The private key of the deployment's key pair.
    pub(super) async fn private_key(&self) -> StepResult<zeroize::Zeroizing<String>> {
        let (name, _) = key_pair(&self.run_context.known)
            .ok_or_else(|| Ended::lasting("the deployment has no key pair to log in with"))?;
        let stored = self
            .run_context
            .vault
            .get(&drivers::marker::marker_name(&self.marker(&name)))
            .await?;
        if let Some(key) = &stored {
            self.run_context.mask.add(key);
        }
        stored.map(zeroize::Zeroizing::new).ok_or_else(|| {
            Ended::lasting("the deployment's private key is gone from the key manager; undeploy and deploy again to get a new one")
        })
    }

    // ---- journal ----

    /// Records a change of a resource in the journal.
    pub(super) async fn note(&self, name: &str, change: ResourceChange) -> StepResult {
        let entry = Entry::Resource {
            name: name.to_owned(),
            change,
        };
        self.write(vec![entry]).await
    }

    /// Writes entries to the journal.
    pub(super) async fn write(&self, entries: Vec<Entry>) -> StepResult {
        let written = self.run_context.journal.write(entries).await;
        written.map_err(|error| Ended::lasting(error.to_string()))
    }

    /// Records the state of a resource, here and in the journal.
    pub(super) async fn note_state(&self, name: &str, state: ResourceState) -> StepResult {
        let physical_id = self
            .run_context
            .known
            .get(name)
            .and_then(|entry| entry.physical_id);
        self.run_context
            .known
            .change(name, |entry| entry.state = state);
        self.note(name, ResourceChange::To { state, physical_id })
            .await
    }

    // ---- waiting ----

    /// Pauses between the batches of a group. After a crash the pause starts again.
    async fn rest(&self) -> StepResult {
        let seconds = self.step.pause_seconds;
        let message =
            format!("Waiting {seconds} s before the next members, as the update policy requires");
        self.log.info(message).await;
        self.pause(Duration::from_secs(seconds.into())).await
    }

    /// Sleeps, or returns early if the step is stopped.
    pub(super) async fn pause(&self, duration: Duration) -> StepResult {
        tokio::select! {
            () = tokio::time::sleep(duration) => Ok(()),
            () = self.stop.cancelled() => Err(Ended::Stopped),
        }
    }

    /// Pauses between looks at the cloud: each longer than the last, up to a limit, without an end.
    pub(super) fn pauses(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        let longest = self.run_context.core.config.poll_longest;
        let first = self.run_context.core.config.poll_first;
        std::iter::successors(Some(first), move |pause| {
            Some(pause.mul_f32(1.4).min(longest))
        })
    }

    // ---- waiting for resources ----

    /// Waits until the resource is ready, and records it.
    pub(super) async fn until_ready(
        &self,
        driver: &dyn Driver,
        context: &Context<'_>,
        resolved: &Map<String, Value>,
        id: &str,
    ) -> StepResult {
        let name = self.name()?;
        if let Some(ready) = self.made_up(driver, name) {
            return self.ready(driver, resolved, id, ready).await;
        }
        let mut last_message = String::new();
        let mut spools = Box::pin(self.spools()).await?;
        for pause in self.pauses() {
            if let Some(spools) = &mut spools {
                Box::pin(self.fetch_signals(spools)).await?;
            }
            match driver.progress(context, id).await? {
                Progress::Ready(mut ready) => {
                    if !drivers::is_of_the_language(&self.spec()?.resource_type) {
                        drivers::marker::hide(&mut ready.attributes);
                    }
                    return self.ready(driver, resolved, id, ready).await;
                }
                Progress::Failed(why) => {
                    self.note_state(name, ResourceState::Failed).await?;
                    return Err(Ended::infrastructure(format!(
                        "the cloud gave up on `{name}` ({id}): {}",
                        self.log.masked(&why)
                    )));
                }
                Progress::Unchanged(how) => {
                    self.note_state(name, ResourceState::Failed).await?;
                    let how = self.log.masked(&how);
                    return Err(Ended::lasting(format!("`{name}` {how}")));
                }
                Progress::GaveUp(how) => {
                    // First, so that a later attempt begins anew even if the server stops now.
                    self.run_context
                        .known
                        .change(name, |entry| entry.physical_id = None);
                    self.note(name, ResourceChange::Forgotten).await?;
                    driver.delete(context, Some(id)).await?;
                    let how = self.log.masked(&how);
                    return Err(Ended::lasting(format!("`{name}` {how}")));
                }
                Progress::Pending(what) => {
                    if what != last_message {
                        self.log.info(format!("`{name}`: {what}")).await;
                        last_message = what;
                    }
                }
            }
            self.pause(pause).await?;
        }
        Err(Ended::lasting("there are no more pauses"))
    }

    /// Generated values of a driver that are already in the journal. They are not generated again.
    fn made_up(&self, driver: &dyn Driver, name: &str) -> Option<Ready> {
        let secrets = driver.abilities().secrets;
        let entry = self.run_context.known.get(name)?;
        let has_all = secrets
            .iter()
            .all(|one| entry.attributes.contains_key(*one));
        (!secrets.is_empty() && has_all).then(|| Ready {
            reference: entry.reference.unwrap_or_default(),
            attributes: entry.attributes,
        })
    }

    /// Records that the resource is ready: from now on, others can refer to it.
    async fn ready(
        &self,
        driver: &dyn Driver,
        resolved: &Map<String, Value>,
        id: &str,
        ready: Ready,
    ) -> StepResult {
        let name = self.name()?;
        for (attribute, value) in &ready.attributes {
            if origin::is_masked(Some(driver), attribute) {
                self.run_context.mask.add_value(value);
            }
        }
        let made_from = self.made_from(name, resolved);
        let (reference, attributes) = self.to_store(name, &ready.reference, &ready.attributes);
        let change = ResourceChange::Ready {
            reference,
            attributes,
            physical_id: Some(id.to_owned()),
            made_from: made_from.clone(),
            made_with: self.made_with(name),
            health: None,
        };
        self.run_context.known.change(name, |entry| {
            entry.reference = Some(ready.reference);
            entry.attributes = ready.attributes;
            entry.made_from = made_from;
            entry.tried = Map::new();
            entry.state = ResourceState::Ready;
        });
        self.note(name, change).await?;
        self.log.info(format!("`{name}` is ready: {id}")).await;
        Ok(())
    }
}
