//! Journal entries of a run's moves, and the text at its end.

use api::{DeploymentState, ResourceState, RunKind, RunState, StepState};
use planner::workflow::StepKind;
use store::{Entry, ResourceChange};

use super::RunTask;
use crate::{
    machine::{Move, StepIndex},
    run::context::RunContext,
    secrets::CommandContent,
};

impl RunTask {
    /// Adds the entries of a move.
    pub(super) fn enter(&mut self, entry: Move, entries: &mut Vec<Entry>) {
        match entry {
            Move::Run {
                state,
                ending,
                reason,
            } => {
                let deployment = match (state, self.kind) {
                    // Its resources stay as they are, whatever the run does.
                    (_, kind) if kind.keeps_deployment() => None,
                    (RunState::Succeeded, RunKind::Undeploy) => Some(DeploymentState::Undeployed),
                    (RunState::Succeeded, RunKind::Suspend) => Some(DeploymentState::Suspended),
                    (RunState::Succeeded, _) => Some(DeploymentState::Deployed),
                    (RunState::Failed | RunState::Cancelled, _) => Some(DeploymentState::Failed),
                    _ => Some(DeploymentState::Running),
                };
                entries.push(Entry::Run {
                    state,
                    ending,
                    reason,
                    deployment,
                });
            }
            Move::Step {
                step,
                state,
                attempt,
                error,
                retry_at,
            } => {
                let node = &self.run.graph.nodes()[step];
                entries.push(Entry::Step {
                    step: node.id.clone(),
                    state,
                    attempt,
                    error,
                    retry_at: retry_at.map(|at| at.to_string()),
                });
                self.enter_resource(step, state, entries);
            }
        }
    }

    /// The resource's entry for a step's move: the intent is stored before the call to the cloud.
    fn enter_resource(&mut self, index: StepIndex, state: StepState, entries: &mut Vec<Entry>) {
        let step = &self.workflow.steps[index];
        let Some(name) = &step.resource else { return };
        if state == StepState::Skipped {
            let changes = matches!(step.kind, StepKind::Configure | StepKind::Update);
            if changes && self.is_outdated(name) {
                entries.push(Entry::Resource {
                    name: name.clone(),
                    change: self.to(name, ResourceState::Failed),
                });
            }
            return;
        }
        let Some(run_context) = &self.run_context else {
            return;
        };
        if state == StepState::Running {
            let before = run_context.known.get(name);
            if before.is_none_or(|entry| entry.state == ResourceState::Ready) {
                self.were_in_order.insert(index);
            }
        }
        let change = match (step.kind, state) {
            // A resource that is put aside is recorded only after the step has checked it.
            (StepKind::Create | StepKind::Delete, StepState::Running)
                if step.replaces.is_some() =>
            {
                return;
            }
            (StepKind::Create | StepKind::Configure, StepState::Running) => {
                let Some(spec) = self.workflow.resources.get(name) else {
                    return;
                };
                if run_context.known.get(name).is_none() {
                    self.never_tried.insert(index);
                }
                ResourceChange::Begin {
                    incarnation: run_context.known.begin(name, spec),
                    spec: Box::new(spec.clone()),
                    state: ResourceState::Creating,
                }
            }
            (StepKind::Update, StepState::Running) => self.to(name, ResourceState::Updating),
            (StepKind::Delete, StepState::Running) => self.to(name, ResourceState::Removing),
            (
                StepKind::Create | StepKind::Configure | StepKind::Update | StepKind::Delete,
                StepState::Failed | StepState::Cancelled,
            ) if run_context.known.get(name).is_some() => self.to(name, ResourceState::Failed),
            _ => return,
        };
        entries.push(Entry::Resource {
            name: name.clone(),
            change,
        });
    }

    /// True if a step has started that changes what the resource uses, or that takes values from it.
    fn is_outdated(&self, name: &str) -> bool {
        let mut steps = self.workflow.steps.iter().zip(&self.run.steps);
        steps.any(|(step, status)| {
            let mut outdated = step.outdates.iter().chain(&step.takes_from);
            status.attempts > 0 && outdated.any(|it| it == name)
        })
    }

    fn to(&self, name: &str, state: ResourceState) -> ResourceChange {
        let known = self.run_context.as_ref().map(|context| &context.known);
        if let Some(known) = known {
            known.change(name, |entry| entry.state = state);
        }
        ResourceChange::To {
            state,
            physical_id: known.and_then(|known| known.get(name)?.physical_id),
        }
    }

