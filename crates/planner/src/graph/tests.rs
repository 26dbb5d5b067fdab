use std::collections::BTreeSet;

use super::*;
use hot::document::Document;

/// Checks the edges of a template's `resources:`, given as `before>after` in any order. All expected edges come from
/// Heat.
#[track_caller]
fn check(resources: &str, edges: &str) {
    assert_eq!(edges_of(resources, Rules::Heat), words(edges));
}

fn words(edges: &str) -> BTreeSet<String> {
    edges.split_whitespace().map(str::to_owned).collect()
}

fn edges_of(resources: &str, rules: Rules) -> BTreeSet<String> {
    let text = format!("heat_template_version: 2018-08-31\nresources:\n{resources}");
    let document = Document::parse(&text);
    assert!(document.is_readable(), "{:?}", document.diagnostics());
    let nodes: Vec<Node<'_>> = document
        .template()
        .resources
        .iter()
        .map(|resource| Node {
            name: &resource.name,
            resource_type: &resource.resource_type,
            properties: resource
                .properties
                .iter()
                .map(|property| (property.name.as_str(), &property.value))
                .collect(),
            depends_on: Vec::new(),
            derived: resource.name.starts_with("our_"),
        })
        .collect();
    let required = requirements(&nodes, rules, Registry::shared());
    let edges = nodes.iter().zip(required).flat_map(|(node, required)| {
        required
            .into_iter()
            .map(move |before| format!("{before}>{}", node.name))
    });
    edges.collect()
}

#[test]
fn a_server_waits_for_the_subnets_of_its_networks() {
    let nets = "
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
  f: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}}}
  b: {type: OS::Neutron::Subnet, properties: {network: {get_resource: back}}}
  web: {type: OS::Nova::Server, properties: {networks: ";
    let fixed = "front>f back>b";
    for (networks, edges) in [
        ("[{network: {get_resource: front}}]", "front>web f>web"),
        // By the future name of the network.
        ("[{network: front}]", "f>web"),
        ("[{uuid: {get_resource: front}}]", "front>web f>web"),
        // Ids in the result of a function count too.
        (
            "[{network: {list_join: ['', [{get_resource: front}]]}}]",
            "front>web f>web",
        ),
        // Without a network any subnet is possible.
        ("[{subnet: {get_resource: f}}]", "f>web b>web"),
        ("[{allocate_network: auto}]", "f>web b>web"),
        ("[{network: elsewhere}]", ""),
        ("[]", ""),
    ] {
        check(
            &format!("{nets}{networks}}}}}"),
            &format!("{fixed} {edges}"),
        );
    }
}

#[test]
fn a_server_waits_for_subnets_of_a_network_that_is_known_later() {
    check(
        "
  net: {type: OS::Neutron::Net}
  other: {type: OS::Nova::Server}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_attr: [other, name]}}}
  web: {type: OS::Nova::Server, properties: {networks: [{network: {get_resource: net}}]}}",
        "other>sub net>web sub>web",
    );
}

#[test]
fn a_port_waits_for_the_subnets_of_its_network() {
    check(
        "
  net: {type: OS::Neutron::Net}
  other: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network_id: {get_resource: net}}}
  sub2: {type: OS::Neutron::Subnet, properties: {network: {get_resource: other}}}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  old: {type: OS::Quantum::Port, properties: {network_id: {get_resource: net}}}",
        "net>sub other>sub2 net>port sub>port net>old sub>old",
    );
}

#[test]
fn a_router_waits_for_the_external_subnets() {
    check(
        "
  out: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: out}}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: {get_resource: out}}}}",
        "out>sub out>router sub>router",
    );
}

const ROUTED: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}}}
  net2: {type: OS::Neutron::Net}
  sub2: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net2}}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  foot: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: sub}}}
  foot2: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: sub2}}}
";
const ROUTED_EDGES: &str = "net>sub net2>sub2 router>foot sub>foot router>foot2 sub2>foot2";

#[test]
fn a_floating_ip_waits_for_gateway_and_interface() {
    let edges = |more: &str| format!("{ROUTED_EDGES} {more}");
    check(
        &format!("{ROUTED}
  port: {{type: OS::Neutron::Port, properties: {{network: net, fixed_ips: [{{subnet: {{get_resource: sub}}}}]}}}}
  ip: {{type: OS::Neutron::FloatingIP, properties: {{floating_network: public, port_id: {{get_resource: port}}}}}}
  free: {{type: OS::Neutron::FloatingIP, properties: {{floating_network_id: public}}}}
  elsewhere: {{type: OS::Neutron::FloatingIP, properties: {{floating_network: other}}}}"),
        &edges("sub>port port>ip foot>ip router>ip router>free"),
    );
    // Without fixed addresses Heat reads the subnets from the cloud, which has no such network yet.
    let asks = format!("{ROUTED}
  port: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: net}}}}}}
  ip: {{type: OS::Neutron::FloatingIP, properties: {{floating_network: public, port_id: {{get_resource: port}}}}}}");
    check(&asks, &edges("net>port sub>port port>ip router>ip"));
    assert!(edges_of(&asks, Rules::Plan).contains("foot>ip"));
    assert!(!edges_of(&asks, Rules::Plan).contains("foot2>ip"));
}

