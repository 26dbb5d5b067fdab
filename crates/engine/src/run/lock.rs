//! Locks of servers. A deployment has one changing run, and commands run beside it, so a step waits while a step of another
//! run works on its server.
//!
//! # Which steps lock
//!
//! A step locks one server or none ([`Attempt::server_at_work`]): the server that it replaces, changes, suspends, resumes,
//! takes a snapshot of, restores or deletes, that it waits for over SSH, on which it runs software, a script or a command,
//! or from which it detaches a volume to restore it. A step that makes a new server locks none, because no command knows
//! the server yet, and the check of a command's bastion only logs in. A connection through the bastion is no work on it: a
//! bastion that goes away ends the commands behind it, and their steps say so.
//!
//! # Why nothing waits for ever
//!
//! A step takes its lock before everything else, such as a sandbox, and keeps it until it is no longer running. So a step
//! that has a lock waits for no lock, and there is no circle. A step that waits for its next attempt has none. The lock is
//! a column of the step in the database ([`Store::step_lock`](store::Store::step_lock)), which each move of the step
//! clears: an end, a cancellation and a pause release it without further work. After a crash the run is taken up again,
//! here or at another server of ours, and its steps still have their locks; until then the others wait for it.
//!
//! # What the others see
//!
//! The log of the waiting step says which step of whose run it waits for. Its time limit is suspended meanwhile. A command
//! reads the resources again when it has its lock ([`Attempt::check_target`]), because a run may have changed them in the
//! meantime.

use api::{ResourceState, RunKind};
use planner::workflow::{StepKind, copy_of};
use store::{LockingStep, to_text};

use super::{
    context::mask_attributes,
    outcome::Ended,
    step::{Attempt, QueueMove, StepResult},
};
use crate::{
    catalog::is_software,
    resources::{ResourceEntry, ResourceTable},
    secrets::{CommandContent, attributes},
};

impl Attempt {
    /// Locks the server that the step works on. Waits while a step of another run has locked it.
    pub(super) async fn lock_server(&self) -> StepResult {
        let Some(server) = self.server_at_work()? else {
            return Ok(());
        };
        let mut reported: Option<LockingStep> = None;
        for pause in self.pauses() {
            match self.try_lock(&server).await {
                Ok(None) => break,
                Ok(Some(other)) if reported.as_ref() == Some(&other) => {}
                Ok(Some(other)) => {
                    if reported.is_none() {
                        (self.report)(QueueMove::In);
                    }
                    self.log.info(waiting(&server, &other)).await;
                    reported = Some(other);
                }
                // The journal waits for the database too.
                Err(error) if error.is_transient() => {
                    tracing::debug!(%error, server, "the lock of a server cannot be looked at");
                }
                Err(error) => return Err(Ended::lasting(error.to_string())),
            }
            self.pause(pause).await?;
        }
        if reported.is_some() {
            (self.report)(QueueMove::Out);
            self.log
                .info(format!("`{server}` is no longer locked"))
                .await;
        }
        Ok(())
    }

    async fn try_lock(&self, server: &str) -> store::Result<Option<LockingStep>> {
        let context = &self.run_context;
        let held = (context.run.as_str(), context.journal.fence());
        let store = &context.core.store;
        store
            .step_lock(&context.tenant, held, &self.step.id, server)
            .await
    }

    /// The server that the step works on, if it works on one that existed before it.
    fn server_at_work(&self) -> StepResult<Option<String>> {
        let kind = self.step.kind;
        match kind {
            StepKind::Command => return Ok(Some(self.name()?.to_owned())),
            StepKind::Create
            | StepKind::Update
            | StepKind::Delete
            | StepKind::Install
            | StepKind::Configure
            | StepKind::Suspend
            | StepKind::Resume
            | StepKind::Snapshot
            | StepKind::Restore => {}
            // A command changes nothing of its bastion.
            StepKind::WaitForSsh if self.run_context.kind != RunKind::Command => {}
            StepKind::WaitForSsh
            | StepKind::OpenBastion
            | StepKind::CloseBastion
            | StepKind::Pause
            | StepKind::Hook
            | StepKind::Sweep => return Ok(None),
        }
        let name = self.name()?;
        // A copy that is gone has no description.
        let Ok(spec) = self.spec() else {
            return Ok(None);
        };
        let with_volume;
        let server = if is_software(&spec.resource_type) {
            // Software goes with its server, unless the step was led to the server.
            let stays = |host: &&str| {
                kind != StepKind::Delete || self.step.after.contains(&format!("{host}:ssh"))
            };
            spec.host().filter(stays)
        } else if spec.resource_type == types::SERVER {
            let known = self.run_context.known.get(name);
            let is_there = known.is_some_and(|entry| entry.physical_id.is_some());
            (is_there || self.step.replaces.is_some()).then_some(name)
        } else if kind == StepKind::Restore && spec.resource_type == types::VOLUME {
            with_volume = self.server_with_volume(name);
            with_volume.as_deref()
        } else {
            None
        };
        Ok(server.map(|server| copy_of(server).unwrap_or(server).to_owned()))
    }

