//! Steps that create and change resources.
//!
//! A successor is created under the name of the resource that it replaces. That resource is put aside first, in one write with
//! the intent to create the successor, so that the journal has the ids of both at any moment. The successor's marker differs from
//! its predecessor's, so neither is taken for the other after a crash.

use api::ResourceState;
use hot::template::DeletionPolicy;
use planner::workflow::{ResourceSpec, copy_of};
use serde_json::{Map, Value};
use store::{CreationKey, Entry, ResourceChange};
use types::OnChange;

use super::{
    outcome::Ended,
    step::{Attempt, StepResult},
};
use crate::{
    driver::{Accepted, Context, Driver, Earlier, Login, Marker, Progress},
    machine::{Failure, FailureClass},
    resources::{ResourceEntry, together},
};

/// The data that a driver's context borrows.
pub(super) struct Work {
    pub spec: ResourceSpec,
    /// The values of the properties as they are resolved, which plans compare.
    pub resolved: Map<String, Value>,
    /// The same in the types of their description, which drivers read.
    pub properties: Map<String, Value>,
    pub before: Map<String, Value>,
    pub tried: Map<String, Value>,
    pub changed: Vec<String>,
    pub marker: Marker,
    pub login: Option<Login>,
    pub accepted: Accepted,
}

/// The reason why a resource releases what it holds.
#[derive(Clone, Copy)]
enum Why<'a> {
    /// It is the older copy.
    MakesRoom,
    /// It is about to be changed itself; with the properties of the resource that takes over.
    GivesUp(&'a Map<String, Value>),
}

