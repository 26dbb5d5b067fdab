//! The step that removes strays, and waits until no new ones can appear.
//!
//! A run with creations of unknown outcome searches for their markers at its end, with growing pauses, until the
//! horizon of the last one has passed. Other runs make no calls. An undeployment searches for the markers of all
//! creations that its deployment ever began, before it reports that nothing is left. Before its first deletion it waits
//! for creations of unknown outcome, because late resources would block deletions.
//!
//! The sweep does not wait for updates. An update whose response was lost is sent again with the same values, so a late
//! execution is harmless. Only if it is executed after the *next* change of the same resource (a roll-back, for
//! example), its values stay in the cloud until the next update.

use std::time::{Duration, Instant};

use api::RunKind;
use jiff::Timestamp;

use super::{
    outcome::Ended,
    step::{Attempt, StepResult},
    strays::{Found, StrayVerdict, Why, WithoutId, classify, is_pending_for, search},
};
use drivers::{Accepted, Context, Driver, DriverError, Marker, Search, driver_for};
use store::Creation;

/// The longest pause between two searches.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Maximum time until a deleted resource is gone.
const PATIENCE: Duration = Duration::from_secs(300);

/// The result of one search.
#[derive(Default)]
struct SweepResult {
    removed: usize,
    /// Resources that could not be removed: type, id and the service's error text.
    refused: Vec<String>,
    /// Resources that are never removed, with the reason.
    remaining: Vec<(Found, Why)>,
}

/// The creations that a search covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Creations with a request of unknown outcome.
    Pending,
    /// All creations in the journal.
    All,
}

impl Attempt {
    /// Removes strays until no new ones can appear.
    pub(super) async fn sweep(&self) -> StepResult {
        let scope = if self.is_last_of_undeployment() {
            Scope::All
        } else {
            Scope::Pending
        };
        let without_id = match scope {
            Scope::All => WithoutId::Remove,
            Scope::Pending => WithoutId::KeepOne,
        };
        let mut logged = None;
        for pause in self.search_pauses() {
            let searched_at = Timestamp::now();
            let creations = self.creations().await?;
            let pending = self.pending(&creations);
            let until = pending.iter().map(|(_, until)| *until).max();
            if until.is_none() && scope == Scope::Pending {
                return Ok(());
            }
            let pass = self
                .search_and_remove(&creations, scope, without_id)
                .await?;
            let Some(until) = until.filter(|until| searched_at < *until) else {
                if pass.refused.is_empty() {
                    let swept: Vec<&Creation> = pending.iter().map(|(one, _)| *one).collect();
                    self.note_swept(&swept).await?;
                }
                return self.tell_the_rest(pass, scope).await;
            };
            if logged != Some(until) {
                self.tell_what_is_waited_for(&pending, until).await;
                logged = Some(until);
            }
            let left = Duration::try_from(until.duration_since(Timestamp::now()));
            self.pause(pause.min(left.unwrap_or_default())).await?;
        }
        Err(Ended::lasting("there are no more pauses"))
    }

    /// Deletes a resource. Strays can cause a conflict: while creations are of unknown outcome, strays are removed and
    /// the deletion is tried again.
    pub(super) async fn delete_past_strays(
        &self,
        driver: &dyn Driver,
        context: &Context<'_>,
        id: Option<&str>,
    ) -> StepResult {
        for pause in self.search_pauses() {
            let refused = match driver.delete(context, id).await {
                Err(DriverError::Cloud(error)) if error.is_conflict() => error,
                // A missing service has created nothing.
                Err(DriverError::Cloud(error @ openstack::Error::NoService { .. }))
                    if id.is_none() =>
                {
                    self.log
                        .info(format!("There is nothing to delete: {error}"))
                        .await;
                    return Ok(());
                }
                done => return Ok(done?),
            };
            let creations = self.creations().await?;
            let now = Timestamp::now();
            if self
                .pending(&creations)
                .iter()
                .all(|(_, until)| *until < now)
            {
                return Err(refused.into());
            }
            self.log
                .info(format!(
                    "{refused}. A request of unknown outcome may be the cause: strays are searched for, and the deletion is tried again"
                ))
                .await;
            self.search_and_remove(&creations, Scope::Pending, WithoutId::KeepAll)
                .await?;
            self.pause(pause).await?;
        }
        Err(Ended::lasting("there are no more pauses"))
    }

    fn is_last_of_undeployment(&self) -> bool {
        self.run_context.kind == RunKind::Undeploy && self.step.always_run
    }

    async fn creations(&self) -> StepResult<Vec<Creation>> {
        let run_context = &self.run_context;
        let creations = run_context
            .core
            .store
            .creation_list(&run_context.tenant, &run_context.deployment);
        Ok(creations.await?)
    }

    async fn note_swept(&self, swept: &[&Creation]) -> StepResult {
        let run_context = &self.run_context;
        let store = &run_context.core.store;
        let noted = store
            .creation_mark_swept(&run_context.tenant, &run_context.deployment, swept)
            .await;
        Ok(noted?)
    }

