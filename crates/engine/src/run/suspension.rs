//! Steps that suspend and resume the servers of a deployment, and run the software that acts on it.
//!
//! A server counts as suspended from before the first request until it is resumed: after a crash it may be suspended,
//! and a resumption of one that is not changes nothing. A server without a way to the wanted state, such as one that
//! was switched off, stays as it is; the end of the run names it.

use api::ResourceState;
use drivers::Suspension;
use planner::plan::suspension::Direction;

use super::{
    outcome::Ended,
    step::{Attempt, StepResult},
};

impl Attempt {
    /// Suspends or resumes the step's server, or runs its software for that.
    pub(super) async fn suspend_or_resume(&self, direction: Direction) -> StepResult {
        let name = self.name()?.to_owned();
        let known = self.run_context.known.get(&name);
        let entry =
            known.ok_or_else(|| Ended::lasting(format!("`{name}` is not there any more")))?;
        if types::is_software_deployment(&entry.spec.resource_type) {
            return self.act_on(&name, &entry.spec, direction.action()).await;
        }
        let driver = self.driver(&entry.spec)?;
        let (Some(id), Some(suspends)) = (entry.physical_id, driver.abilities().suspension) else {
            return Err(Ended::lasting(format!(
                "`{name}` is no server in the cloud"
            )));
        };
        let done = match direction {
            Direction::Suspend => ResourceState::Suspended,
            Direction::Resume => ResourceState::Ready,
        };
        if direction == Direction::Suspend {
            self.note_state(&name, ResourceState::Suspended).await?;
        }
        let work = self.recorded_input(&name, entry.spec);
        let context = work.context(self);
        let mut logged = String::new();
        for pause in self.pauses() {
            let progress = match direction {
                Direction::Suspend => suspends.suspend(&context, &id).await?,
                Direction::Resume => suspends.resume(&context, &id).await?,
            };
            match progress {
                Suspension::Done => {
                    self.note_state(&name, done).await?;
                    let message = match direction {
                        Direction::Suspend => format!("`{name}` is suspended ({id})"),
                        Direction::Resume => format!("`{name}` runs again ({id})"),
                    };
                    self.log.info(message).await;
                    return Ok(());
                }
                Suspension::NotPossible(why) => {
                    self.note_state(&name, ResourceState::Ready).await?;
                    let not = match direction {
                        Direction::Suspend => "not suspended",
                        Direction::Resume => "not resumed",
                    };
                    let message = format!("`{name}` was {not}: {}", self.log.masked(&why));
                    self.log.warn(message.clone()).await;
                    self.run_context.known.remark(message);
                    return Ok(());
                }
                Suspension::Refused(how) => {
                    let how = self.log.masked(&how);
                    return Err(Ended::lasting(format!("`{name}` {how}")));
                }
                Suspension::UnderWay(what) => {
                    if what != logged {
                        self.log.info(format!("`{name}`: {what}")).await;
                        logged = what;
                    }
                }
            }
            self.pause(pause).await?;
        }
        Err(Ended::lasting("there are no more pauses"))
    }
}