    /// Work before the final event, because no event can follow that one.
    pub(super) async fn before_the_end(&self, entries: &mut Vec<Entry>) {
        if let (Some(Entry::Run { reason, .. }), Some(advice)) =
            (entries.last_mut(), self.advice(self.run.state).await)
        {
            *reason = Some(match reason.take() {
                Some(before) => format!("{before}\n{advice}"),
                None => advice.to_owned(),
            });
        }
        let (RunState::Succeeded, Some(run_context)) = (self.run.state, &self.run_context) else {
            return;
        };
        if self.kind == RunKind::Command {
            return;
        }
        let retained = run_context.known.retained();
        if self.kind == RunKind::Undeploy {
            self.after_undeploy(run_context, entries).await;
        }
        let mut remarks = run_context.known.remarks();
        if !retained.is_empty() {
            remarks.insert(
                0,
                format!(
                    "left in the cloud as the template says: {}",
                    retained.join(", ")
                ),
            );
        }
        if let (Some(Entry::Run { reason, .. }), false) = (entries.last_mut(), remarks.is_empty()) {
            let remarks = remarks.join(".\n");
            *reason = Some(match reason.take() {
                Some(before) => format!("{remarks}.\n{before}"),
                None => remarks,
            });
        }
    }

    /// The user's options after a bad ending.
    async fn advice(&self, state: RunState) -> Option<&'static str> {
        if self.given_up || !matches!(state, RunState::Failed | RunState::Cancelled) {
            return None;
        }
        if self.kind == RunKind::Command {
            let context = self.run_context.as_ref();
            let command = context.and_then(|context| context.command.as_deref());
            let advice = match command {
                Some(CommandContent::Configure(_)) => {
                    "The failed steps say why. The next check of the deployment tries it again."
                }
                _ => {
                    "The failed steps say why. Nothing is repeated by itself: run the command again on the servers that need it."
                }
            };
            return (state == RunState::Failed).then_some(advice);
        }
        if self.kind == RunKind::Undeploy {
            return Some(
                "Resume the run to continue with the rest; or undeploy by force, which forgets resources that cannot be removed and lists them.",
            );
        }
        match self.kind {
            RunKind::Suspend => {
                return Some(
                    "Resume the run to suspend the rest, resume the deployment to have all its servers back, or undeploy it.",
                );
            }
            RunKind::Resume => {
                return Some(
                    "Resume the run to continue with the rest, suspend the deployment again, or undeploy it.",
                );
            }
            RunKind::Snapshot => {
                return Some(
                    "The deployment is as before. What is complete can be restored; delete the snapshot if it is not useful, and take another.",
                );
            }
            RunKind::Restore => {
                return Some(
                    "Servers and volumes whose step did not succeed can have old or new data, be in state ERROR, or be detached from each other: check the deployment, repair it if needed, then restore again.",
                );
            }
            _ => {}
        }
        let store = &self.core.store;
        let deployment = store.deployment_find(&self.tenant, &self.deployment);
        let run = store.run_find(&self.tenant, &self.id);
        let rolls_back = matches!(run.await, Ok(Some(run)) if run.roll_back.is_some());
        let good = matches!(deployment.await, Ok(Some(row)) if row.good.is_some());
        Some(match (state, good) {
            (RunState::Failed, _) if rolls_back => {
                "It is now rolled back to the last good state, as requested."
            }
            (_, true) => {
                "Resume the run to continue from here, update again with a corrected template, roll back to the last good state, or undeploy."
            }
            (_, false) => {
                "Resume the run to continue from here, update with a corrected template, or undeploy. Created resources stay until then."
            }
        })
    }

    /// Records that no resource is left, or lists the remaining ones.
    async fn after_undeploy(&self, run_context: &RunContext, entries: &mut Vec<Entry>) {
        run_context.hidden_parameters().forget_all().await;
        let left = run_context.known.with_copies();
        let Some(Entry::Run { reason, .. }) = entries.last_mut() else {
            return;
        };
        if reason.is_some() {
            // A forced undeployment lists the remaining resources and their ids.
            let entries: Vec<String> = left
                .iter()
                .filter(|(_, entry)| !crate::catalog::is_software(&entry.spec.resource_type))
                .map(|(name, entry)| {
                    let id = entry.physical_id.as_deref().unwrap_or("id unknown");
                    format!("`{name}` ({}, {id})", entry.spec.resource_type)
                })
                .collect();
            if !entries.is_empty() {
                let why = reason.take().unwrap_or_default();
                *reason = Some(format!(
                    "left in the cloud, delete by hand: {}.\n{why}",
                    entries.join(", ")
                ));
            }
        } else if let Some(last) = entries.pop() {
            // Software that was deleted with its server, and resources that were never created.
            let gone = |name: String| Entry::Resource {
                name,
                change: ResourceChange::To {
                    state: ResourceState::Removed,
                    physical_id: None,
                },
            };
            entries.extend(left.into_keys().map(gone));
            entries.push(last);
        }
    }
}
