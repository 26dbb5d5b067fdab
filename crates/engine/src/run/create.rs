//! Steps that create resources.
//!
//! A successor is created under the name of the resource that it replaces. That resource is put aside first, in one
//! write with the intent to create the successor, so the journal always contains both ids. The successor's marker
//! differs from its predecessor's, so they cannot be confused after a crash.

use api::ResourceState;
use hot::template::DeletionPolicy;
use planner::workflow::{ResourceSpec, copy_of};
use serde_json::Value;
use store::{CreationKey, ResourceChange};

use super::{
    change::Release,
    context::RunContext,
    driver_input::DriverInput,
    outcome::Ended,
    step::{Attempt, StepResult},
};
use drivers::{Context, Driver, Earlier, Progress};

impl Attempt {
    pub(super) async fn create(&self) -> StepResult {
        let name = self.name()?;
        let spec = self.spec()?;
        if spec.external_id.is_some() {
            return self.adopt(name, spec).await;
        }
        self.take_from_others(&spec).await?;
        let mut earlier = self.earlier;
        if let Some(copy) = &self.step.replaces {
            if !self.run_context.known.was_put_aside(copy) {
                if self.step.if_changed && self.stays(name, &spec)? {
                    self.log
                        .info(format!(
                            "`{name}` is not replaced: its values are unchanged"
                        ))
                        .await;
                    return self.change(name, spec).await;
                }
                self.put_aside(name, copy, Some(&spec)).await?;
                earlier = Earlier::None;
            }
            self.release_exclusive(copy, Release::MakesRoom).await?;
            if self.run_context.known.get(name).is_none() {
                // The replaced resource was deleted first, together with its row.
                self.begin(name, &spec, ResourceState::Creating).await?;
            }
        }
        let work = self.planned_input(name, spec)?;
        self.make(name, &work, earlier).await
    }

    /// Creates the resource, or finds the one that an earlier attempt created.
    pub(super) async fn make(
        &self,
        name: &str,
        work: &DriverInput,
        earlier: Earlier,
    ) -> StepResult {
        let driver = self.driver(&work.spec)?;
        let context = work.context(self);
        let known = self.run_context.known.get(name);
        let mut physical_id = known.and_then(|entry| entry.physical_id);
        let was_never_heard_of = physical_id.is_none() && earlier == Earlier::Possible;
        if let Some(id) = &physical_id
            && let Progress::Failed(why) = driver.progress(&context, id).await?
        {
            self.delete_failed(driver, &context, id, &why).await?;
            physical_id = None;
        }
        let id = match physical_id {
            Some(id) => id,
            None => {
                self.log
                    .info(format!("Creating {} `{name}`", work.spec.resource_type))
                    .await;
                let id = self.create_one(name, driver, &context).await?;
                // A resource that was found by its marker can be broken by an earlier attempt.
                if was_never_heard_of {
                    match driver.progress(&context, &id).await? {
                        Progress::Failed(why) => {
                            self.delete_failed(driver, &context, &id, &why).await?;
                            self.create_one(name, driver, &context).await?
                        }
                        Progress::Pending(_)
                        | Progress::Ready(_)
                        | Progress::Unchanged(_)
                        | Progress::GaveUp(_) => id,
                    }
                } else {
                    id
                }
            }
        };
        self.until_ready(driver, &context, &work.resolved, &id)
            .await
    }

    async fn create_one(
        &self,
        name: &str,
        driver: &dyn Driver,
        context: &Context<'_>,
    ) -> StepResult<String> {
        if let Some(id) = self.created_under_its_name(name, driver, context).await? {
            self.learn_id(name, &id).await?;
            return Ok(id);
        }
        match driver.create(context).await {
            Ok(id) => {
                self.learn_id(name, &id).await?;
                Ok(id)
            }
            // Without this entry, the journal counts the request as one of unknown outcome when its attempt ends.
            Err(error) => {
                if !error.may_still_commit() {
                    self.note(name, ResourceChange::Refused).await?;
                }
                Err(error.into())
            }
        }
    }

