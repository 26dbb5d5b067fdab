//! Steps that update resources, and the preparation of successors: the predecessor is put aside, and releases its
//! exclusive values.

use api::ResourceState;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value};
use store::{Entry, ResourceChange};
use types::OnChange;

use super::{
    driver_input::DriverInput,
    outcome::Ended,
    step::{Attempt, StepResult},
};
use crate::resources::{ResourceEntry, together};
use drivers::{Driver, Earlier, Progress};

/// The reason why a resource releases exclusive values.
#[derive(Clone, Copy)]
pub(super) enum Release<'a> {
    /// The resource is the older copy of its successor.
    MakesRoom,
    /// The resource changes later in the run. With the properties of the resource that takes the values over.
    GivesUp(&'a Map<String, Value>),
}

impl Attempt {
    pub(super) async fn update(&self) -> StepResult {
        let name = self.name()?;
        let spec = self.spec()?;
        if spec.external_id.is_some() {
            return self.adopt(name, spec).await;
        }
        self.take_from_others(&spec).await?;
        self.change(name, spec).await
    }

    /// Makes resources that are changed later in this run release the values that this one takes over. If the run fails
    /// in between, they are incomplete until the next update changes them.
    pub(super) async fn take_from_others(&self, spec: &ResourceSpec) -> StepResult {
        if self.step.takes_from.is_empty() {
            return Ok(());
        }
        let taker = self.typed(spec, &self.resolve(spec)?);
        for other in &self.step.takes_from {
            self.note_state(other, ResourceState::Updating).await?;
            self.release_exclusive(other, Release::GivesUp(&taker))
                .await?;
        }
        Ok(())
    }

    /// Changes the resource to its new description. A resource that does not exist is created.
    pub(super) async fn change(&self, name: &str, spec: ResourceSpec) -> StepResult {
        let known = self.run_context.known.get(name);
        let work = self.planned_input(name, spec)?;
        let driver = self.driver(&work.spec)?;
        let Some((id, entry)) = known.and_then(|entry| Some((entry.physical_id.clone()?, entry)))
        else {
            self.begin(name, &work.spec, ResourceState::Creating)
                .await?;
            return self.make(name, &work, Earlier::Possible).await;
        };
        if let Progress::Failed(why) = driver.progress(&work.context(self), &id).await? {
            self.delete_failed(driver, &work.context(self), &id, &why)
                .await?;
            self.begin(name, &work.spec, ResourceState::Creating)
                .await?;
            return self.make(name, &work, Earlier::None).await;
        }
        // Only an existing resource has old values to remove. A new one gets all its values at creation.
        let before = self.recorded_input(name, entry.spec.clone());
        let work = DriverInput {
            before: before.properties,
            tried: entry.tried.clone(),
            ..work
        };
        // After an unfinished change, another copy can still hold values that this one needs.
        for copy in self.run_context.known.copies(name) {
            self.release_exclusive(&copy, Release::MakesRoom).await?;
        }
        let mut work = self.back_to_defaults(&entry, work);
        work.changed = self.differing(&entry, &work);
        let context = work.context(self);
        if self.updates(&work.spec) {
            self.tries(name, &entry, driver, &work).await?;
            self.log
                .info(format!(
                    "Updating {} `{name}` ({id})",
                    work.spec.resource_type
                ))
                .await;
            driver.update(&context, &id).await?;
        }
        let now = driver.id_after_update(&context, &id).await?;
        // From here on, the resource has the new description.
        self.run_context.known.change(name, |entry| {
            entry.spec = work.spec.clone();
            entry.state = ResourceState::Updating;
        });
        self.note(
            name,
            ResourceChange::Begin {
                spec: Box::new(work.spec.clone()),
                state: ResourceState::Updating,
                incarnation: entry.incarnation,
            },
        )
        .await?;
        if now != id {
            self.learn_id(name, &now).await?;
        }
        self.until_ready(driver, &context, &work.resolved, &now)
            .await
    }

    /// Records the values that a change can write into a resource, before the change starts. If it does not finish, the
    /// next change removes them.
    pub(super) async fn tries(
        &self,
        name: &str,
        entry: &ResourceEntry,
        driver: &dyn Driver,
        work: &DriverInput,
    ) -> StepResult {
        let Some(update) = driver.abilities().update else {
            return Ok(());
        };
        let mut tried = entry.tried.clone();
        for property in update.removable_entries() {
            let value = work.properties.get(*property).unwrap_or(&Value::Null);
            let is_said = !value.is_null() || work.before.contains_key(*property);
            if is_said && self.may_be_shown(&work.spec, property, value) {
                let both = together(tried.get(*property), value);
                tried.insert((*property).to_owned(), both);
            }
        }
        if tried == entry.tried {
            return Ok(());
        }
        let remembered = tried.clone();
        self.run_context
            .known
            .change(name, |entry| entry.tried = remembered);
        self.note(name, ResourceChange::Tries { tried }).await
    }

    /// True if the type has properties that can be updated in place.
    pub(super) fn updates(&self, spec: &ResourceSpec) -> bool {
        match self.run_context.catalog.registry().get(&spec.resource_type) {
            Some(described) => described
                .properties
                .iter()
                .any(|property| property.on_change == OnChange::UpdateInPlace),
            None => true,
        }
    }

