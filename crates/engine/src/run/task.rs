//! The task of one run: the shell around [`machine::advance`](crate::machine::advance).
//!
//! Events come from its steps, from users and from the clock. All waiting events are handled together: their moves are
//! written to the journal in one write, and once they are on the disk the effects start. A crash in between is a crash
//! before the effects: recovery starts them.

use std::{
    collections::{HashMap, HashSet},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use api::{DeploymentState, ResourceState, RunKind, RunState, StepState};
use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use planner::workflow::{StepKind, Workflow};
use store::{Entry, ResourceChange, RunRow};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    active_runs::{ActiveRuns, Command},
    context::RunContext,
    log::StepLog,
    outcome::Ended,
    step::{Attempt, QueueMove},
};
use crate::{
    Error, Result, Tenant,
    journal::RunJournal,
    lease::Tenure,
    machine::{self, Effect, Event, Move, StepIndex, advance},
    shared::Core,
};
use drivers::Earlier;

/// The task of an active run.
pub struct RunTask {
    core: Arc<Core>,
    runs: Arc<ActiveRuns>,
    tenant: Tenant,
    id: String,
    fence: i64,
    journal: RunJournal,
    /// The time in which this server may act on the run.
    tenure: Arc<Tenure>,
    /// Ends the task where it stands: the lease is lost, or another server has taken the run.
    let_go: CancellationToken,
    kind: RunKind,
    deployment: String,
    workflow: Arc<Workflow>,
    /// The steps' context. `None` while there is no token; then the run is paused.
    run_context: Option<Arc<RunContext>>,
    run: machine::Run,
    commands: mpsc::UnboundedReceiver<Command>,
    ended: mpsc::UnboundedSender<Outcome>,
    outcomes: mpsc::UnboundedReceiver<Outcome>,
    active: HashMap<StepIndex, ActiveStep>,
    /// Steps whose resource was certainly not created by an earlier attempt.
    never_tried: HashSet<StepIndex>,
    /// True if another run replaces it.
    given_up: bool,
    started: u64,
}

/// An attempt at a step that was started.
struct ActiveStep {
    number: u64,
    stop: CancellationToken,
    handle: JoinHandle<()>,
}

/// An event of an attempt, usually its ending. The number distinguishes it from an aborted attempt.
struct Outcome {
    step: StepIndex,
    number: u64,
    event: Event,
    /// Work that must not begin before the event is in the journal.
    tidying: Option<BoxFuture<'static, ()>>,
}

impl RunTask {
    /// A task that is not started yet.
    pub fn new(
        core: &Arc<Core>,
        active_runs: &Arc<ActiveRuns>,
        run: &RunRow,
        workflow: Arc<Workflow>,
        machine: machine::Run,
        run_context: Option<RunContext>,
    ) -> RunTask {
        let (ended, outcomes) = mpsc::unbounded_channel();
        let tenure = core.lease.tenure();
        let let_go = tenure.end_token();
        let (id, fence) = (&run.shown.id, run.fence);
        RunTask {
            commands: active_runs.register(id, fence, let_go.clone()),
            journal: core.journal.of(&run.tenant, id, fence),
            fence,
            tenure,
            let_go,
            core: core.clone(),
            runs: active_runs.clone(),
            tenant: run.tenant.clone(),
            id: run.shown.id.clone(),
            kind: run.shown.kind,
            deployment: run.shown.deployment.clone(),
            workflow,
            run_context: run_context.map(Arc::new),
            run: machine,
            ended,
            outcomes,
            active: HashMap::new(),
            never_tried: HashSet::new(),
            given_up: false,
            started: 0,
        }
    }

    /// Runs in the background, beginning with an event; `after_the_end` follows a final state. The receiver resolves
    /// when the journal has the first event.
    pub fn spawn<F: Future<Output = ()> + Send>(
        mut self,
        first: Event,
        after_the_end: impl FnOnce(Option<Arc<RunContext>>, RunState) -> F + Send + 'static,
    ) -> oneshot::Receiver<()> {
        let (begun, told) = oneshot::channel();
        let (runs, id, fence) = (self.runs.clone(), self.id.clone(), self.fence);
        let tenure = self.tenure.clone();
        let span = tracing::info_span!("run", run.id = %id, deployment.id = %self.deployment);
        self.core.tasks.clone().spawn(openstack::while_permitted(
            tenure,
            async move {
                let ended = self.drive(first, begun).await;
                runs.unregister(&id, fence);
                match ended {
                    Ok(state) if state.is_final() => {
                        after_the_end(self.run_context.take(), state).await;
                    }
                    Ok(_let_go) => {}
                    Err(error) => {
                        self.abort_all();
                        tracing::error!(%error, "the run is let go of; its holder, or the next start, takes it up");
                    }
                }
            }
            .instrument(span),
        ));
        told
    }

