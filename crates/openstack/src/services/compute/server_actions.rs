//! Nova's record of the requests about a server ("instance actions").
//!
//! Nova answers most requests about a server before it executes them. After a later failure, the server often just
//! returns to its former state, and only this record shows the failure. Source: Compute API, "Servers actions"
//! (`os-instance-actions`).

use reqwest::Method;
use serde::Deserialize;

use super::Compute;
use crate::wire::call::Call;
use crate::{Error, Microversion, Service};

/// First microversion with the reason of a failure (`details`), visible to users with permission by the cloud's policy.
const WITH_DETAILS: Microversion = Microversion(2, 84);

/// A request about a server that Nova accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ServerAction {
    /// `create`, `resize`, `attach_volume`, `detach_interface` ...
    pub action: String,
    /// Request id, as in the header of Nova's response.
    pub request_id: String,
    /// `Error` if a part of it failed.
    pub message: Option<String>,
    /// Started parts of the work, in any order. Empty in lists.
    pub events: Vec<ServerEvent>,
}

/// A part of the work on a request, done by one of Nova's services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ServerEvent {
    /// `conductor_migrate_server`, `compute_attach_volume` ...
    pub event: String,
    /// `Success` or `Error`; `None` while the part is running.
    pub result: Option<String>,
    /// Reason of a failure. By default Nova shows it to administrators only.
    pub details: Option<String>,
}

/// Progress of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    /// The action has not started or not finished.
    UnderWay,
    /// All started parts succeeded.
    Succeeded,
    /// The request failed, for this reason. `None` if Nova hides the reason from this user.
    Failed(Option<String>),
}

impl ServerAction {
    /// Progress of the request. Between two parts of the work it can look finished, so callers read it only after the
    /// server's `task_state` is empty.
    pub fn outcome(&self) -> ActionOutcome {
        let failed = |event: &&ServerEvent| event.result.as_deref() == Some("Error");
        if self.message.is_some() || self.events.iter().any(|event| failed(&event)) {
            let reasons = self
                .events
                .iter()
                .filter_map(|event| event.details.as_ref());
            let reason = reasons
                .map(|text| text.trim())
                .find(|text| !text.is_empty());
            return ActionOutcome::Failed(reason.map(str::to_owned));
        }
        let ended = |event: &ServerEvent| event.result.is_some();
        if !self.events.is_empty() && self.events.iter().all(ended) {
            ActionOutcome::Succeeded
        } else {
            ActionOutcome::UnderWay
        }
    }
}

impl Compute<'_> {
    /// All requests about a server, newest first, without their events.
    pub async fn action_list(&self, server: &str) -> Result<Vec<ServerAction>, Error> {
        let call = self.actions(&["servers", server, "os-instance-actions"]);
        call.fetch("instanceActions").await
    }

    /// One request about a server, with its events.
    pub async fn action_get(&self, server: &str, request: &str) -> Result<ServerAction, Error> {
        let call = self.actions(&["servers", server, "os-instance-actions", request]);
        call.fetch("instanceAction").await
    }

    fn actions(&self, path: &[&str]) -> Call<'_> {
        let call = self.0.call(Service::Compute, Method::GET, path);
        call.microversion(WITH_DETAILS)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn outcome(action: Value) -> ActionOutcome {
        serde_json::from_value::<ServerAction>(action)
            .unwrap()
            .outcome()
    }

    #[test]
    fn a_request_that_has_not_begun_or_lasts_is_under_way() {
        assert_eq!(
            outcome(json!({"message": null, "events": []})),
            ActionOutcome::UnderWay
        );
        let events = json!([{"event": "cold_migrate", "result": "Success"}, {"event": "compute_prep_resize", "result": null}]);
        assert_eq!(outcome(json!({"events": events})), ActionOutcome::UnderWay);
    }

    #[test]
    fn the_reason_of_a_failure_is_shown_to_administrators() {
        let events = json!([{"event": "cold_migrate", "result": "Error", "details": "No valid host was found. "}]);
        assert_eq!(
            outcome(json!({"message": "Error", "events": events})),
            ActionOutcome::Failed(Some("No valid host was found.".into()))
        );
        let events = json!([{"event": "cold_migrate", "result": "Error"}]);
        assert_eq!(
            outcome(json!({"message": "Error", "events": events})),
            ActionOutcome::Failed(None)
        );
    }
}