    /// The server that has the volume of the step, by an attachment of the deployment or as one of its devices.
    fn server_with_volume(&self, name: &str) -> Option<String> {
        let volume = self.step.server_id.as_deref()?;
        let known = &self.run_context.known;
        let server_of = |entry: &ResourceEntry| {
            let id = entry.physical_id.as_deref()?;
            let (server, attached) = id.split_once(':')?;
            (attached == volume).then(|| server.to_owned())
        };
        let attachment = known.find(|entry| {
            entry.spec.resource_type == types::VOLUME_ATTACHMENT && server_of(entry).is_some()
        });
        let attached = attachment.and_then(|(_, entry)| server_of(&entry));
        let attached = attached.and_then(|id| known.with_id(&id).into_iter().next());
        attached.or_else(|| {
            let has_device = |entry: &ResourceEntry| {
                let mut devices = entry.spec.devices();
                devices.any(|device| device.resources().contains(&name))
            };
            let server =
                known.find(|entry| entry.spec.resource_type == types::SERVER && has_device(entry));
            server.map(|(server, _)| server)
        })
    }

    /// Reads the resources again for a command that has locked its server, and checks that the command is still for them.
    pub(super) async fn check_target(&self, server: &str, content: &CommandContent) -> StepResult {
        let context = &self.run_context;
        let component = content.component(&self.step.id);
        let known = &context.known;
        let before = component.and_then(|component| known.get(component));
        {
            // Two steps must not replace a newer state by an older one.
            let _turn = context.rereads.lock().await;
            let (store, id) = (&context.core.store, &context.deployment);
            let rows = store.resource_list_all(&context.tenant, id).await?;
            let now = ResourceTable::of(attributes::open(&context.core.keys, id, rows));
            mask_attributes(&context.mask, &now);
            known.replace(now);
        }
        let gone = |how: &str| {
            Err(Ended::lasting(format!(
                "`{server}` {how} since the command was given. Nothing was started on it; run the command again on the servers that \
                 need it"
            )))
        };
        let Some(now) = known.get(server) else {
            return gone("is gone: a run has deleted it");
        };
        let expected = self.step.server_id.as_ref();
        if expected.is_some() && expected != now.physical_id.as_ref() {
            return gone("is gone: a run has replaced it");
        }
        if now.state == ResourceState::Suspended {
            return gone("was suspended");
        }
        let (Some(component), Some(before)) = (component, before) else {
            return Ok(());
        };
        let now = known.get(component);
        if now.is_some_and(|now| now.spec == before.spec && now.spec.host() == Some(server)) {
            return Ok(());
        }
        Err(Ended::lasting(format!(
            "a run has changed or removed `{component}` since the command was given. Nothing was started on `{server}`; run the \
             command again if it is still needed"
        )))
    }
}

fn waiting(server: &str, other: &LockingStep) -> String {
    let LockingStep {
        step,
        run,
        kind,
        author,
    } = other;
    format!(
        "Waiting for `{server}`: the step `{step}` of another run works on it ({}, by {author}, {run})",
        to_text(kind)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_step_tells_whose_step_it_waits_for() {
        let other = LockingStep {
            step: "nginx:configure".into(),
            run: "0199".into(),
            kind: RunKind::Update,
            author: "ada".into(),
        };
        assert_eq!(
            waiting("web", &other),
            "Waiting for `web`: the step `nginx:configure` of another run works on it (update, by ada, 0199)"
        );
    }
}