    async fn drive(&mut self, first: Event, begun: oneshot::Sender<()>) -> Result<RunState> {
        let (stopping, let_go) = (self.core.stopping.clone(), self.let_go.clone());
        self.take(vec![first]).await?;
        // The caller may have dropped the receiver.
        let _told = begun.send(());
        while !self.run.state.is_final() {
            let wake = self.run.wake_at().map(until);
            tokio::select! {
                // First, so that a step whose calls were refused after the end of the lease does not count as failed.
                biased;
                () = let_go.cancelled() => {
                    // As after a crash: resources of running steps are found again.
                    self.abort_all();
                    return Ok(self.run.state);
                }
                () = stopping.cancelled() => {
                    self.abort_all();
                    let held = (self.id.as_str(), self.fence);
                    self.core.store.step_let_go(&self.tenant, held).await?;
                    return Ok(self.run.state);
                }
                Some(outcome) = self.outcomes.recv() => {
                    let mut outcomes = vec![outcome];
                    outcomes.extend(std::iter::from_fn(|| self.outcomes.try_recv().ok()));
                    let tidying: Vec<_> = outcomes.iter_mut().filter_map(|outcome| outcome.tidying.take()).collect();
                    let events = outcomes.into_iter().filter_map(|outcome| self.expected(outcome)).collect();
                    self.take(events).await?;
                    for tidying in tidying {
                        let tenure = self.tenure.clone();
                        self.core.tasks.spawn(openstack::while_permitted(tenure, tidying));
                    }
                }
                Some(command) = self.commands.recv() => self.handle_command(command).await?,
                () = tokio::time::sleep_until(wake.unwrap_or_else(far)), if wake.is_some() => self.take(vec![Event::Tick]).await?,
            }
        }
        Ok(self.run.state)
    }

    fn abort_all(&self) {
        self.active
            .values()
            .for_each(|active| active.handle.abort());
    }

    /// The event of an active attempt. `None` for an aborted one.
    fn expected(&mut self, outcome: Outcome) -> Option<Event> {
        let ours = self
            .active
            .get(&outcome.step)
            .is_some_and(|active| active.number == outcome.number);
        if ours && !matches!(outcome.event, Event::Queued(_) | Event::Dequeued(_)) {
            self.active.remove(&outcome.step);
        }
        ours.then_some(outcome.event)
    }

    async fn handle_command(&mut self, command: Command) -> Result<()> {
        let (event, answer) = match command {
            Command::Cancel(answer) => (Event::Cancel, answer),
            Command::Abandon(answer) => (Event::Abandon, answer),
            Command::Resume(run_context, answer) => {
                if self.run.state == RunState::Paused {
                    self.run_context = Some(Arc::from(run_context));
                }
                (Event::Resume, answer)
            }
        };
        if let Err(illegal) = self.run.takes(&event) {
            drop(answer.send(Err(Error::NotPossibleNow(format!(
                "the run is {}; it cannot do that now",
                store::to_text(&illegal.state)
            )))));
            return Ok(());
        }
        self.given_up = event == Event::Abandon;
        let taken = self.take(vec![event]).await;
        // The caller may have dropped the receiver meanwhile.
        drop(answer.send(match &taken {
            Ok(()) => Ok(()),
            Err(error) => Err(Error::Unavailable(error.to_string())),
        }));
        taken
    }

    /// Writes the moves to the journal, then starts the effects.
    async fn take(&mut self, events: Vec<Event>) -> Result<()> {
        let mut entries = Vec::new();
        let mut effects = Vec::new();
        for event in events {
            match advance(&mut self.run, &event, Timestamp::now()) {
                Ok(next) => {
                    effects.extend(next.effects);
                    for entry in next.moves {
                        self.enter(entry, &mut entries);
                    }
                }
                Err(illegal) => tracing::warn!(%illegal, "an event came too late"),
            }
        }
        if self.run.state.is_final() {
            self.before_the_end(&mut entries).await;
        }
        if !entries.is_empty() {
            // If this fails, the run is dropped, so its state is not used any more.
            self.journal.write(entries).await?;
        }
        for effect in effects {
            match effect {
                Effect::Start(step) => self.start(step),
                Effect::Stop(step) => self.stop(step),
                Effect::Abort(step) => self.abort(step),
            }
        }
        Ok(())
    }

