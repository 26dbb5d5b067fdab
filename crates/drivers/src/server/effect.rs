//! Checks that accepted changes of a server took effect.
//!
//! Nova executes a resize and the attachment of ports after its response. After a failure, the server mostly returns to
//! its former state. So once the server is idle, it is compared with the requests.

use openstack::compute::{Flavor, Server as Found};
use openstack::network::Port;
use openstack::server_actions::ActionOutcome;

use super::super::nova_requests::{outcome, reason};
use super::super::properties::Properties;
use crate::driver::{Context, DriverError, Progress, Request};

/// Nova's names of the actions in its record of requests.
pub(super) const RESIZE: &str = "resize";
pub(super) const PLUG: &str = "attach_interface";
pub(super) const UNPLUG: &str = "detach_interface";
pub(super) const SNAPSHOT: &str = "createImage";
pub(super) const REBUILD: &str = "rebuild";
pub(super) const DELETE: &str = "delete";

pub(super) async fn ports(context: &Context<'_>, server: &str) -> Result<Vec<Port>, DriverError> {
    let network = context.session.network();
    Ok(network.list(&[("device_id", server)]).await?)
}

/// The missing effect of this attempt's requests on an idle server. `None` if none is missing.
pub(super) async fn missing(
    context: &Context<'_>,
    server: &Found,
) -> Result<Option<Progress>, DriverError> {
    if let Some(request) = context.accepted.newest(RESIZE, &server.id) {
        let properties = Properties::of(context.properties);
        let wanted = flavor(context, properties).await?;
        if !has_flavor(server, &wanted) {
            let outcome = outcome(context, &server.id, &request).await?;
            if outcome == ActionOutcome::UnderWay {
                return Ok(Some(Progress::Pending(
                    "the server is about to be resized".into(),
                )));
            }
            return Ok(Some(Progress::Unchanged(format!(
                "was not resized to `{}`: {}. It still has flavor `{}` and {}. Choose a flavor that a host can hold, and update \
                 again",
                wanted.name,
                reason(&outcome, &server.id, &request),
                flavor_of(server).unwrap_or("?"),
                as_before(server),
            ))));
        }
    }
    let (plugged, unplugged) = (context.accepted.all(PLUG), context.accepted.all(UNPLUG));
    if plugged.is_empty() && unplugged.is_empty() {
        return Ok(None);
    }
    let there = ports(context, &server.id).await?;
    let is_there = |request: &Request| there.iter().any(|port| port.id == request.subject);
    let absent = plugged.iter().find(|request| !is_there(request));
    let left = unplugged.iter().find(|request| is_there(request));
    let (request, how) = match (absent, left) {
        (Some(request), _) => (request, "did not get"),
        (None, Some(request)) => (request, "still has"),
        (None, None) => return Ok(None),
    };
    let outcome = outcome(context, &server.id, request).await?;
    // Neutron can be a moment later than Nova.
    let is_late = outcome == ActionOutcome::Succeeded && request.may_be_settling();
    if outcome == ActionOutcome::UnderWay || is_late {
        let what = format!("port {} is being plugged in or out", request.subject);
        return Ok(Some(Progress::Pending(what)));
    }
    Ok(Some(Progress::Unchanged(format!(
        "{how} port {}: {}. It {}. Plug the port in or out in the cloud, or update again",
        request.subject,
        reason(&outcome, &server.id, request),
        as_before(server),
    ))))
}

/// The reason why Nova has given up on a server's deletion. `None` if it has not. The server is idle.
pub(super) async fn deletion_failure(
    context: &Context<'_>,
    server: &Found,
) -> Result<Option<String>, DriverError> {
    let Some(request) = context.accepted.newest(DELETE, &server.id) else {
        return Ok(None);
    };
    if server.task_state.is_some() {
        return Ok(None);
    }
    let outcome = outcome(context, &server.id, &request).await?;
    let ActionOutcome::Failed(_) = outcome else {
        return Ok(None);
    };
    let fault = server.fault.as_ref().map(|fault| fault.message.trim());
    let why = match fault.filter(|text| !text.is_empty()) {
        Some(text) => text.trim_end_matches('.').to_owned(),
        None => reason(&outcome, &server.id, &request),
    };
    Ok(Some(format!(
        "server {} was not deleted and is in state {}: {why}. Resume the run to try again, or ask the cloud's administrator",
        server.id, server.status
    )))
}

/// The flavor in the properties.
pub(super) async fn flavor(
    context: &Context<'_>,
    properties: Properties<'_>,
) -> Result<Flavor, DriverError> {
    let flavor = properties.required("flavor")?;
    let found = context.session.compute().flavor_find(&flavor).await;
    found.map_err(|error| properties.looked_up("flavor", error))
}

/// Whether a server has a flavor. Newer clouds return the flavor's name, older ones its id.
pub(super) fn has_flavor(server: &Found, flavor: &Flavor) -> bool {
    let there = flavor_of(server);
    there.is_none_or(|there| there == flavor.name || there == flavor.id)
}

pub(super) fn flavor_of(server: &Found) -> Option<&str> {
    let there = server.other.get("flavor")?;
    let field = |name: &str| there.get(name)?.as_str();
    field("original_name").or_else(|| field("id"))
}

fn as_before(server: &Found) -> String {
    match server.status.as_str() {
        "ACTIVE" => "runs as before".into(),
        status => format!("is in state {status}, as before"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_flavor_is_known_by_its_name_or_its_id() {
        let small = Flavor {
            id: "2".into(),
            name: "m1.small".into(),
            ..Flavor::default()
        };
        let server = |flavor| serde_json::from_value::<Found>(json!({"flavor": flavor})).unwrap();
        assert!(has_flavor(
            &server(json!({"original_name": "m1.small", "vcpus": 1})),
            &small
        ));
        assert!(has_flavor(&server(json!({"id": "2"})), &small));
        assert!(!has_flavor(
            &server(json!({"original_name": "m1.tiny"})),
            &small
        ));
    }
}
