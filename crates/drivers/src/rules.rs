//! Security group rules, shared by inline rules of a group, separate rules and the bastion's rule: request bodies, and
//! equality by Neutron's definition.

use openstack::network::SecurityGroupRule;
use serde_json::{Map, Value};

use super::properties::Properties;
use crate::driver::DriverError;

/// The request body of a rule. `remote_group` is an id.
pub(super) fn body(
    rule: Properties<'_>,
    group: &str,
    remote_group: Option<&str>,
) -> Result<Map<String, Value>, DriverError> {
    let mut body = Map::new();
    let direction = rule
        .filled("direction")?
        .unwrap_or_else(|| "ingress".into());
    body.insert("security_group_id".into(), group.into());
    body.insert("direction".into(), direction.into());
    body.insert(
        "ethertype".into(),
        rule.filled("ethertype")?
            .unwrap_or_else(|| "IPv4".into())
            .into(),
    );
    if let Some(protocol) = protocol(rule)? {
        body.insert("protocol".into(), protocol.into());
    }
    for name in ["port_range_min", "port_range_max"] {
        if let Some(port) = rule.integer(name)? {
            body.insert(name.into(), port.into());
        }
    }
    match remote_group {
        Some(remote) => {
            body.insert("remote_group_id".into(), remote.into());
        }
        None => {
            if let Some(prefix) = rule.filled("remote_ip_prefix")? {
                body.insert("remote_ip_prefix".into(), prefix.into());
            }
        }
    }
    Ok(body)
}

/// The protocol in Neutron's format. `None` for any protocol.
pub(super) fn protocol(rule: Properties<'_>) -> Result<Option<String>, DriverError> {
    let given = rule.filled("protocol")?.map(|name| name.to_lowercase());
    Ok(given.filter(|name| name != "any"))
}

/// Whether an existing rule is equal to a body. In Neutron, a prefix of all addresses equals no prefix.
pub(super) fn is_same(rule: &SecurityGroupRule, body: &Map<String, Value>) -> bool {
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let port = |key: &str| {
        body.get(key)
            .and_then(Value::as_u64)
            .and_then(|port| u32::try_from(port).ok())
    };
    let prefix = |prefix: Option<&str>| {
        prefix
            .filter(|prefix| !matches!(*prefix, "0.0.0.0/0" | "::/0"))
            .map(str::to_string)
    };
    text("direction") == Some(rule.direction.as_str())
        && text("ethertype") == rule.ethertype.as_deref().or(Some("IPv4"))
        && text("protocol") == rule.protocol.as_deref()
        && port("port_range_min") == rule.port_range_min
        && port("port_range_max") == rule.port_range_max
        && text("remote_group_id") == rule.remote_group_id.as_deref()
        && prefix(text("remote_ip_prefix")) == prefix(rule.remote_ip_prefix.as_deref())
}

/// A rule in one line: `ingress tcp 80-90 from 10.0.0.0/8`.
pub(super) fn text(rule: &Map<String, Value>) -> String {
    let field = |name: &str| match rule.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let direction = field("direction").unwrap_or_default();
    let protocol = field("protocol").unwrap_or_else(|| "any protocol".into());
    let ports = match (field("port_range_min"), field("port_range_max")) {
        (Some(min), Some(max)) if min == max => format!(" {min}"),
        (Some(min), Some(max)) => format!(" {min}-{max}"),
        (one, other) => one
            .or(other)
            .map(|port| format!(" {port}"))
            .unwrap_or_default(),
    };
    let side = if direction == "egress" { "to" } else { "from" };
    let remote = field("remote_group_id").map(|group| format!("group {group}"));
    let remote = remote.or_else(|| field("remote_ip_prefix"));
    let remote = remote.unwrap_or_else(|| match field("ethertype").as_deref() {
        Some("IPv6") => "::/0".into(),
        _ => "0.0.0.0/0".into(),
    });
    format!("{direction} {protocol}{ports} {side} {remote}")
}

/// Whether the error is Neutron's refusal of a duplicate rule.
pub(super) fn exists_already(error: &openstack::Error) -> bool {
    error.is_conflict()
        && error.api().is_some_and(|error| {
            error.kind.as_deref() == Some("SecurityGroupRuleExists")
                || error.message.contains("already exists")
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(rule: Value, expected: Value) {
        let body = body(Properties::within(&rule, "").unwrap(), "g", None).unwrap();
        assert_eq!(Value::Object(body), expected);
    }

    #[test]
    fn bodies_of_rules() {
        check(
            json!({"protocol": "TCP", "port_range_min": "80", "port_range_max": 80, "remote_ip_prefix": "0.0.0.0/0"}),
            json!({"security_group_id": "g", "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp",
                   "port_range_min": 80, "port_range_max": 80, "remote_ip_prefix": "0.0.0.0/0"}),
        );
        check(
            json!({"direction": "egress", "protocol": "any", "ethertype": "IPv6"}),
            json!({"security_group_id": "g", "direction": "egress", "ethertype": "IPv6"}),
        );
    }

    #[test]
    fn a_rule_in_one_line() {
        let line = |rule: Value| text(rule.as_object().unwrap());
        assert_eq!(
            line(
                json!({"direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 80, "port_range_max": 90,
                        "remote_ip_prefix": "10.0.0.0/8"})
            ),
            "ingress tcp 80-90 from 10.0.0.0/8"
        );
        assert_eq!(
            line(
                json!({"direction": "egress", "ethertype": "IPv6", "protocol": null, "remote_group_id": "g"})
            ),
            "egress any protocol to group g"
        );
    }

    #[test]
    fn everywhere_is_no_prefix() {
        let there: SecurityGroupRule = serde_json::from_value(json!({
            "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 22, "port_range_max": 22,
            "remote_ip_prefix": null, "remote_group_id": null}))
        .unwrap();
        let wanted = |prefix: &str| {
            let rule = json!({"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": prefix});
            body(Properties::within(&rule, "").unwrap(), "g", None).unwrap()
        };
        assert!(is_same(&there, &wanted("0.0.0.0/0")));
        assert!(!is_same(&there, &wanted("10.0.0.0/8")));
    }
}
