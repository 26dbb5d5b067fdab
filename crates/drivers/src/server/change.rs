//! Updates of a server in place: name, metadata, tags, flavor, ports, password.
//!
//! Each part is compared with Nova's record and sent only if it differs, so the whole update is idempotent. A resize
//! needs a confirmation, which `progress` sends; [`effect`] checks the results of asynchronous requests. A password
//! cannot be read, so it is sent only if the plan found a change. Source: Compute API, "Servers", "Server actions",
//! "Port interfaces".

use openstack::compute::Server as Found;
use openstack::network::Port;
use openstack::server_actions::ActionOutcome;
use serde_json::{Value, json};

use super::super::properties::Properties;
use super::super::{marker, nova_requests};
use super::{body, effect, host_keys::HostKeys, power};
use crate::driver::{Context, DriverError, Progress, Ready};

pub(super) async fn apply(context: &Context<'_>, id: &str) -> Result<(), DriverError> {
    let properties = Properties::of(context.properties);
    let compute = context.session.compute();
    let server = compute.server_get(id).await?;
    let name = marker::physical_name(context.marker, context.properties);
    if name != server.name {
        compute.server_rename(id, &name).await?;
    }
    let host_keys = HostKeys::in_metadata(&server.metadata);
    let wanted = body::metadata(context.marker, properties, host_keys.as_ref())?;
    if wanted != json!(server.metadata) {
        compute.server_set_metadata(id, &wanted).await?;
    }
    let mut wanted = body::tags(context.marker, properties)?;
    let mut there = server.tags.clone();
    wanted.sort();
    there.sort();
    if wanted != there {
        compute.server_set_tags(id, &wanted).await?;
    }
    if context.changed.iter().any(|name| name == "admin_pass")
        && let Some(password) = properties.filled("admin_pass")?
    {
        compute.server_set_password(id, &password).await?;
    }
    plug(context, properties, id).await?;
    resize(context, properties, &server).await?;
    power::restore(context, &server).await
}

/// Attaches the ports in the template, and detaches all others.
async fn plug(
    context: &Context<'_>,
    properties: Properties<'_>,
    id: &str,
) -> Result<(), DriverError> {
    let compute = context.session.compute();
    let there = effect::ports(context, id).await?;
    let networks = properties.list("networks");
    let mut wanted = Vec::new();
    for (index, network) in networks.iter().enumerate() {
        let prefix = format!("networks.{index}.");
        let network = Properties::within(network, &prefix)?;
        match network.id_of::<Port>(context.session, "port").await? {
            Some(port) => wanted.push(port),
            // Ports that Nova created belong to Nova: their network cannot be changed here.
            None => return Ok(()),
        }
    }
    for port in there.iter().filter(|port| !wanted.contains(&port.id)) {
        let answer = compute.port_detach(id, &port.id).await;
        let accepted = context.accepted;
        accepted.note_unless_gone(effect::UNPLUG, &port.id, answer)?;
    }
    for port in wanted {
        if !there.iter().any(|one| one.id == port) {
            let request = compute.port_attach(id, &port).await?;
            context.accepted.note(effect::PLUG, &port, request);
        }
    }
    Ok(())
}

/// Detaches the ports in the template for the successor; ports created by Nova stay. A missing server has no ports. Nova
/// refuses while the server has a task. A refusal without a task is permanent: the server is locked, for example.
pub(super) async fn unplug(context: &Context<'_>, id: &str) -> Result<Progress, DriverError> {
    let networks = Properties::of(context.properties).list("networks");
    let drawn = |port: &Port| {
        networks
            .iter()
            .any(|network| network.get("port").and_then(Value::as_str) == Some(port.id.as_str()))
    };
    let mut there = effect::ports(context, id).await?;
    there.retain(drawn);
    let Some(first) = there.first() else {
        return Ok(Progress::Ready(Ready::default()));
    };
    let waits = Progress::Pending(format!(
        "port {} is being unplugged from server {id}",
        first.id
    ));
    for port in &there {
        if let Some(request) = context.accepted.newest(effect::UNPLUG, &port.id) {
            match nova_requests::outcome(context, id, &request).await? {
                ActionOutcome::UnderWay => continue,
                ActionOutcome::Succeeded => {}
                failed @ ActionOutcome::Failed(_) => {
                    let why = nova_requests::reason(&failed, id, &request);
                    return Ok(still_has(port, &why));
                }
            }
        }
        let Some(refusal) = request_unplug(context, id, port).await? else {
            continue;
        };
        let server = match context.session.compute().server_get(id).await {
            Err(error) if error.is_not_found() => continue,
            server => server?,
        };
        if server.task_state.is_some() {
            // Without the request id, which differs each time.
            return Ok(Progress::Pending(format!(
                "port {} cannot be unplugged from server {id} yet: {}",
                port.id,
                refusal.message().unwrap_or_default()
            )));
        }
        // The task can have ended after the refusal.
        if let Some(refusal) = request_unplug(context, id, port).await? {
            return Ok(still_has(port, &refusal.to_string()));
        }
    }
    Ok(waits)
}

/// Requests the detachment of a port. Returns Nova's refusal, if the server is in a state that does not allow it.
async fn request_unplug(
    context: &Context<'_>,
    id: &str,
    port: &Port,
) -> Result<Option<openstack::Error>, DriverError> {
    match context.session.compute().port_detach(id, &port.id).await {
        Ok(request) => context.accepted.note(effect::UNPLUG, &port.id, request),
        // Nova has detached the port, and Neutron is late.
        Err(error) if error.is_not_found() => {}
        Err(error) if error.is_conflict() => return Ok(Some(error)),
        Err(error) => return Err(error.into()),
    }
    Ok(None)
}

/// The end of the wait for a port that Nova does not detach.
fn still_has(port: &Port, why: &str) -> Progress {
    Progress::Unchanged(format!(
        "still has port {}, which its successor needs: {why}. Unplug the port in the cloud, then resume the run",
        port.id
    ))
}

async fn resize(
    context: &Context<'_>,
    properties: Properties<'_>,
    server: &Found,
) -> Result<(), DriverError> {
    // An interrupted attempt requested the resize, and Nova is executing it.
    if matches!(server.status.as_str(), "RESIZE" | "VERIFY_RESIZE") {
        return nova_requests::take_up(context, &server.id, effect::RESIZE, &server.id).await;
    }
    let flavor = effect::flavor(context, properties).await?;
    if effect::has_flavor(server, &flavor) {
        return Ok(());
    }
    let compute = context.session.compute();
    let request = compute.server_resize(&server.id, &flavor.id).await?;
    context.accepted.note(effect::RESIZE, &server.id, request);
    Ok(())
}
