//! Nova v2.1: security groups in Nova's old form: those of a server, and `os-security-groups`, the proxy to Neutron that clients
//! use to find a group before they add it to a server.

use axum::response::Response;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, reply};
use crate::kit::ids::looks_like_id;
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::services::compute::on_server::owned;
use crate::services::compute::server_changes::Membership;
use crate::services::network::security_group::SecurityGroup;
use crate::services::network::security_group_rule::{Direction, SecurityGroupRule};
use crate::services::{Call, Model, Routes};

/// The proxy ends before this microversion.
const PROXY_END: Microversion = Microversion(2, 36);

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/servers/{id}/os-security-groups", of_server)
        .get("/os-security-groups", list)
        .get("/os-security-groups/{id}", show)
}

/// A rule as Nova words it. Rules for outgoing packets it does not know.
fn rule_document(model: &Model, rule: &SecurityGroupRule) -> Value {
    let protocol = rule.protocol.as_deref().map(str::to_lowercase);
    let (from, to) = match (
        rule.port_range_min,
        rule.port_range_max,
        protocol.as_deref(),
    ) {
        (Some(from), to, _) => (json!(from), json!(to)),
        (None, _, None) => (Value::Null, Value::Null),
        (None, _, Some("tcp" | "udp")) => (json!(1), json!(65_535)),
        (None, _, Some(_)) => (json!(-1), json!(-1)),
    };
    let remote = rule.remote_group_id.as_ref();
    let group = match remote.and_then(|id| model.security_groups.get(id)) {
        Some(group) => json!({"name": group.name, "tenant_id": group.common.project_id}),
        None => json!({}),
    };
    let range = match (&rule.remote_ip_prefix, remote) {
        (Some(cidr), _) => json!({"cidr": cidr.to_string()}),
        (None, Some(_)) => json!({}),
        (None, None) => json!({"cidr": "0.0.0.0/0"}),
    };
    json!({
        "id": rule.id,
        "parent_group_id": rule.security_group_id,
        "ip_protocol": protocol,
        "from_port": from,
        "to_port": to,
        "group": group,
        "ip_range": range,
    })
}

fn document(model: &Model, group: &SecurityGroup) -> Value {
    let rules = model
        .security_group_rules
        .iter()
        .filter(|rule| rule.security_group_id == group.id && rule.direction == Direction::Ingress);
    json!({
        "id": group.id,
        "name": group.name,
        "description": group.common.description,
        "tenant_id": group.common.project_id,
        "rules": rules.map(|rule| rule_document(model, rule)).collect::<Vec<Value>>(),
    })
}

async fn of_server(call: Call) -> Answer {
    let rows: Vec<Value> = call.read_server(|model, server| {
        let ports = server.ports.iter().filter_map(|id| model.ports.get(id));
        let mut ids: Vec<&String> = Vec::new();
        for id in ports.flat_map(|port| &port.security_groups) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let groups = ids
            .into_iter()
            .filter_map(|id| model.security_groups.get(id));
        groups.map(|group| document(model, group)).collect()
    })?;
    reply(200, json!({ "security_groups": rows }))
}

fn is_served(version: Microversion) -> Result<(), Refusal> {
    let missing = "The resource could not be found.";
    if version < PROXY_END {
        Ok(())
    } else {
        Err(Refusal::not_found("HTTPNotFound", missing))
    }
}

/// The project's groups. `limit` cuts; a name is no filter.
async fn list(call: Call) -> Answer {
    let member = call.member()?;
    is_served(call.version)?;
    call.app
        .change(|model| model.default_security_group(&member.project_id));
    let limit = call
        .query_value("limit")
        .and_then(|limit| limit.parse().ok());
    let rows: Vec<Value> = call.app.read(|model| {
        let mine = model
            .security_groups
            .iter()
            .filter(|group| group.common.project_id == member.project_id);
        mine.take(limit.unwrap_or(1_000))
            .map(|group| document(model, group))
            .collect()
    });
    reply(200, json!({ "security_groups": rows }))
}

async fn show(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    is_served(call.version)?;
    if !looks_like_id(id) {
        return Err(Refusal::bad_request("Security group id should be uuid"));
    }
    let shown = call.app.read(|model| {
        let group = model.security_groups.get(id);
        let group = group.filter(|group| member.can_access(&group.common.project_id));
        group.map(|group| document(model, group))
    });
    let shown = shown.ok_or_else(|| {
        Refusal::not_found(
            "SecurityGroupNotFound",
            format!("Security group {id} does not exist"),
        )
    })?;
    reply(200, json!({ "security_group": shown }))
}

/// The actions `addSecurityGroup` and `removeSecurityGroup`: all ports of a server change.
pub async fn regroup(
    call: &Call,
    details: &Value,
    membership: Membership,
) -> Result<Response, Refusal> {
    let member = call.member()?;
    let name = details["name"]
        .as_str()
        .filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| Refusal::bad_request("Missing parameter dict"))?;
    call.app
        .change_and_apply(|model| {
            let server = owned(model, &member, call.id())?.clone();
            model.change_server_groups(&server, name, membership)
        })
        .await?;
    empty(202)
}