    /// The id of the resource that an earlier attempt created, for types whose only marker is a name from the template:
    /// the only unrecorded resource that got the name after the first attempt. The first attempt records the existing
    /// resources with the name. If there are several new ones, none is adopted, because ours cannot be identified.
    pub(super) async fn created_under_its_name(
        &self,
        name: &str,
        driver: &dyn Driver,
        context: &Context<'_>,
    ) -> StepResult<Option<String>> {
        let Some(by_name) = driver.abilities().by_name else {
            return Ok(None);
        };
        let Some(now) = by_name.namesakes(context).await? else {
            return Ok(None);
        };
        let Some(entry) = self.run_context.known.get(name) else {
            return Ok(None);
        };
        let key = CreationKey {
            name: resource_of(name).to_owned(),
            incarnation: entry.incarnation,
            resource_type: entry.spec.resource_type,
        };
        let RunContext {
            core,
            tenant,
            deployment,
            ..
        } = &*self.run_context;
        let before = core
            .store
            .creation_namesakes(tenant, deployment, &key)
            .await;
        let Some(before) = before? else {
            self.note(name, ResourceChange::Namesakes(now)).await?;
            return Ok(None);
        };
        let recorded = core
            .operator
            .creations_now(tenant, deployment, &now.ids)
            .await;
        let recorded = recorded?.recorded;
        let mut new = now
            .ids
            .into_iter()
            .filter(|id| before.are_joined_by(id, &now.name) && !recorded.contains(id));
        Ok(new.next().filter(|_| new.next().is_none()))
    }

    /// Records the cloud's id of a resource.
    pub(super) async fn learn_id(&self, name: &str, id: &str) -> StepResult {
        self.run_context
            .known
            .change(name, |entry| entry.physical_id = Some(id.to_owned()));
        let physical_id = id.to_owned();
        self.note(name, ResourceChange::Known { physical_id }).await
    }

    /// Deletes the leftover of an earlier attempt that failed, before a new resource is created. If it can contain
    /// users' data, they have to decide instead.
    pub(super) async fn delete_failed(
        &self,
        driver: &dyn Driver,
        context: &Context<'_>,
        id: &str,
        why: &str,
    ) -> StepResult {
        let name = self.name()?;
        let why = self.log.masked(why);
        let known = self.run_context.known.get(name);
        let reason = match known {
            Some(entry) if entry.reference.is_some() => Some("there may be data in it"),
            Some(entry) if entry.spec.deletion_policy != DeletionPolicy::Delete => {
                Some("its `deletion_policy` says so")
            }
            _ => None,
        };
        if let Some(reason) = reason
            && !driver.is_gone(context, id).await?
        {
            return Err(Ended::lasting(format!(
                "`{name}` ({id}) is broken: {why}. It is not removed, because {reason}. Repair it in the cloud, \
                 or save what is in it and remove it there; then resume the run, or update again"
            )));
        }
        self.log
            .info(format!("Deleting {id}, which cannot be used: {why}"))
            .await;
        driver.delete(context, Some(id)).await?;
        self.until_gone(driver, context, id).await?;
        self.run_context
            .known
            .change(name, |entry| entry.physical_id = None);
        self.note(name, ResourceChange::Forgotten).await
    }

    /// Records a description before the resource is created from it.
    pub(super) async fn begin(
        &self,
        name: &str,
        spec: &ResourceSpec,
        state: ResourceState,
    ) -> StepResult {
        let incarnation = self.run_context.known.begin(name, spec);
        let change = ResourceChange::Begin {
            spec: Box::new(spec.clone()),
            state,
            incarnation,
        };
        self.note(name, change).await
    }

    /// Reads a resource that the deployment does not own. Never changes it.
    pub(super) async fn adopt(&self, name: &str, spec: ResourceSpec) -> StepResult {
        let scope = self.run_context.known.scope(&self.run_context.parameters);
        let id = match &spec.external_id {
            Some(id) => id.resolve(&scope)?,
            None => Value::Null,
        };
        let id = id.as_str().map(str::to_owned).ok_or_else(|| {
            Ended::lasting("`external_id` must be the id of an object in the cloud")
        })?;
        self.log
            .info(format!(
                "{} `{name}` exists already: {id}",
                spec.resource_type
            ))
            .await;
        let driver = self.driver(&spec)?;
        self.begin(name, &spec, ResourceState::Creating).await?;
        self.learn_id(name, &id).await?;
        let work = self.recorded_input(name, spec);
        let context = work.context(self);
        if let Progress::Failed(why) = driver.progress(&context, &id).await? {
            return Err(Ended::lasting(format!(
                "`{name}` stands for {id} (`external_id`), which cannot be used: {why}"
            )));
        }
        self.until_ready(driver, &context, &work.resolved, &id)
            .await
    }
}

/// The name of a resource, from its own name or a copy's name.
pub(super) fn resource_of(name: &str) -> &str {
    copy_of(name).unwrap_or(name)
}
