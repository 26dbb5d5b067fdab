//! The power state of a server. A template has no word for it, so only a repair changes it.

use openstack::compute::Server as Found;
use openstack::server_actions::ActionOutcome;

use super::super::nova_requests::{outcome, reason};
use crate::driver::{Context, DriverError, Progress};

/// Name of the power state among the changed properties of a repair.
pub(super) const STATUS: &str = "status";
/// Name of the requests in [`Context::accepted`].
const POWER_ON: &str = "power on";

/// Nova's action that makes a server `ACTIVE`. `None` for a server that is not switched off.
fn action(status: &str) -> Option<&'static str> {
    match status {
        "SHUTOFF" => Some("os-start"),
        "PAUSED" => Some("unpause"),
        "SUSPENDED" => Some("resume"),
        "SHELVED" | "SHELVED_OFFLOADED" => Some("unshelve"),
        "RESCUE" => Some("unrescue"),
        _ => None,
    }
}

/// Whether the server is switched off.
pub(super) fn is_off(server: &Found) -> bool {
    action(&server.status).is_some()
}

fn is_repaired(context: &Context<'_>) -> bool {
    context.changed.iter().any(|property| property == STATUS)
}

/// Switches the server on, if the repair includes it.
pub(super) async fn restore(context: &Context<'_>, server: &Found) -> Result<(), DriverError> {
    let Some(action) = action(&server.status).filter(|_| is_repaired(context)) else {
        return Ok(());
    };
    let compute = context.session.compute();
    match compute.server_set_power(&server.id, action).await {
        Ok(request) => context.accepted.note(POWER_ON, &server.id, request),
        // Nova is executing the request of an earlier attempt.
        Err(error) if error.is_conflict() => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// The missing effect of [`restore`]. `None` if none is missing.
pub(super) async fn missing(
    context: &Context<'_>,
    server: &Found,
) -> Result<Option<Progress>, DriverError> {
    if !is_repaired(context) || !is_off(server) {
        return Ok(None);
    }
    let starting = Progress::Pending(format!(
        "the server is {} and is being started",
        server.status
    ));
    let Some(request) = context.accepted.newest(POWER_ON, &server.id) else {
        return Ok(Some(starting));
    };
    let outcome = match server.task_state {
        Some(_) => ActionOutcome::UnderWay,
        None => outcome(context, &server.id, &request).await?,
    };
    // The record of the request can be a moment ahead of the server.
    if outcome == ActionOutcome::UnderWay || request.may_be_settling() {
        return Ok(Some(starting));
    }
    Ok(Some(Progress::Unchanged(format!(
        "was not started: {}. It is still {}",
        reason(&outcome, &server.id, &request),
        server.status
    ))))
}