    // ---- journal ----

    fn enter(&mut self, entry: Move, entries: &mut Vec<Entry>) {
        match entry {
            Move::Run {
                state,
                ending,
                reason,
            } => {
                let deployment = match (state, self.kind) {
                    (RunState::Succeeded, RunKind::Undeploy) => DeploymentState::Undeployed,
                    (RunState::Succeeded, _) => DeploymentState::Deployed,
                    (RunState::Failed | RunState::Cancelled, _) => DeploymentState::Failed,
                    _ => DeploymentState::Busy,
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
            } => {
                let node = &self.run.graph.nodes()[step];
                entries.push(Entry::Step {
                    step: node.id.clone(),
                    state,
                    attempt,
                    error,
                });
                self.enter_resource(step, state, entries);
            }
        }
    }

    /// The resource's entry for a step's move: the intent is stored before the call to the cloud.
    fn enter_resource(&mut self, index: StepIndex, state: StepState, entries: &mut Vec<Entry>) {
        let Some(run_context) = &self.run_context else {
            return;
        };
        let step = &self.workflow.steps[index];
        let Some(name) = &step.resource else { return };
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
            (StepKind::Update, StepState::Running) => {
                self.to(run_context, name, ResourceState::Updating)
            }
            (StepKind::Delete, StepState::Running) => {
                self.to(run_context, name, ResourceState::Deleting)
            }
            (
                StepKind::Create | StepKind::Configure | StepKind::Update | StepKind::Delete,
                StepState::Failed | StepState::Cancelled,
            ) if run_context.known.get(name).is_some() => {
                self.to(run_context, name, ResourceState::Failed)
            }
            _ => return,
        };
        entries.push(Entry::Resource {
            name: name.clone(),
            change,
        });
    }

    fn to(&self, run_context: &RunContext, name: &str, state: ResourceState) -> ResourceChange {
        run_context.known.change(name, |thing| thing.state = state);
        ResourceChange::To {
            state,
            physical_id: run_context
                .known
                .get(name)
                .and_then(|thing| thing.physical_id),
        }
    }

    /// Work before the final event, because no event can follow that one.
    async fn before_the_end(&self, entries: &mut Vec<Entry>) {
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
        let kept = run_context.known.kept();
        if self.kind == RunKind::Undeploy {
            self.after_undeploy(run_context, entries).await;
        }
        let mut told = run_context.known.remarks();
        if !kept.is_empty() {
            told.insert(
                0,
                format!(
                    "left in the cloud as the template says: {}",
                    kept.join(", ")
                ),
            );
        }
        if let (Some(Entry::Run { reason, .. }), false) = (entries.last_mut(), told.is_empty()) {
            let told = told.join(".\n");
            *reason = Some(match reason.take() {
                Some(before) => format!("{told}.\n{before}"),
                None => told,
            });
        }
    }