impl Work {
    pub fn context<'a>(&'a self, attempt: &'a Attempt) -> Context<'a> {
        Context {
            session: &attempt.site.session,
            marker: &self.marker,
            properties: &self.properties,
            before: &self.before,
            tried: &self.tried,
            changed: &self.changed,
            marks: &self.spec.marks,
            vault: &attempt.site.vault,
            login: self.login.as_ref(),
            accepted: &self.accepted,
            earlier: attempt.earlier,
            goes_back: attempt.site.goes_back,
        }
    }
}

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
            if !self.site.known.was_put_aside(copy) {
                if self.step.if_changed && self.stays(name, &spec)? {
                    self.log
                        .info(format!(
                            "`{name}` would be made from the same values: it stays"
                        ))
                        .await;
                    return self.change(name, spec).await;
                }
                self.put_aside(name, copy, Some(&spec)).await?;
                earlier = Earlier::None;
            }
            self.lets_go(copy, Why::MakesRoom).await?;
            if self.site.known.get(name).is_none() {
                // The resource that it replaces was deleted first, and its row with it.
                self.begin(name, &spec, ResourceState::Creating).await?;
            }
        }
        let work = self.work(name, spec)?;
        self.make(name, &work, earlier).await
    }

    pub(super) async fn update(&self) -> StepResult {
        let name = self.name()?;
        let spec = self.spec()?;
        if spec.external_id.is_some() {
            return self.adopt(name, spec).await;
        }
        self.take_from_others(&spec).await?;
        self.change(name, spec).await
    }

    /// Makes resources that are changed later in this run release what this one takes over. If the run fails in between, they are
    /// incomplete until an update changes them.
    async fn take_from_others(&self, spec: &ResourceSpec) -> StepResult {
        if self.step.takes_from.is_empty() {
            return Ok(());
        }
        let taker = self.typed(spec, &self.resolve(spec)?);
        for other in &self.step.takes_from {
            self.note_state(other, ResourceState::Updating).await?;
            self.lets_go(other, Why::GivesUp(&taker)).await?;
        }
        Ok(())
    }

    fn work(&self, name: &str, spec: ResourceSpec) -> StepResult<Work> {
        let resolved = self.resolve(&spec)?;
        Ok(Work {
            properties: self.typed(&spec, &resolved),
            resolved,
            before: Map::new(),
            tried: Map::new(),
            changed: Vec::new(),
            marker: self.marker(name),
            login: self.login(name, &spec)?,
            accepted: Accepted::default(),
            spec,
        })
    }

    /// The work on an existing resource, with the values that it was created from: other resources in them may be gone.
    pub(super) fn work_on_what_is_there(&self, name: &str, spec: ResourceSpec) -> Work {
        let scope = self.site.known.scope(&self.site.parameters);
        let resolved = spec
            .properties
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.resolve(&scope).ok()?)));
        let mut resolved: Map<String, Value> = resolved.collect();
        if let Some(thing) = self.site.known.get(name) {
            resolved.extend(thing.made_from);
        }
        Work {
            properties: self.typed(&spec, &resolved),
            resolved,
            before: Map::new(),
            tried: Map::new(),
            changed: Vec::new(),
            marker: self.marker(name),
            login: None,
            accepted: Accepted::default(),
            spec,
        }
    }

    /// Creates the resource, or finds the one that an earlier attempt created.
    async fn make(&self, name: &str, work: &Work, earlier: Earlier) -> StepResult {
        let driver = self.driver(&work.spec)?;
        let context = work.context(self);
        let known = self.site.known.get(name);
        let mut physical_id = known.and_then(|thing| thing.physical_id);
        let was_never_heard_of = physical_id.is_none() && earlier == Earlier::Possible;
        if let Some(id) = &physical_id
            && let Progress::Failed(why) = driver.progress(&context, id).await?
        {
            self.clear_away(driver, &context, id, &why).await?;
            physical_id = None;
        }
        let id = match physical_id {
            Some(id) => id,
            None => {
                self.log
                    .info(format!("creating {} `{name}`", work.spec.resource_type))
                    .await;
                let id = self.create_one(name, driver, &context).await?;
                // A resource that was found by its marker may have been left broken by an earlier attempt.
                if was_never_heard_of {
                    match driver.progress(&context, &id).await? {
                        Progress::Failed(why) => {
                            self.clear_away(driver, &context, &id, &why).await?;
                            self.create_one(name, driver, &context).await?
                        }
                        Progress::Pending(_) | Progress::Ready(_) | Progress::Unchanged(_) => id,
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

    /// The id of the resource that an earlier attempt created, for types whose only marker is a name from the template: the one
    /// resource that got the name since the first attempt and that no record has. The first attempt notes the resources that have
    /// the name. If there are several new ones, none is taken, because nothing tells which one is ours.
    pub(super) async fn created_under_its_name(
        &self,
        name: &str,
        driver: &dyn Driver,
        context: &Context<'_>,
    ) -> StepResult<Option<String>> {
        let Some(now) = driver.namesakes(context).await? else {
            return Ok(None);
        };
        let Some(thing) = self.site.known.get(name) else {
            return Ok(None);
        };
        let key = CreationKey {
            name: resource_of(name).to_owned(),
            incarnation: thing.incarnation,
            resource_type: thing.spec.resource_type,
        };
        let super::step::Site {
            core,
            tenant,
            deployment,
            ..
        } = &*self.site;
        let before = core
            .store
            .creation_namesakes(tenant, deployment, &key)
            .await;
        let Some(before) = before.map_err(storage_failed)? else {
            self.note(name, ResourceChange::Namesakes(now)).await?;
            return Ok(None);
        };
        let recorded = core
            .operator
            .creations_now(tenant, deployment, &now.ids)
            .await;
        let recorded = recorded.map_err(storage_failed)?.recorded;
        let mut new = now
            .ids
            .into_iter()
            .filter(|id| before.are_joined_by(id, &now.name) && !recorded.contains(id));
        Ok(new.next().filter(|_| new.next().is_none()))
    }

    async fn learn_id(&self, name: &str, id: &str) -> StepResult {
        self.site
            .known
            .change(name, |thing| thing.physical_id = Some(id.to_owned()));
        let physical_id = id.to_owned();
        self.note(name, ResourceChange::Known { physical_id }).await
    }

    /// Deletes the rest of an earlier attempt that failed, before a new resource is created. If users may have put data into it,
    /// they have to decide instead.
    async fn clear_away(
        &self,
        driver: &dyn Driver,
        context: &Context<'_>,
        id: &str,
        why: &str,
    ) -> StepResult {
        let name = self.name()?;
        let why = self.log.masked(why);
        let known = self.site.known.get(name);
        let kept = match known {
            Some(thing) if thing.reference.is_some() => Some("there may be data in it"),
            Some(thing) if thing.spec.deletion_policy != DeletionPolicy::Delete => {
                Some("its `deletion_policy` says so")
            }
            _ => None,
        };
        if let Some(kept) = kept
            && !driver.is_gone(context, id).await?
        {
            return Err(Ended::lasting(format!(
                "`{name}` ({id}) is broken: {why}. It is not removed, because {kept}. Repair it in the cloud, \
                 or save what is in it and remove it there; then resume the run, or update again"
            )));
        }
        self.log
            .info(format!("{id} is of no use ({why}): it is removed"))
            .await;
        driver.delete(context, Some(id)).await?;
        self.until_gone(driver, context, id).await?;
        self.site
            .known
            .change(name, |thing| thing.physical_id = None);
        self.note(name, ResourceChange::Forgotten).await
    }

    /// Changes the resource to its new description. A resource that does not exist is created.
    async fn change(&self, name: &str, spec: ResourceSpec) -> StepResult {
        let known = self.site.known.get(name);
        let work = self.work(name, spec)?;
        let driver = self.driver(&work.spec)?;
        let Some((id, thing)) = known.and_then(|thing| Some((thing.physical_id.clone()?, thing)))
        else {
            self.begin(name, &work.spec, ResourceState::Creating)
                .await?;
            return self.make(name, &work, Earlier::Possible).await;
        };
        if let Progress::Failed(why) = driver.progress(&work.context(self), &id).await? {
            self.clear_away(driver, &work.context(self), &id, &why)
                .await?;
            self.begin(name, &work.spec, ResourceState::Creating)
                .await?;
            return self.make(name, &work, Earlier::None).await;
        }
        // Only an existing resource has old values to remove. A new one gets all its values at creation.
        let before = self.work_on_what_is_there(name, thing.spec.clone());
        let work = Work {
            before: before.properties,
            tried: thing.tried.clone(),
            ..work
        };
        // After an unfinished change, another copy may hold what this one needs.
        for copy in self.site.known.copies(name) {
            self.lets_go(&copy, Why::MakesRoom).await?;
        }
        let mut work = self.back_to_defaults(&thing, work);
        work.changed = self.differing(&thing, &work);
        let context = work.context(self);
        if self.updates(&work.spec) {
            self.tries(name, &thing, driver, &work).await?;
            self.log
                .info(format!(
                    "changing {} `{name}` ({id})",
                    work.spec.resource_type
                ))
                .await;
            driver.update(&context, &id).await?;
        }
        let now = driver.id_after_update(&context, &id).await?;
        // From here on, the resource has the new description.
        self.site.known.change(name, |thing| {
            thing.spec = work.spec.clone();
            thing.state = ResourceState::Updating;
        });
        self.note(
            name,
            ResourceChange::Begin {
                spec: Box::new(work.spec.clone()),
                state: ResourceState::Updating,
                incarnation: thing.incarnation,
            },
        )
        .await?;
        if now != id {
            self.learn_id(name, &now).await?;
        }
        self.until_ready(driver, &context, &work.resolved, &now)
            .await
    }

    /// Records the values that a change may put into a resource before it starts. If the change does not finish, the next one
    /// removes them.
    async fn tries(
        &self,
        name: &str,
        thing: &ResourceEntry,
        driver: &dyn Driver,
        work: &Work,
    ) -> StepResult {
        let mut tried = thing.tried.clone();
        for property in driver.takes_away() {
            let value = work.properties.get(*property).unwrap_or(&Value::Null);
            let is_said = !value.is_null() || work.before.contains_key(*property);
            if is_said && self.may_be_told(&work.spec, property, value) {
                let both = together(tried.get(*property), value);
                tried.insert((*property).to_owned(), both);
            }
        }
        if tried == thing.tried {
            return Ok(());
        }
        let remembered = tried.clone();
        self.site
            .known
            .change(name, |thing| thing.tried = remembered);
        self.note(name, ResourceChange::Tries { tried }).await
    }

    async fn begin(&self, name: &str, spec: &ResourceSpec, state: ResourceState) -> StepResult {
        let incarnation = self.site.known.begin(name, spec);
        let change = ResourceChange::Begin {
            spec: Box::new(spec.clone()),
            state,
            incarnation,
        };
        self.note(name, change).await
    }

    /// True if the type has properties that can be updated in place.
    fn updates(&self, spec: &ResourceSpec) -> bool {
        match self.site.catalog.registry().get(&spec.resource_type) {
            Some(described) => described
                .properties
                .iter()
                .any(|property| property.on_change == OnChange::UpdateInPlace),
            None => true,
        }
    }

    /// Reads a resource that the deployment does not own, and never changes it.
    async fn adopt(&self, name: &str, spec: ResourceSpec) -> StepResult {
        let scope = self.site.known.scope(&self.site.parameters);
        let id = match &spec.external_id {
            Some(id) => id.resolve(&scope)?,
            None => Value::Null,
        };
        let id = id.as_str().map(str::to_owned).ok_or_else(|| {
            Ended::lasting("`external_id` must be the id of an object in the cloud")
        })?;
        self.log
            .info(format!("`{name}` is {id}, which is there already"))
            .await;
        let driver = self.driver(&spec)?;
        self.begin(name, &spec, ResourceState::Creating).await?;
        self.learn_id(name, &id).await?;
        let work = self.work_on_what_is_there(name, spec);
        let context = work.context(self);
        if let Progress::Failed(why) = driver.progress(&context, &id).await? {
            return Err(Ended::lasting(format!(
                "`{name}` stands for {id} (`external_id`), which cannot be used: {why}"
            )));
        }
        self.until_ready(driver, &context, &work.resolved, &id)
            .await
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
        if let Some(thing) = self.site.known.get(name) {
            entries.push(Entry::Resource {
                name: name.to_owned(),
                change: ResourceChange::PutAside {
                    copy: copy.to_owned(),
                    // The start of this step changed the recorded state, but nothing was done to the resource.
                    state: thing.state,
                    physical_id: thing.physical_id,
                },
            });
        }
        self.site.known.put_aside(name, copy);
        if let Some(spec) = successor {
            let incarnation = self.site.known.begin(name, spec);
            entries.push(Entry::Resource {
                name: name.to_owned(),
                change: ResourceChange::Begin {
                    spec: Box::new(spec.clone()),
                    state: ResourceState::Creating,
                    incarnation,
                },
            });
        }
        self.site
            .core
            .journal
            .write(&self.site.tenant, &self.site.run, entries)
            .await
            .map_err(|error| Ended::lasting(error.to_string()))
    }

    /// Makes another copy, or another resource, release what only one of both can hold.
    async fn lets_go(&self, other: &str, why: Why<'_>) -> StepResult {
        let Some(thing) = self.site.known.get(other) else {
            return Ok(());
        };
        let Some(id) = thing.physical_id else {
            return Ok(());
        };
        let driver = self.driver(&thing.spec)?;
        let work = self.work_on_what_is_there(other, thing.spec);
        let context = work.context(self);
        for pause in self.pauses() {
            let asked = match why {
                Why::MakesRoom => driver.make_room(&context, &id).await?,
                Why::GivesUp(taker) => driver.give_up(&context, &id, taker).await?,
            };
            match asked {
                Progress::Ready(_) => return Ok(()),
                Progress::Failed(why) => return Err(Ended::infrastructure(why)),
                Progress::Unchanged(how) => {
                    let how = self.log.masked(&how);
                    return Err(Ended::infrastructure(format!("`{other}` {how}")));
                }
                Progress::Pending(what) => self.log.info(what).await,
            }
            self.pause(pause).await?;
        }
        Err(Ended::lasting("there are no more pauses"))
    }

    /// True if no property that requires a replacement has changed after all.
    fn stays(&self, name: &str, spec: &ResourceSpec) -> StepResult<bool> {
        let Some(thing) = self.site.known.get(name) else {
            return Ok(false);
        };
        if thing.physical_id.is_none() || thing.spec.resource_type != spec.resource_type {
            return Ok(false);
        }
        let properties = self.resolve(spec)?;
        let described = self.site.catalog.registry().get(&spec.resource_type);
        let names = thing.spec.properties.keys().chain(spec.properties.keys());
        Ok(names
            .filter(|name| {
                described
                    .and_then(|described| described.property(name))
                    .is_none_or(|property| property.on_change == OnChange::Replace)
            })
            .all(|name| self.is_same(&thing, name, spec, &properties)))
    }

    // ---- differences ----

    /// Adds the defaults of properties that the template does not set any more, as in Heat. The cloud would keep their old
    /// values.
    fn back_to_defaults(&self, thing: &ResourceEntry, mut work: Work) -> Work {
        let described = self.site.catalog.registry().get(&work.spec.resource_type);
        for name in thing.spec.properties.keys() {
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

    /// The properties whose values differ from those at creation.
    fn differing(&self, thing: &ResourceEntry, work: &Work) -> Vec<String> {
        let names = thing
            .spec
            .properties
            .keys()
            .chain(work.spec.properties.keys());
        let mut names: Vec<String> = names
            .filter(|name| !self.is_same(thing, name, &work.spec, &work.resolved))
            .cloned()
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Compares a property with its value at creation. Secrets cannot be compared, so for them the plan decides.
    fn is_same(
        &self,
        thing: &ResourceEntry,
        name: &str,
        spec: &ResourceSpec,
        properties: &Map<String, Value>,
    ) -> bool {
        match thing.made_from.get(name) {
            Some(made) => Some(made) == properties.get(name).or(Some(&Value::Null)),
            None => {
                thing.spec.properties.get(name) == spec.properties.get(name)
                    && !self.step.changed.iter().any(|changed| changed == name)
            }
        }
    }
}

/// The name of a resource, also for the name of a copy.
pub(super) fn resource_of(name: &str) -> &str {
    copy_of(name).unwrap_or(name)
}

fn storage_failed(error: store::Error) -> Ended {
    Ended::Failed(Failure::new(FailureClass::Transient, error.to_string()))
}
