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
        status => {
            let details: Vec<String> = server
                .task_state
                .clone()
                .into_iter()
                .chain(percent(server))
                .collect();
            Some(Progress::Pending(if details.is_empty() {
                format!("the server is in state {status}")
            } else {
                format!("the server is in state {status} ({})", details.join(", "))
            }))
        }
    }
}

/// Nova's progress of a migration, as text. Nova sends 0 or 100 where it does not measure it.
fn percent(server: &Found) -> Option<String> {
    let percent = server.other.get("progress")?.as_i64()?;
    (1..100).contains(&percent).then(|| format!("{percent} %"))
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
                json!({"status": "RESIZE", "OS-EXT-STS:task_state": "resize_migrating", "progress": 40})
            )),
            Some(Progress::Pending(
                "the server is in state RESIZE (resize_migrating, 40 %)".into()
            ))
        );
        assert_eq!(
            unready(&server(json!({"status": "BUILD", "progress": 0}))),
            Some(Progress::Pending("the server is in state BUILD".into()))
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
