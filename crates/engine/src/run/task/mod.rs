//! The task of one run: the shell around [`machine::advance`](crate::machine::advance).
//!
//! Events come from its steps, from users and from the clock. All waiting events are handled together: their moves are
//! written to the journal in one write, and once they are on the disk the effects start. A crash in between is a crash
//! before the effects: recovery starts them. The journal's entries are in [`entries`], the effects in [`attempts`].

mod attempts;
mod entries;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use api::{RunKind, RunState};
use futures::future::BoxFuture;
use jiff::Timestamp;
use planner::workflow::Workflow;
use store::RunRow;
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
};
use crate::{
    Error, Result, Tenant,
    journal::RunJournal,
    lease::Tenure,
    machine::{self, Effect, Event, StepIndex, advance},
    shared::Core,
};

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
    /// Aborts the task: the lease is lost, or another server has taken the run.
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
    /// Steps whose resource was new, or ready, before their next attempt.
    were_in_order: HashSet<StepIndex>,
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
            were_in_order: HashSet::new(),
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
        let (begun, has_begun) = oneshot::channel();
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
                        tracing::error!(%error, "the run is let go of; its holder takes it up again after a while");
                    }
                }
            }
            .instrument(span),
        ));
        has_begun
    }

    async fn drive(&mut self, first: Event, begun: oneshot::Sender<()>) -> Result<RunState> {
        let (stopping, let_go) = (self.core.stopping.clone(), self.let_go.clone());
        self.take(vec![first]).await?;
        // The caller may have dropped the receiver.
        let _received = begun.send(());
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
            Command::GiveWay(answer) => (Event::GiveWay, answer),
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
        self.given_up = matches!(event, Event::Abandon | Event::GiveWay);
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
            self.core.ended.note(&self.tenant);
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
}

fn until(at: Timestamp) -> Instant {
    let wait = Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default();
    Instant::now() + wait.max(Duration::from_millis(1))
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}
