//! Ports of clusters, and connections that open none.

use super::*;

fn server(name: &str, more: &str) -> String {
    format!(
        "  {name}: {{type: OS::Nova::Server, {more} properties: {{flavor: f, networks: [{{network: {{get_resource: net}}}}]}}}}\n"
    )
}

fn component(name: &str, item: &str, properties: &str) -> String {
    format!("  {name}: {{type: 'Stackloom::Catalog::{item}', properties: {{{properties}}}}}\n")
}

const NET: &str = "  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
";

/// Rules of the derived security groups, inside and apart.
fn rules(text: &str) -> String {
    let all = check(&resources(&format!("{NET}{text}")));
    let lines = all.lines().filter(|line| line.contains("SecurityGroup"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn peers_reach_each_other_in_both_directions_and_nobody_else_reaches_their_port() {
    let text = [
        server("a", PUBLIC),
        server("b", ""),
        server("c", ""),
        component("one", "store", "host: {get_resource: a}"),
        component(
            "two",
            "store",
            "host: {get_resource: b}, members: [{get_resource: one}]",
        ),
        component(
            "three",
            "store",
            "host: {get_resource: c}, members: [{get_resource: two}]",
        ),
    ];
    insta::assert_snapshot!(rules(&text.concat()), @r"
    + a_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 2379, port_range_max: 2379, remote_ip_prefix: 0.0.0.0/0}]
    + b_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 2380, port_range_max: 2380, remote_mode: remote_group_id, remote_group_id: {get_resource: a_access}}, {protocol: tcp, port_range_min: 22, port_range_max: 22, remote_mode: remote_group_id, remote_group_id: {get_resource: a_access}}]
    + c_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 2379, port_range_max: 2379, remote_ip_prefix: 10.0.0.0/24}, {protocol: tcp, port_range_min: 2380, port_range_max: 2380, remote_mode: remote_group_id, remote_group_id: {get_resource: a_access}}, {protocol: tcp, port_range_min: 2380, port_range_max: 2380, remote_mode: remote_group_id, remote_group_id: {get_resource: b_access}}, {protocol: tcp, port_range_min: 22, port_range_max: 22, remote_mode: remote_group_id, remote_group_id: {get_resource: a_access}}]
    + a_access_from_b: SecurityGroupRule port_range_max=2380 port_range_min=2380 protocol=tcp remote_group={get_resource: b_access} security_group={get_resource: a_access}
    + a_access_from_c: SecurityGroupRule port_range_max=2380 port_range_min=2380 protocol=tcp remote_group={get_resource: c_access} security_group={get_resource: a_access}
    + b_access_from_c: SecurityGroupRule port_range_max=2379 port_range_min=2379 protocol=tcp remote_group={get_resource: c_access} security_group={get_resource: b_access}
    + b_access_from_c_2: SecurityGroupRule port_range_max=2380 port_range_min=2380 protocol=tcp remote_group={get_resource: c_access} security_group={get_resource: b_access}
    ");
}

#[test]
fn a_component_without_peers_keeps_their_port_closed() {
    let text = [
        server("a", PUBLIC),
        component("one", "store", "host: {get_resource: a}"),
    ];
    insta::assert_snapshot!(rules(&text.concat()), @r"+ a_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 2379, port_range_max: 2379, remote_ip_prefix: 0.0.0.0/0}]");
}

#[test]
fn a_connection_that_needs_only_addresses_changes_no_rule() {
    let text = [
        server("a", PUBLIC),
        server("b", ""),
        component("web", "nginx", "host: {get_resource: b}"),
    ];
    let names = component(
        "names",
        "names",
        "host: {get_resource: a}, services: [{get_resource: web}]",
    );
    assert!(rules(&text.concat()).contains("remote_ip_prefix: 10.0.0.0/24"));
    let with_names = rules(&format!("{}{names}", text.concat()));
    assert!(with_names.contains("b_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 80, port_range_max: 80, remote_ip_prefix: 10.0.0.0/24}"), "{with_names}");
}