    // ---- successors ----

    /// Moves the resource to the copy's name. With a successor, the intent to create it is stored in the same write.
    pub(super) async fn put_aside(
        &self,
        name: &str,
        copy: &str,
        successor: Option<&ResourceSpec>,
    ) -> StepResult {
        let mut entries = Vec::new();
        if let Some(entry) = self.run_context.known.get(name) {
            entries.push(Entry::Resource {
                name: name.to_owned(),
                change: ResourceChange::PutAside {
                    copy: copy.to_owned(),
                    // The start of this step changed the recorded state, but the resource itself is unchanged.
                    state: entry.state,
                    physical_id: entry.physical_id,
                },
            });
        }
        self.run_context.known.put_aside(name, copy);
        if let Some(spec) = successor {
            let incarnation = self.run_context.known.begin(name, spec);
            entries.push(Entry::Resource {
                name: name.to_owned(),
                change: ResourceChange::Begin {
                    spec: Box::new(spec.clone()),
                    state: ResourceState::Creating,
                    incarnation,
                },
            });
        }
        self.write(entries).await
    }

    /// Makes another copy, or another resource, release values that only one of the two can have.
    pub(super) async fn release_exclusive(&self, other: &str, why: Release<'_>) -> StepResult {
        let Some(entry) = self.run_context.known.get(other) else {
            return Ok(());
        };
        let Some(id) = entry.physical_id else {
            return Ok(());
        };
        let Some(handover) = self.driver(&entry.spec)?.abilities().handover else {
            return Ok(());
        };
        let work = self.recorded_input(other, entry.spec);
        let context = work.context(self);
        let mut logged = String::new();
        for pause in self.pauses() {
            let progress = match why {
                Release::MakesRoom => handover.hand_over_to_successor(&context, &id).await?,
                Release::GivesUp(taker) => handover.hand_over(&context, &id, taker).await?,
            };
            match progress {
                Progress::Ready(_) => return Ok(()),
                Progress::Failed(why) => return Err(Ended::infrastructure(why)),
                Progress::Unchanged(how) | Progress::GaveUp(how) => {
                    let how = self.log.masked(&how);
                    return Err(Ended::infrastructure(format!("`{other}` {how}")));
                }
                Progress::Pending(what) => {
                    if what != logged {
                        self.log.info(what.clone()).await;
                        logged = what;
                    }
                }
            }
            self.pause(pause).await?;
        }
        Err(Ended::lasting("there are no more pauses"))
    }

    /// True if no property that requires a replacement has changed.
    pub(super) fn stays(&self, name: &str, spec: &ResourceSpec) -> StepResult<bool> {
        let Some(entry) = self.run_context.known.get(name) else {
            return Ok(false);
        };
        if entry.physical_id.is_none() || entry.spec.resource_type != spec.resource_type {
            return Ok(false);
        }
        let properties = self.resolve(spec)?;
        let described = self.run_context.catalog.registry().get(&spec.resource_type);
        let names = entry.spec.properties.keys().chain(spec.properties.keys());
        Ok(names
            .filter(|name| {
                described
                    .and_then(|described| described.property(name))
                    .is_none_or(|property| property.on_change == OnChange::Replace)
            })
            .all(|name| self.is_same(&entry, name, spec, &properties)))
    }

    // ---- differences ----

    /// Adds the defaults of properties that are no longer in the template, as in Heat. The cloud would keep their old
    /// values.
    fn back_to_defaults(&self, entry: &ResourceEntry, mut work: DriverInput) -> DriverInput {
        let described = self
            .run_context
            .catalog
            .registry()
            .get(&work.spec.resource_type);
        for name in entry.spec.properties.keys() {
            let property = described.and_then(|described| described.property(name));
            let default = property
                .filter(|property| property.on_change == OnChange::UpdateInPlace)
                .and_then(|property| property.default.clone());
            if let Some(default) = default
                && !work.resolved.contains_key(name)
            {
                work.resolved.insert(name.clone(), default);
            }
        }
        work.properties = self.typed(&work.spec, &work.resolved);
        work
    }

    /// The properties whose values differ from those at creation, or that a repair restores.
    fn differing(&self, entry: &ResourceEntry, work: &DriverInput) -> Vec<String> {
        let names = entry
            .spec
            .properties
            .keys()
            .chain(work.spec.properties.keys());
        let mut names: Vec<String> = names
            .filter(|name| !self.is_same(entry, name, &work.spec, &work.resolved))
            .cloned()
            .collect();
        if self.step.repairs {
            names.extend(self.step.changed.iter().cloned());
        }
        names.sort();
        names.dedup();
        names
    }

    /// Compares a property with its value at creation. Secrets cannot be compared, so for them the plan decides.
    pub(super) fn is_same(
        &self,
        entry: &ResourceEntry,
        name: &str,
        spec: &ResourceSpec,
        properties: &Map<String, Value>,
    ) -> bool {
        match entry.made_from.get(name) {
            Some(made) => Some(made) == properties.get(name).or(Some(&Value::Null)),
            None => {
                entry.spec.properties.get(name) == spec.properties.get(name)
                    && !self.step.changed.iter().any(|changed| changed == name)
            }
        }
    }
}
