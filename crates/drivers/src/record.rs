//! Evaluation of responses: the state of a record, its attributes, the result of a deletion.

use openstack::collection::{Record, id_of};
use serde_json::{Map, Value};

use crate::driver::{DriverError, Progress, Ready};

/// The state of a record. A record without a status is ready.
///
/// `DOWN` is ready: ports have it until they are attached to a server, floating IPs until they are associated.
pub(super) fn progress_of(title: &str, record: &Record) -> Progress {
    match record.get("status").and_then(Value::as_str) {
        Some(status @ ("BUILD" | "PENDING_CREATE" | "PENDING_UPDATE")) => {
            Progress::Pending(format!("the {title} is in state {status}"))
        }
        Some("ERROR") => Progress::Failed(format!("the cloud put the {title} in state ERROR")),
        _ => Progress::Ready(Ready {
            reference: id_of(record).into(),
            attributes: with_show(record.clone()),
        }),
    }
}

/// Adds Heat's attribute `show`, a map of all fields.
pub(super) fn with_show(mut fields: Map<String, Value>) -> Map<String, Value> {
    fields.insert("show".into(), Value::Object(fields.clone()));
    fields
}

/// Treats a missing resource as success.
pub(super) fn done_if_gone(result: Result<(), openstack::Error>) -> Result<(), DriverError> {
    match result {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn progress(record: Value) -> Progress {
        progress_of("network", record.as_object().unwrap())
    }

    #[test]
    fn states_of_a_network() {
        let in_state = |status: &str| progress(json!({"id": "n", "status": status}));
        assert!(matches!(in_state("ACTIVE"), Progress::Ready(ready) if ready.reference == "n"));
        assert!(matches!(in_state("DOWN"), Progress::Ready(_)));
        assert_eq!(
            in_state("BUILD"),
            Progress::Pending("the network is in state BUILD".into())
        );
        assert_eq!(
            in_state("ERROR"),
            Progress::Failed("the cloud put the network in state ERROR".into())
        );
    }

    #[test]
    fn attributes_are_the_fields_of_the_response() {
        let record = json!({"id": "s", "cidr": "10.0.0.0/24", "enable_dhcp": true});
        let Progress::Ready(ready) = progress(record) else {
            panic!("a subnet has no status");
        };
        assert_eq!(ready.attributes["cidr"], "10.0.0.0/24");
        assert_eq!(ready.attributes["show"]["enable_dhcp"], true);
    }
}
