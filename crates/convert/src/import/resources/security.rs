//! Security groups and their rules.

use serde_json::{Map, Value, json};

use super::{Convert, GROUP, Output, Resource};
use crate::import::context::Importer;
use crate::import::sections::as_number;

/// The converter for a type of this family.
pub(super) fn of(written: &str) -> Option<Convert> {
    Some(match written {
        GROUP => group,
        "AWS::EC2::SecurityGroupIngress" => ingress,
        "AWS::EC2::SecurityGroupEgress" => egress,
        _ => return None,
    })
}

fn ingress(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    rule_alone(importer, output, resource, "ingress");
}

fn egress(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    rule_alone(importer, output, resource, "egress");
}

fn group(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let names = [("GroupDescription", "description"), ("GroupName", "name")];
    let mut properties = resource.renamed(importer, &names);
    // Groups belong to the project, and their tags have no counterpart.
    for property in ["VpcId", "Tags"] {
        resource.raw(property);
    }
    let mut rules = Vec::new();
    for (property, direction) in [
        ("SecurityGroupIngress", "ingress"),
        ("SecurityGroupEgress", "egress"),
    ] {
        let at = resource.at(property);
        match resource.raw(property) {
            None => {}
            Some(Value::Array(given)) => {
                for (number, rule) in given.iter().enumerate() {
                    let at = format!("{at}.{number}");
                    match rule.as_object() {
                        Some(rule) => {
                            rules.push(in_group(converted(importer, rule, direction, &at)))
                        }
                        None => {
                            importer.left_out(&at, "A rule is computed. Add it to `rules` by hand")
                        }
                    }
                }
            }
            Some(Value::Object(rule)) if rule.contains_key("IpProtocol") => {
                rules.push(in_group(converted(importer, rule, direction, &at)));
            }
            Some(_) => importer.left_out(&at, "The rules are a computed list. Set `rules` by hand"),
        }
    }
    if !rules.is_empty() {
        properties.insert("rules".to_owned(), Value::Array(rules));
    }
    output.put(importer, resource, "OS::Neutron::SecurityGroup", properties);
}

/// A rule inside a group states explicitly if its remote is another group.
fn in_group(mut rule: Map<String, Value>) -> Value {
    if let Some(remote) = rule.remove("remote_group") {
        rule.insert("remote_mode".to_owned(), json!("remote_group_id"));
        rule.insert("remote_group_id".to_owned(), remote);
    }
    Value::Object(rule)
}

fn rule_alone(
    importer: &mut Importer<'_>,
    output: &mut Output,
    resource: &mut Resource<'_>,
    direction: &str,
) {
    let given = resource.body.get("Properties").and_then(Value::as_object);
    let given = given.cloned().unwrap_or_default();
    let at = format!("{}.Properties", resource.path);
    let mut properties = converted(importer, &given, direction, &at);
    let group = ["GroupId", "GroupName"]
        .iter()
        .find_map(|key| given.get(*key));
    if let Some(group) = group {
        let group = importer.value(group, &at);
        properties.insert("security_group".to_owned(), group);
    }
    for property in given.keys() {
        resource.raw(property);
    }
    output.put(
        importer,
        resource,
        "OS::Neutron::SecurityGroupRule",
        properties,
    );
}

fn converted(
    importer: &mut Importer<'_>,
    rule: &Map<String, Value>,
    direction: &str,
    at: &str,
) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("direction".to_owned(), json!(direction));
    let protocol = rule
        .get("IpProtocol")
        .map(|protocol| importer.value(protocol, at));
    let all = protocol
        .as_ref()
        .is_some_and(|one| *one == json!(-1) || *one == json!("-1") || *one == json!("all"));
    if let Some(protocol) = protocol.filter(|_| !all) {
        // CloudFormation writes the number as text.
        let protocol = match protocol {
            Value::Number(number) => json!(number.to_string()),
            other => other,
        };
        out.insert("protocol".to_owned(), protocol);
    }
    for (amazon, hot) in [("FromPort", "port_range_min"), ("ToPort", "port_range_max")] {
        let Some(port) = rule.get(amazon).filter(|_| !all) else {
            continue;
        };
        let port = as_number(&importer.value(port, at));
        // Any port is the default in HOT.
        if port != json!(-1) {
            out.insert(hot.to_owned(), port);
        }
    }
    if let Some(range) = rule.get("CidrIp") {
        out.insert("remote_ip_prefix".to_owned(), importer.value(range, at));
    }
    if let Some(range) = rule.get("CidrIpv6") {
        out.insert("remote_ip_prefix".to_owned(), importer.value(range, at));
        out.insert("ethertype".to_owned(), json!("IPv6"));
    }
    let groups = [
        "SourceSecurityGroupId",
        "SourceSecurityGroupName",
        "DestinationSecurityGroupId",
    ];
    if let Some(group) = groups.iter().find_map(|key| rule.get(*key)) {
        // A rule has either a remote group or a range.
        if out.remove("remote_ip_prefix").is_some() {
            importer.left_out(at, "In OpenStack, a rule has an address range or a remote group. The group is used. Add a second rule for the range");
        }
        out.insert("remote_group".to_owned(), importer.value(group, at));
    }
    for key in [
        "SourcePrefixListId",
        "DestinationPrefixListId",
        "SourceSecurityGroupOwnerId",
    ] {
        if rule.contains_key(key) {
            importer.left_out(at, format!("OpenStack has no counterpart of `{key}`"));
        }
    }
    out
}
