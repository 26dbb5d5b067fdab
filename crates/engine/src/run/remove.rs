//! Steps that take things away.
//!
//! Some things stay in the cloud: those that were never ours (`external_id`), those that the template says
//! to keep (`deletion_policy`), and those that something else of the deployment has become by then. They are
//! forgotten here, and told at the end of the run.

use api::ResourceState;
use topology::workflow::{DeletionPolicy, StepKind};

use super::{
    address,
    known::Thing,
    outcome::Ended,
    step::{Attempt, StepResult},
};
use crate::{
    driver::{Context, Driver, Progress},
    journal::ResourceChange,
};

impl Attempt {
    pub(super) async fn delete(&self) -> StepResult {
        let name = self.name()?;
        if let Some(copy) = &self.step.replaces
            && !self.site.known.was_put_aside(copy)
        {
            // It makes way for its successor, so it gives up its name now.
            self.put_aside(super::make::resource_of(copy), copy, None)
                .await?;
        }
        let there = self.site.known.get(name);
        if there.is_none() && topology::workflow::copy_of(name).is_some() {
            self.log.info(format!("`{name}` is gone already")).await;
            return Ok(());
        }
        let spec = self.spec()?;
        if crate::catalog::item_name(&spec.resource_type).is_some() {
            self.log
                .warn(format!(
                    "`{name}` stays installed on its server; only its server's end removes it"
                ))
                .await;
            return self.gone(name).await;
        }
        let id = there.as_ref().and_then(|thing| thing.physical_id.clone());
        if let Some(why) = self.why_it_stays(name, there.as_ref()) {
            let what = id.as_deref().unwrap_or("which was never made");
            self.log
                .warn(format!("`{name}` ({what}) stays in the cloud: {why}"))
                .await;
            if spec.external_id.is_none() {
                let kept = id
                    .as_ref()
                    .map(|id| format!("`{name}` ({}, {id})", spec.resource_type));
                let driver = self.driver(&spec)?;
                let work = self.work_on_what_is_there(name, spec);
                driver.release(&work.context(self), id.as_deref()).await?;
                kept.into_iter().for_each(|kept| self.site.known.keep(kept));
            }
            return self.gone(name).await;
        }
        if let (Some(id), Some(other)) = (&id, self.has_become(name, there.as_ref())) {
            self.log
                .info(format!("{id} is `{other}` now: it stays"))
                .await;
            return self.gone(name).await;
        }
        let driver = self.driver(&spec)?;
        let work = self.work_on_what_is_there(name, spec);
        let context = work.context(self);
        // Of what never was ready there is nothing to keep.
        let was_ready = there.is_some_and(|thing| thing.reference.is_some());
        if let (Some(id), DeletionPolicy::Snapshot, true) =
            (&id, work.spec.deletion_policy, was_ready)
        {
            self.snapshot(driver, &context, id).await?;
        }
        self.log
            .info(format!(
                "deleting {} `{name}`{}",
                work.spec.resource_type,
                id.as_deref()
                    .map(|id| format!(" ({id})"))
                    .unwrap_or_default()
            ))
            .await;
        if id.is_some() {
            let wait = driver.waits_before_delete(&context).await?;
            if !wait.is_zero() {
                self.log
                    .info(format!("`{name}` waits {} s", wait.as_secs()))
                    .await;
                self.pause(wait).await?;
            }
        }
        driver.delete(&context, id.as_deref()).await?;
        if let Some(id) = &id {
            self.until_gone(driver, &context, id).await?;
        }
        self.log.info(format!("`{name}` is gone")).await;
        // Software goes with its server.
        let with_it: Vec<String> = self
            .site
            .known
            .all()
            .iter()
            .filter(|(_, thing)| address::host_of(thing) == Some(name))
            .map(|(name, _)| name.clone())
            .collect();
        for component in with_it {
            self.gone(&component).await?;
        }
        self.gone(name).await
    }

    fn why_it_stays(&self, name: &str, thing: Option<&Thing>) -> Option<String> {
        let spec = thing
            .map(|thing| &thing.spec)
            .or_else(|| self.site.workflow.resources.get(name))?;
        if spec.external_id.is_some() {
            return Some("it was there before (`external_id`)".to_owned());
        }
        (spec.deletion_policy == DeletionPolicy::Retain)
            .then(|| "`deletion_policy` is Retain".to_owned())
    }

    /// Another resource that is the same thing by now and does not go itself: a router's foot in a subnet
    /// under another name, for instance.
    fn has_become(&self, name: &str, thing: Option<&Thing>) -> Option<String> {
        let thing = thing?;
        let goes = |other: &str| {
            self.site.workflow.steps.iter().any(|step| {
                step.kind == StepKind::Delete && step.resource.as_deref() == Some(other)
            })
        };
        let all = self.site.known.with_copies();
        all.into_iter()
            .find(|(other, one)| {
                other != name
                    && one.physical_id == thing.physical_id
                    && one.spec.resource_type == thing.spec.resource_type
                    && !goes(other)
            })
            .map(|(other, _)| other)
    }

    async fn snapshot(&self, driver: &dyn Driver, context: &Context<'_>, id: &str) -> StepResult {
        let mut told = String::new();
        for pause in self.pauses() {
            match driver.snapshot(context, id).await? {
                Progress::Ready(ready) => {
                    let snapshot = ready.reference.as_str().unwrap_or_default().to_owned();
                    self.log
                        .info(format!("a snapshot of {id} is kept: {snapshot}"))
                        .await;
                    return Ok(());
                }
                Progress::Failed(why) => {
                    return Err(Ended::lasting(format!(
                        "no snapshot of {id} was made: {why}"
                    )));
                }
                Progress::Pending(what) => {
                    if what != told {
                        self.log.info(what.clone()).await;
                        told = what;
                    }
                }
            }
            self.pause(pause).await?;
        }
        Err(Ended::lasting("there are no more pauses"))
    }

    async fn gone(&self, name: &str) -> StepResult {
        self.note(
            name,
            ResourceChange::To {
                state: ResourceState::Deleted,
                physical_id: None,
            },
        )
        .await?;
        self.site.known.remove(name);
        Ok(())
    }

    pub(super) async fn until_gone(
        &self,
        driver: &dyn Driver,
        context: &Context<'_>,
        id: &str,
    ) -> StepResult {
        for pause in self.pauses() {
            if driver.is_gone(context, id).await? {
                return Ok(());
            }
            self.pause(pause).await?;
        }
        Err(Ended::lasting("there are no more pauses"))
    }
}
