//! Attempts at a run's steps: started, stopped at a safe point, aborted.

use std::{
    panic::AssertUnwindSafe,
    sync::{Mutex, PoisonError},
};

use drivers::Earlier;
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{ActiveStep, Outcome, RunTask};
use crate::{
    machine::{Event, Failure, FailureClass, StepIndex},
    run::{
        log::StepLog,
        outcome::Ended,
        step::{Attempt, QueueMove, StepResult},
    },
};

impl RunTask {
    /// Starts an attempt at a step.
    pub(super) fn start(&mut self, step: StepIndex) {
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
            was_interrupted: !self.were_in_order.remove(&step),
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
            let event = event_of(result, &attempt, step).await;
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
    pub(super) fn stop(&mut self, step: StepIndex) {
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

    /// Aborts an attempt.
    pub(super) fn abort(&mut self, step: StepIndex) {
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

/// The event of an attempt's end. The message of a failure is masked, and is a line of the step's log.
async fn event_of(
    result: std::thread::Result<StepResult>,
    attempt: &Attempt,
    step: StepIndex,
) -> Event {
    match result {
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
                Failure::new(
                    FailureClass::Lasting,
                    "internal error of the engine; the server's log has the details. Resume the run to try again",
                ),
            )
        }
    }
}
