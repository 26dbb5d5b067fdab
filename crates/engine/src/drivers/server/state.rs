//! What a server is in, and what others can refer to of it.

use openstack::compute::Server as Found;
use openstack::network::Port;
use serde_json::{Map, Value, json};

use super::super::properties::Properties;
use super::HOST_KEY;
use crate::driver::{Context, DriverError, Progress};

/// What keeps the server from being ready; `None` if it is.
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
                None => "the cloud put the server in state ERROR and gives no reason".into(),
            }))
        }
        "DELETED" | "SOFT_DELETED" => Some(Progress::Failed("the server was deleted".into())),
        status => Some(Progress::Pending(match server.task_state.as_deref() {
            Some(task) => format!("the server is in state {status} ({task})"),
            None => format!("the server is in state {status}"),
        })),
    }
}

/// The fixed address on the first network. Nova's map of addresses has lost the order, so with more
/// than one network the first port is asked.
pub(super) async fn first_address(
    context: &Context<'_>,
    server: &Found,
) -> Result<Option<String>, DriverError> {
    let fixed = || {
        server
            .addresses
            .values()
            .flatten()
            .filter(|address| address.kind != "floating")
    };
    if server.addresses.len() > 1
        && let Some(first) = Properties::of(context.properties).list("networks").first()
        && let Some(port) = Properties::within(first, "networks.0.")?.filled("port")?
    {
        match context.session.network().get::<Port>(&port).await {
            Ok(port) => {
                return Ok(port
                    .fixed_ips
                    .first()
                    .map(|address| address.ip_address.clone()));
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let first = fixed()
        .find(|address| address.version == 4)
        .or_else(|| fixed().next());
    Ok(first.map(|address| address.addr.clone()))
}

pub(super) fn attributes(server: &Found, first: Option<String>) -> Map<String, Value> {
    let mut show = match serde_json::to_value(server) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    // Administrators see it, and the private host key is in it: attributes are stored in clear.
    show.remove("OS-EXT-SRV-ATTR:user_data");
    show.remove("adminPass");
    let networks: Map<String, Value> = server
        .addresses
        .iter()
        .map(|(network, all)| {
            (
                network.clone(),
                all.iter().map(|address| address.addr.as_str()).collect(),
            )
        })
        .collect();
    let mut attributes = Map::new();
    attributes.insert("first_address".into(), json!(first.unwrap_or_default()));
    attributes.insert("networks".into(), Value::Object(networks));
    attributes.insert(
        "addresses".into(),
        show.get("addresses").cloned().unwrap_or_default(),
    );
    attributes.insert("name".into(), json!(server.name));
    attributes.insert("tags".into(), json!(server.tags));
    for (attribute, field) in [
        ("accessIPv4", "accessIPv4"),
        ("accessIPv6", "accessIPv6"),
        ("instance_name", "OS-EXT-SRV-ATTR:instance_name"),
    ] {
        if let Some(value) = show.get(field) {
            attributes.insert(attribute.into(), value.clone());
        }
    }
    if let Some(key) = server.metadata.get(HOST_KEY) {
        attributes.insert("host_key".into(), json!(key));
    }
    attributes.insert("show".into(), Value::Object(show));
    attributes
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn attributes_hold_no_secret() {
        let server = server(json!({
            "id": "1", "name": "web", "status": "ACTIVE", "OS-EXT-SRV-ATTR:user_data": "c2VjcmV0",
            "addresses": {"front": [{"addr": "10.0.0.4", "version": 4, "OS-EXT-IPS:type": "fixed"}]},
            "metadata": {"stackloom_host_key": "ssh-ed25519 HOST"}}));
        let attributes = attributes(&server, Some("10.0.0.4".into()));
        assert_eq!(attributes["first_address"], "10.0.0.4");
        assert_eq!(attributes["networks"], json!({"front": ["10.0.0.4"]}));
        assert_eq!(attributes["host_key"], "ssh-ed25519 HOST");
        assert!(!Value::Object(attributes).to_string().contains("c2VjcmV0"));
    }
}
