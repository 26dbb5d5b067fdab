//! Drawings with several networks, routers and IP versions, and with existing resources of the cloud.

use super::*;
use hot::diagnostic::listing;

/// A server in these networks, each given as an entry of `networks`.
fn server_in(name: &str, more: &str, networks: &[&str]) -> String {
    format!(
        "  {name}: {{type: OS::Nova::Server, {more} properties: {{flavor: f, networks: [{}]}}}}\n",
        networks.join(", ")
    )
}

fn network(name: &str, cidr: &str) -> String {
    format!(
        "  {name}: {{type: OS::Neutron::Net}}\n  {name}_sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: {name}}}, cidr: '{cidr}'}}}}\n"
    )
}

fn drawn(name: &str) -> String {
    format!("{{network: {{get_resource: {name}}}}}")
}

fn router(name: &str, outside: &str, subnets: &[&str]) -> String {
    let gateway = match outside {
        "" => String::new(),
        outside => format!(", properties: {{external_gateway_info: {{network: {outside}}}}}"),
    };
    let feet = subnets.iter().map(|subnet| {
        format!("  {name}_{subnet}: {{type: OS::Neutron::RouterInterface, properties: {{router: {{get_resource: {name}}}, subnet: {{get_resource: {subnet}}}}}}}\n")
    });
    format!(
        "  {name}: {{type: OS::Neutron::Router{gateway}}}\n{}",
        feet.collect::<String>()
    )
}

#[test]
fn the_address_comes_by_the_router_that_the_server_is_behind() {
    let text = resources(
        &[
            network("a", "10.1.0.0/24"),
            network("b", "10.2.0.0/24"),
            router("ra", "public", &["a_sub"]),
            router("rb", "other", &["b_sub"]),
            server_in("web", PUBLIC, &[&drawn("b")]),
        ]
        .concat(),
    );
    insta::assert_snapshot!(check(&text), @r"
    ~ web: Server networks=[{port: {get_resource: web_port}}]
    + web_port: Port network={get_resource: b}
    + web_floating_ip: FloatingIP floating_network=other port_id={get_resource: web_port}
    ");
}

#[test]
fn a_public_server_uses_its_network_with_an_external_gateway() {
    let text = resources(
        &[
            network("back", "10.1.0.0/24"),
            network("front", "10.2.0.0/24"),
            router("gate", "public", &["front_sub"]),
            server_in("web", PUBLIC, &[&drawn("back"), &drawn("front")]),
        ]
        .concat(),
    );
    insta::assert_snapshot!(check(&text), @r"
    ~ web: Server networks=[{port: {get_resource: web_port}}, {port: {get_resource: web_port_2}}]
    + web_port: Port network={get_resource: back}
    + web_port_2: Port network={get_resource: front}
    + web_floating_ip: FloatingIP floating_network=public port_id={get_resource: web_port_2}
    ");
}

#[test]
fn networks_with_the_same_range_get_a_router_each() {
    let text = resources(
        &[
            network("a", "10.1.0.0/24"),
            network("b", "10.1.0.0/24"),
            server_in("one", PUBLIC, &[&drawn("a")]),
            server_in("two", PUBLIC, &[&drawn("b")]),
        ]
        .concat(),
    );
    let result = check(&text);
    assert!(
        result.contains("router={get_resource: router} subnet={get_resource: a_sub}"),
        "{result}"
    );
    assert!(
        result.contains("router={get_resource: router_2} subnet={get_resource: b_sub}"),
        "{result}"
    );
}

#[test]
fn a_router_gateway_resource_counts_as_a_gateway() {
    let text = resources(&[
        network("a", "10.1.0.0/24"),
        router("gate", "", &["a_sub"]),
        "  way: {type: OS::Neutron::RouterGateway, properties: {router_id: {get_resource: gate}, network: elsewhere}}\n".to_owned(),
        server_in("web", PUBLIC, &[&drawn("a")]),
    ].concat());
    insta::assert_snapshot!(check(&text), @r"
    ~ web: Server networks=[{port: {get_resource: web_port}}]
    + web_port: Port network={get_resource: a}
    + web_floating_ip: FloatingIP floating_network=elsewhere port_id={get_resource: web_port}
    ");
}

#[test]
fn existing_resources_are_used_unchanged() {
    let text = resources(
        &[
            server_in("web", PUBLIC, &["{network: office}"]),
            nginx("site", "web"),
        ]
        .concat(),
    );
    insta::assert_snapshot!(check(&text), @r"
    ~ web: Server [bastion] networks=[{port: {get_resource: web_port}}]
    ~ site: nginx listen_port=80
    + web_port: Port network=office security_groups=[{get_resource: web_access}]
    + web_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 80, port_range_max: 80, remote_ip_prefix: 0.0.0.0/0}]
    + web_floating_ip: FloatingIP floating_network=public port_id={get_resource: web_port}
    + deployment_key: SSHKey 
    - Info bastion-picked resources.web: software is installed through `web`; to choose another bastion, mark a server as it
    ");
}

#[test]
fn a_server_in_the_external_network_needs_no_floating_ip() {
    let text = resources(
        &[
            server_in("web", "", &["{network: public}"]),
            nginx("site", "web"),
        ]
        .concat(),
    );
    insta::assert_snapshot!(check(&text), @r"
    ~ web: Server [bastion] networks=[{port: {get_resource: web_port}}]
    ~ site: nginx listen_port=80
    + web_port: Port network=public security_groups=[{get_resource: web_access}]
    + web_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 80, port_range_max: 80, remote_ip_prefix: 0.0.0.0/0}]
    + deployment_key: SSHKey 
    - Info bastion-picked resources.web: software is installed through `web`; to choose another bastion, mark a server as it
    ");
}

#[test]
fn an_existing_port_gets_the_floating_ip() {
    let text = resources(&server_in(
        "web",
        PUBLIC,
        &["{port: 0b6dd4b2-3ce8-4b8c-9a1b-5f1f1f2c6a11}"],
    ));
    insta::assert_snapshot!(check(&text), @"+ web_floating_ip: FloatingIP floating_network=public port_id=0b6dd4b2-3ce8-4b8c-9a1b-5f1f1f2c6a11");
}

#[test]
fn rules_allow_ipv4_and_ipv6_and_the_floating_ip_is_for_ipv4() {
    let six = "  sub6: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, ip_version: 6, cidr: 'fd00:1::/64'}}\n";
    let first = NET.replace("  sub:", &format!("{six}  sub:"));
    let text = resources(&format!(
        "{first}{}{}",
        server("web", PUBLIC),
        nginx("site", "web")
    ));
    insta::assert_snapshot!(check(&text), @r#"
    ~ web: Server [bastion] networks=[{port: {get_resource: web_port}}]
    ~ site: nginx listen_port=80
    + web_port: Port network={get_resource: net} security_groups=[{get_resource: web_access}]
    + router: Router external_gateway_info={network: public}
    + sub_interface: RouterInterface router={get_resource: router} subnet={get_resource: sub}
    + web_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 80, port_range_max: 80, remote_ip_prefix: 0.0.0.0/0}, {protocol: tcp, port_range_min: 80, port_range_max: 80, remote_ip_prefix: "::/0", ethertype: IPv6}]
    + web_floating_ip: FloatingIP floating_network=public port_id={get_resource: web_port}
    + deployment_key: SSHKey 
    - Info bastion-picked resources.web: software is installed through `web`; to choose another bastion, mark a server as it
    "#);
    let alone = resources(&format!(
        "  net: {{type: OS::Neutron::Net}}\n{six}{}",
        server("web", PUBLIC)
    ));
    let result = check(&alone);
    assert!(result.contains("Error server-without-port resources.web: `web` needs a public address, and floating IPs are of IP version 4"), "{result}");
}

