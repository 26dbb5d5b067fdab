//! Results of requests that Nova accepted, with reasons of failures for users.

use openstack::server_actions::ActionOutcome;

use crate::driver::{Context, DriverError, Request};

/// The result of a request of this attempt. Called only for an idle server, so a request without a record counts as
/// failed after the time that Nova needs to write one.
pub(super) async fn outcome(
    context: &Context<'_>,
    server: &str,
    request: &Request,
) -> Result<ActionOutcome, DriverError> {
    let compute = context.session.compute();
    match compute.action_get(server, &request.id).await {
        Ok(action) => Ok(action.outcome()),
        // There is no record yet, or this user has no access to it.
        Err(error) if matches!(error.status(), Some(403 | 404)) => {
            Ok(if request.may_be_settling() {
                ActionOutcome::UnderWay
            } else {
                ActionOutcome::Failed(None)
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// The reason why a request has had no effect, as a sentence without its full stop.
pub(super) fn reason(outcome: &ActionOutcome, server: &str, request: &Request) -> String {
    match outcome {
        ActionOutcome::Failed(Some(words)) => words.trim_end_matches('.').to_owned(),
        ActionOutcome::Failed(None) => format!(
            "Nova failed, and tells the reason to administrators only (`openstack server event show {server} {}`)",
            request.id
        ),
        ActionOutcome::Succeeded | ActionOutcome::UnderWay => format!(
            "Nova reports no failure, so somebody may have undone it (`openstack server event list {server}`)"
        ),
    }
}

/// Continues a request of an earlier attempt that Nova is still executing: the newest request for an action becomes one
/// of this attempt.
pub(super) async fn take_up(
    context: &Context<'_>,
    server: &str,
    action: &'static str,
    subject: &str,
) -> Result<(), DriverError> {
    let all = match context.session.compute().action_list(server).await {
        Err(error) if matches!(error.status(), Some(403 | 404)) => return Ok(()),
        all => all?,
    };
    if let Some(newest) = all.into_iter().find(|one| one.action == action) {
        context.accepted.note(action, subject, newest.request_id);
    }
    Ok(())
}