    /// Creations with a request of unknown outcome, and the latest time at which each can be carried out.
    fn pending<'a>(&self, creations: &'a [Creation]) -> Vec<(&'a Creation, Timestamp)> {
        let horizon = self.run_context.core.config.commit_horizon;
        let pending = creations.iter().filter_map(|creation| {
            let until = creation.pending_until(horizon)?;
            is_pending_for(self.run_context.kind, &creation.key.resource_type)
                .then_some((creation, until))
        });
        pending.collect()
    }

    /// Searches once, and removes all strays in the result.
    async fn search_and_remove(
        &self,
        creations: &[Creation],
        scope: Scope,
        without_id: WithoutId,
    ) -> StepResult<SweepResult> {
        let run_context = &self.run_context;
        let wanted = creations
            .iter()
            .filter(|one| scope == Scope::All || (one.uncertain_since.is_some() && !one.swept));
        let named = (
            run_context.deployment.as_str(),
            run_context.deployment_name.as_str(),
        );
        let searched = search(&run_context.session, &run_context.vault, named, wanted).await?;
        for unlisted in &searched.unlisted {
            self.log
                .warn(format!(
                    "Your roles do not permit a search for strays here: {unlisted}"
                ))
                .await;
        }
        let ids: Vec<String> = searched
            .found
            .iter()
            .map(|found| found.physical_id.clone())
            .collect();
        let operator = &run_context.core.operator;
        let now = operator.creations_now(&run_context.tenant, &run_context.deployment, &ids);
        let now = now.await?;
        let horizon = run_context.core.config.commit_horizon;
        let verdicts = classify(&searched.found, &now, without_id, horizon);
        let mut pass = SweepResult::default();
        let mut strays = Vec::new();
        for (found, verdict) in searched.found.into_iter().zip(verdicts) {
            match verdict {
                StrayVerdict::NotStray => {}
                StrayVerdict::Remove => strays.push(found),
                StrayVerdict::Keep(why) => pass.remaining.push((found, why)),
            }
        }
        self.remove_strays(strays, &mut pass).await?;
        Ok(pass)
    }

    /// Tries to delete all strays, and repeats refused deletions while any succeeds. So nested resources need no order.
    async fn remove_strays(&self, mut strays: Vec<Found>, pass: &mut SweepResult) -> StepResult {
        while !strays.is_empty() {
            let results = strays.iter().map(|stray| self.remove_stray(stray));
            let results = futures::future::join_all(results).await;
            let tried = strays.len();
            let mut left = Vec::new();
            pass.refused.clear();
            for (stray, result) in strays.into_iter().zip(results) {
                let Err(ended) = result else {
                    pass.removed += 1;
                    self.log
                        .info(format!(
                            "Deleted {}: it has the marker of `{}`, and no resource uses it",
                            described(&stray),
                            stray.key.name
                        ))
                        .await;
                    continue;
                };
                if matches!(ended, Ended::NoToken | Ended::Stopped) {
                    return Err(ended);
                }
                pass.refused.push(format!("{}: {ended}", described(&stray)));
                left.push(stray);
            }
            if left.len() == tried {
                return Ok(());
            }
            strays = left;
        }
        Ok(())
    }

    async fn remove_stray(&self, stray: &Found) -> StepResult {
        let Some(driver) = driver_for(&stray.key.resource_type) else {
            return Ok(());
        };
        let marker = Marker {
            deployment: self.run_context.deployment.clone(),
            deployment_name: self.run_context.deployment_name.clone(),
            resource: Marker::resource_of(&stray.key.name, stray.key.incarnation),
        };
        let search = Search {
            session: &self.run_context.session,
            vault: &self.run_context.vault,
            deployment: &self.run_context.deployment,
            markers: &[],
            names: &[],
            accepted: Accepted::default(),
        };
        let context = search.context(&marker);
        let id = stray.physical_id.as_str();
        driver.delete(&context, Some(id)).await?;
        let started = Instant::now();
        for pause in self.pauses() {
            if driver.is_gone(&context, id).await? {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                break;
            }
            self.pause(pause).await?;
        }
        Err(Ended::infrastructure(format!(
            "it was deleted, and is still there after {} s",
            PATIENCE.as_secs()
        )))
    }

    /// Logs the remaining strays after the last search. If the run succeeds, its end lists them too.
    async fn tell_the_rest(&self, pass: SweepResult, scope: Scope) -> StepResult {
        let remaining = pass
            .remaining
            .iter()
            .filter(|(_, why)| *why != Why::Retained);
        for (found, why) in remaining {
            let text = format!(
                "{} has the marker of `{}` and stays in the cloud: {}",
                described(found),
                found.key.name,
                why.text()
            );
            self.log.warn(&text).await;
            self.run_context.known.remark(text);
        }
        if pass.refused.is_empty() {
            return Ok(());
        }
        let refused = format!(
            "left in the cloud by requests that were carried out late, and not to be removed: {}",
            pass.refused.join("; ")
        );
        if scope == Scope::All {
            return Err(Ended::infrastructure(format!(
                "{refused}. Remove what blocks them, or delete these resources by hand; then resume the run"
            )));
        }
        self.log.warn(&refused).await;
        self.run_context
            .known
            .remark(format!("{refused}. The next run tries again"));
        Ok(())
    }

    async fn tell_what_is_waited_for(&self, pending: &[(&Creation, Timestamp)], until: Timestamp) {
        const NAMED: usize = 10;
        let names = pending.iter().take(NAMED);
        let names: Vec<String> = names
            .map(|(creation, _)| format!("`{}`", creation.key.name))
            .collect();
        let more = match pending.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.log
            .info(format!(
                "The cloud may still carry out requests that got no answer, for {}{more}: searching until {until:.0} for resources that they create \
                 (STACKLOOM_COMMIT_HORIZON)",
                names.join(", ")
            ))
            .await;
    }

    fn search_pauses(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        let first = self.run_context.core.config.poll_first;
        std::iter::successors(Some(first), |pause| Some(pause.mul_f32(1.5).min(PAUSE_MAX)))
    }
}

fn described(found: &Found) -> String {
    let name = found.name.as_deref();
    let name = name.map(|name| format!(" (`{name}`)")).unwrap_or_default();
    format!("{} {}{name}", found.key.resource_type, found.physical_id)
}