#[test]
fn a_floating_ip_waits_for_a_gateway_of_its_own() {
    check(
        "
  router: {type: OS::Neutron::Router}
  gateway: {type: OS::Neutron::RouterGateway, properties: {router_id: {get_resource: router}, network: public}}
  ip: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}",
        "router>gateway gateway>ip",
    );
}

#[test]
fn an_association_waits_for_the_interface_of_the_ports_first_address() {
    for (kind, port) in [
        ("FloatingIPAssociation", "port_id"),
        ("FloatingIPPortForward", "internal_port"),
    ] {
        check(
            &format!("{ROUTED}
  port: {{type: OS::Neutron::Port, properties: {{network: net, fixed_ips: [{{subnet: {{get_resource: sub}}}}, {{subnet: {{get_resource: sub2}}}}]}}}}
  bare: {{type: OS::Neutron::Port, properties: {{network: net}}}}
  a: {{type: OS::Neutron::{kind}, properties: {{floatingip_id: x, {port}: {{get_resource: port}}}}}}
  b: {{type: OS::Neutron::{kind}, properties: {{floatingip_id: x, {port}: {{get_resource: bare}}}}}}"),
            &format!("{ROUTED_EDGES} sub>port sub2>port sub>bare port>a foot>a bare>b"),
        );
    }
}

#[test]
fn extra_routes_wait_for_the_routers_interfaces() {
    check(
        "
  r: {type: OS::Neutron::Router}
  other: {type: OS::Neutron::Router}
  foot: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: r}, subnet: a}}
  foot2: {type: OS::Neutron::RouterInterface, properties: {router_id: {get_resource: other}, subnet: b}}
  gateway: {type: OS::Neutron::RouterGateway, properties: {router_id: {get_resource: r}, network: public}}
  one: {type: OS::Neutron::ExtraRoute, properties: {router_id: {get_resource: r}}}
  set: {type: OS::Neutron::ExtraRouteSet, properties: {router: {get_resource: r}}}",
        "r>foot other>foot2 r>gateway foot>gateway r>one foot>one gateway>one r>set foot>set",
    );
}

#[test]
fn a_router_gateway_waits_for_interfaces_and_external_subnets() {
    check(
        "
  r: {type: OS::Neutron::Router}
  sub: {type: OS::Neutron::Subnet, properties: {network: public}}
  foot: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: r}, subnet: a}}
  gateway: {type: OS::Neutron::RouterGateway, properties: {router_id: {get_resource: r}, network: public}}",
        "r>foot r>gateway foot>gateway sub>gateway",
    );
}

#[test]
fn a_gateway_attachment_waits_for_the_networks_route_tables() {
    check(
        "
  vpc: {type: AWS::EC2::VPC}
  table: {type: AWS::EC2::RouteTable, properties: {VpcId: {get_resource: vpc}}}
  other: {type: AWS::EC2::RouteTable, properties: {VpcId: elsewhere}}
  attach: {type: AWS::EC2::VPCGatewayAttachment, properties: {VpcId: {get_resource: vpc}}}",
        "vpc>table vpc>attach table>attach",
    );
}

#[test]
fn an_added_port_counts_as_a_use_of_its_network() {
    let resources = "
  net: {type: OS::Neutron::Net}
  other: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}}}
  sub2: {type: OS::Neutron::Subnet, properties: {network: {get_resource: other}}}
  our_port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  web: {type: OS::Nova::Server, properties: {networks: [{port: {get_resource: our_port}}]}}";
    assert!(edges_of(resources, Rules::Heat).contains("sub2>web"));
    assert!(!edges_of(resources, Rules::Plan).contains("sub2>web"));
    assert!(edges_of(resources, Rules::Plan).is_superset(&words("sub>our_port our_port>web")));
}

#[test]
fn required_resources_come_first() {
    let names = ["server", "port", "net"];
    assert_eq!(
        order(&names, &[vec!["port"], vec!["net"], vec![]]),
        Ok(vec![2, 1, 0])
    );
}

#[test]
fn a_circle_is_reported_in_order() {
    let names = ["z", "a", "b", "c"];
    assert_eq!(
        order(&names, &[vec!["a"], vec!["b"], vec!["c"], vec!["a"]]),
        Err(vec!["a", "b", "c"])
    );
}
