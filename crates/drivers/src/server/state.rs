//! The state of a server.

use openstack::compute::Server as Found;

use crate::driver::Progress;

/// The reason why a server is not ready. `None` if it is.
pub(super) fn unready(server: &Found) -> Option<Progress> {
    match server.status.as_str() {
        "ACTIVE" | "SHUTOFF" | "SUSPENDED" | "PAUSED" | "SHELVED" | "SHELVED_OFFLOADED"
        | "RESCUE" => None,
        "ERROR" => {
            let fault = server
                .fault
                .as_ref()
                .map(|fault| fault.message.trim())
                .filter(|text| !text.is_empty());
            Some(Progress::Failed(match fault {
                Some(fault) => format!("the cloud put the server in state ERROR: {fault}"),
                None => "the cloud put the server in state ERROR and reports no reason".into(),
            }))
        }
        "DELETED" | "SOFT_DELETED" => Some(Progress::Failed("the server was deleted".into())),
        status => Some(Progress::Pending(match server.task_state.as_deref() {
            Some(task) => format!("the server is in state {status} ({task})"),
            None => format!("the server is in state {status}"),
        })),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn server(value: Value) -> Found {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn states() {
        assert_eq!(unready(&server(json!({"status": "ACTIVE"}))), None);
        assert_eq!(
            unready(&server(
                json!({"status": "BUILD", "OS-EXT-STS:task_state": "spawning"})
            )),
            Some(Progress::Pending(
                "the server is in state BUILD (spawning)".into()
            ))
        );
        assert_eq!(
            unready(&server(
                json!({"status": "ERROR", "fault": {"message": "No valid host was found. "}})
            )),
            Some(Progress::Failed(
                "the cloud put the server in state ERROR: No valid host was found.".into()
            ))
        );
    }
}