#[test]
fn generated_ranges_do_not_overlap_drawn_ones() {
    let text = resources(
        &[
            network("a", "10.0.0.0/16"),
            "  b: {type: OS::Neutron::Net}\n".to_owned(),
            server_in("web", "", &[&drawn("b")]),
        ]
        .concat(),
    );
    assert!(
        check(&text).contains("b_subnet: Subnet cidr=192.168.0.0/24"),
        "{}",
        check(&text)
    );
}

#[test]
fn the_bastion_is_the_one_that_reaches_the_others() {
    let apart = [
        network("a", "10.1.0.0/24"),
        network("b", "10.2.0.0/24"),
        network("c", "10.3.0.0/24"),
        router("ra", "public", &["a_sub"]),
        router("rb", "public", &["b_sub", "c_sub"]),
        server_in("alpha", PUBLIC, &[&drawn("a")]),
        server_in("beta", PUBLIC, &[&drawn("b")]),
        server_in("inner", "", &[&drawn("c")]),
        server_in("deep", "", &[&drawn("c")]),
        nginx("one", "inner"),
        nginx("two", "deep"),
    ];
    let bastions = |text: &str| {
        let result = check(&resources(text));
        let lines = result.lines().filter(|line| line.contains("bastion"));
        lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(bastions(&apart.concat()), @r"
    ~ beta: Server [bastion] networks=[{port: {get_resource: beta_port}}]
    - Info bastion-picked resources.beta: software is installed through `beta`; to choose another bastion, mark a server as it
    ");
    // A marked server is used, and servers that it does not reach are reported.
    let marked = apart
        .concat()
        .replacen("public: true", "public: true, bastion: true", 1);
    insta::assert_snapshot!(bastions(&marked), @r"
    ~ alpha: Server [bastion] networks=[{port: {get_resource: alpha_port}}]
    - Warning bastion-unreachable resources.deep: the bastion `alpha` shares neither a network nor a router with `deep`, so software may not get there; put one of them into a network of the other, or both behind one router
    - Warning bastion-unreachable resources.inner: the bastion `alpha` shares neither a network nor a router with `inner`, so software may not get there; put one of them into a network of the other, or both behind one router
    ");
    // If a server is in both networks, the first by name works as well.
    let both = apart.concat().replacen(
        &format!("networks: [{}]", drawn("a")),
        &format!("networks: [{}, {}]", drawn("a"), drawn("c")),
        1,
    );
    assert!(
        bastions(&both).contains("installed through `alpha`"),
        "{}",
        bastions(&both)
    );
    assert!(!bastions(&both).contains("bastion-unreachable"));
}

#[test]
fn members_of_a_group_carry_software() {
    let text = resources(&format!("{NET}
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:
        type: OS::Nova::Server
        metadata: {{stackloom: {{public: true}}}}
        properties: {{flavor: m1.small, image: debian-12, networks: [{{network: {{get_resource: net}}}}]}}
{}", nginx("site", "x").replace("{get_resource: x}", "{get_attr: [web, resource.1]}")));
    let plan = crate::testing::plan_of(&text);
    let workflow = plan
        .workflow
        .unwrap_or_else(|| panic!("{}", listing(&plan.diagnostics)));
    let ids: Vec<&str> = workflow.steps.iter().map(|step| step.id.as_str()).collect();
    for step in [
        "web/1_port:create",
        "web/1_access:create",
        "web/0_floating_ip:create",
        "bastion:open",
        "web/1:ssh",
        "site:configure",
    ] {
        assert!(ids.contains(&step), "no {step} in {ids:?}");
    }
    assert_eq!(workflow.resources["site"].host(), Some("web/1"));
}