    /// The user's options after a bad ending.
    async fn advice(&self, state: RunState) -> Option<&'static str> {
        if self.given_up || !matches!(state, RunState::Failed | RunState::Cancelled) {
            return None;
        }
        if self.kind == RunKind::Undeploy {
            return Some(
                "Resume the run to continue with the rest; or undeploy by force, which forgets resources that cannot be deleted and lists them.",
            );
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
                "Resume the run to go on from here, update with a template that is mended, or undeploy. What was made so far stays until then."
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
            let things: Vec<String> = left
                .iter()
                .filter(|(_, thing)| !crate::catalog::is_software(&thing.spec.resource_type))
                .map(|(name, thing)| {
                    let id = thing.physical_id.as_deref().unwrap_or("id unknown");
                    format!("`{name}` ({}, {id})", thing.spec.resource_type)
                })
                .collect();
            if !things.is_empty() {
                let why = reason.take().unwrap_or_default();
                *reason = Some(format!(
                    "left behind in the cloud, delete by hand: {}.\n{why}",
                    things.join(", ")
                ));
            }
        } else if let Some(last) = entries.pop() {
            // Software that was deleted with its server, and resources that were never created.
            let gone = |name: String| Entry::Resource {
                name,
                change: ResourceChange::To {
                    state: ResourceState::Deleted,
                    physical_id: None,
                },
            };
            entries.extend(left.into_keys().map(gone));
            entries.push(last);
        }
    }

    // ---- effects ----

    fn start(&mut self, step: StepIndex) {
        let Some(run_context) = self.run_context.clone() else {
            tracing::error!(step, "a step without a session was to start");
            return;
        };
        self.started += 1;
        let number = self.started;
        let stop = CancellationToken::new();
        let described = self.workflow.steps[step].clone();
        let attempt_number = self.run.steps[step].attempts;
        let span = tracing::info_span!("step", step.id = %described.id, resource = described.resource, attempt = attempt_number);
        let log = StepLog {
            journal: self.journal.clone(),
            step: described.id.clone(),
            mask: run_context.mask.clone(),
        };
        let attempt = Attempt {
            run_context,
            step: described,
            number: attempt_number,
            earlier: if self.never_tried.remove(&step) {
                Earlier::None
            } else {
                Earlier::Possible
            },
            stop: stop.clone(),
            log,
            report: {
                let ended = self.ended.clone();
                Box::new(move |queue| {
                    let event = match queue {
                        QueueMove::In => Event::Queued(step),
                        QueueMove::Out => Event::Dequeued(step),
                    };
                    // The run can have ended without waiting for it.
                    drop(ended.send(Outcome {
                        step,
                        number,
                        event,
                        tidying: None,
                    }));
                })
            },
            tidying: Mutex::default(),
        };
        let ended = self.ended.clone();
        let tenure = self.tenure.clone();
        let depth = self.run.graph.nodes()[step].depth;
        let work = async move {
            let performed = Box::pin(attempt.perform());
            // Deeper steps have priority, so that begun work is finished first.
            let performed = openstack::with_priority(depth, performed);
            let performed = openstack::while_permitted(tenure, performed);
            let result = AssertUnwindSafe(performed).catch_unwind().await;
            let event = match result {
                Ok(Ok(())) => Event::Succeeded(step),
                Ok(Err(Ended::Stopped)) => Event::Stopped(step),
                Ok(Err(Ended::NoToken)) => Event::TokenEnded(step),
                Ok(Err(Ended::Failed(mut failure))) => {
                    failure.message = attempt.log.masked(&failure.message);
                    attempt
                        .log
                        .say(
                            api::LogStream::Engine,
                            [(api::LogLevel::Error, &failure.message)],
                        )
                        .await;
                    Event::Failed(step, failure)
                }
                Err(_panic) => {
                    tracing::error!("a step panicked");
                    Event::Failed(
                        step,
                        machine::Failure::new(
                            machine::FailureClass::Lasting,
                            "the engine made a mistake; the server's log has more. Resume the run to try again",
                        ),
                    )
                }
            };
            let tidying = attempt.tidying.lock();
            let tidying = tidying.unwrap_or_else(PoisonError::into_inner).take();
            // The run has ended without waiting for it.
            drop(ended.send(Outcome {
                step,
                number,
                event,
                tidying,
            }));
        };
        let handle = tokio::spawn(work.instrument(span));
        self.active.insert(
            step,
            ActiveStep {
                number,
                stop,
                handle,
            },
        );
    }

    /// Stops a step at a safe point, and aborts it after a time limit.
    fn stop(&mut self, step: StepIndex) {
        let Some(active) = self.active.get(&step) else {
            return;
        };
        active.stop.cancel();
        let (ended, number, handle) = (
            self.ended.clone(),
            active.number,
            active.handle.abort_handle(),
        );
        let patience = self.core.config.stop_patience;
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            handle.abort();
            drop(ended.send(Outcome {
                step,
                number,
                event: Event::Stopped(step),
                tidying: None,
            }));
        });
    }

    fn abort(&mut self, step: StepIndex) {
        let Some(active) = self.active.get(&step) else {
            return;
        };
        active.stop.cancel();
        active.handle.abort();
        drop(self.ended.send(Outcome {
            step,
            number: active.number,
            event: Event::Stopped(step),
            tidying: None,
        }));
    }
}

fn until(at: Timestamp) -> Instant {
    let wait = Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default();
    Instant::now() + wait.max(Duration::from_millis(1))
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}
