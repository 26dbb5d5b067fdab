//! The security group rules for the orchestrator's access to the bastion, one by address of the orchestrator.
//!
//! Both calls are idempotent. A rule is identified by its description, so any server can remove it after a crash,
//! without its id. An equal rule of the user is left alone.

use std::net::IpAddr;

use openstack::Session;
use openstack::network::SecurityGroupRule;
use serde_json::json;

use super::{marker, record, rules};
use crate::driver::{DriverError, Marker};

/// Allows `address` to connect to port 22 of the group's ports. Other addresses keep their rules: other servers may use
/// them.
pub async fn open(
    session: &Session,
    security_group_id: &str,
    marker: &Marker,
    address: IpAddr,
) -> Result<(), DriverError> {
    let network = session.network();
    let wanted = prefix(address);
    let mut open = false;
    let mut rules = find(session, marker).await?;
    rules.retain(|rule| rule.remote_ip_prefix.as_deref() == Some(wanted.as_str()));
    for rule in rules {
        if rule.security_group_id == security_group_id {
            open = true;
        } else {
            // The group has changed since an interrupted run.
            record::done_if_gone(network.delete::<SecurityGroupRule>(&rule.id).await)?;
        }
    }
    if open {
        return Ok(());
    }
    let body = json!({
        "security_group_id": security_group_id,
        "direction": "ingress",
        "ethertype": if address.is_ipv4() { "IPv4" } else { "IPv6" },
        "protocol": "tcp",
        "port_range_min": 22,
        "port_range_max": 22,
        "remote_ip_prefix": wanted,
        "description": description(marker),
    });
    match network.create::<SecurityGroupRule>(&body).await {
        Err(error) if !rules::exists_already(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Removes the rules of all addresses but `remaining`. Succeeds if a rule or the group is missing.
pub async fn close(
    session: &Session,
    marker: &Marker,
    remaining: &[IpAddr],
) -> Result<(), DriverError> {
    let remaining: Vec<Option<String>> = remaining
        .iter()
        .map(|address| Some(prefix(*address)))
        .collect();
    let mut rules = find(session, marker).await?;
    rules.retain(|rule| !remaining.contains(&rule.remote_ip_prefix));
    for rule in rules {
        record::done_if_gone(
            session
                .network()
                .delete::<SecurityGroupRule>(&rule.id)
                .await,
        )?;
    }
    Ok(())
}

/// The range of one address.
fn prefix(address: IpAddr) -> String {
    format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 })
}

/// The description of the rule. It does not contain the incarnation of the server: server and group can be replaced
/// between the two calls, or restored by a rollback.
pub fn description(marker: &Marker) -> String {
    let name = marker.resource.split('#').next().unwrap_or_default();
    let bastion = Marker {
        resource: name.to_owned(),
        ..marker.clone()
    };
    format!("{} ssh for the run", marker::text(&bastion))
}

async fn find(session: &Session, marker: &Marker) -> Result<Vec<SecurityGroupRule>, DriverError> {
    let description = description(marker);
    let query = [("description", description.as_str())];
    let mut found: Vec<SecurityGroupRule> = session.network().list(&query).await?;
    // Some clouds ignore the filter.
    found.retain(|rule| rule.description.as_deref() == Some(description.as_str()));
    Ok(found)
}
