use super::*;
use crate::testing::{DEMO, cloud, resources, types};
use hot::diagnostic::listing;
use hot::{document::Document, scope::Known};

/// Runs all passes on resources. Returns the added and changed resources, a line each, then the messages.
fn check(text: &str) -> String {
    check_in(text, &cloud())
}

fn check_in(text: &str, cloud: &CloudFacts) -> String {
    let document = Document::parse(text);
    let given = BTreeMap::new();
    let (mut model, diagnostics) =
        Model::of(document.template(), &Known::of(document.template(), &given));
    assert_eq!(diagnostics, []);
    let before = model.clone();
    let types = types();
    let diagnostics = run(
        &mut model,
        &PassContext {
            types: &types,
            cloud,
        },
    );
    let mut lines = Vec::new();
    for (name, spec) in model.iter() {
        let old = before.get(name);
        if old.is_some_and(|old| old.properties == spec.properties && old.marks == spec.marks) {
            continue;
        }
        let properties: Vec<String> = spec
            .properties
            .iter()
            .filter(|(key, value)| old.is_none_or(|old| old.properties.get(*key) != Some(value)))
            .map(|(key, value)| format!("{key}={}", hot::document::write::flow(&value.to_json())))
            .collect();
        let marks = if spec.marks.bastion { " [bastion]" } else { "" };
        let kind = spec.resource_type.rsplit("::").next().unwrap_or_default();
        lines.push(format!(
            "{} {name}: {kind}{marks} {}",
            if old.is_some() { "~" } else { "+" },
            properties.join(" ")
        ));
    }
    if !diagnostics.is_empty() {
        lines.push(listing(&diagnostics));
    }
    lines.join("\n")
}

mod consumers;
mod edges;
mod peers;

const NET: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
";

fn server(name: &str, more: &str) -> String {
    format!(
        "  {name}: {{type: OS::Nova::Server, {more} properties: {{flavor: f, networks: [{{network: {{get_resource: net}}}}]}}}}\n"
    )
}

fn nginx(name: &str, host: &str) -> String {
    format!(
        "  {name}: {{type: 'Stackloom::Catalog::nginx', properties: {{host: {{get_resource: {host}}}, page_text: x}}}}\n"
    )
}

const PUBLIC: &str = "metadata: {stackloom: {public: true}},";

#[test]
fn the_demo() {
    insta::assert_snapshot!(check(DEMO), @r"
    ~ gate: Server [bastion] networks=[{port: {get_resource: gate_port}}]
    ~ inner: Server networks=[{port: {get_resource: inner_port}}]
    ~ proxy: haproxy listen_port=80
    ~ nginx: nginx page_text=Hello
    + gate_port: Port network={get_resource: front} security_groups=[{get_resource: gate_access}]
    + inner_port: Port network={get_resource: front} security_groups=[{get_resource: inner_access}]
    + router: Router external_gateway_info={network: public}
    + front_subnet_interface: RouterInterface router={get_resource: router} subnet={get_resource: front_subnet}
    + gate_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 80, port_range_max: 80, remote_ip_prefix: 0.0.0.0/0}]
    + inner_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 8080, port_range_max: 8080, remote_mode: remote_group_id, remote_group_id: {get_resource: gate_access}}, {protocol: tcp, port_range_min: 22, port_range_max: 22, remote_mode: remote_group_id, remote_group_id: {get_resource: gate_access}}]
    + gate_floating_ip: FloatingIP floating_network=public port_id={get_resource: gate_port}
    + deployment_key: SSHKey 
    - Info bastion-picked resources.gate: software is installed through `gate`; to choose another bastion, mark a server as it
    ");
}

#[test]
fn a_plain_server_gets_a_port_and_nothing_else() {
    insta::assert_snapshot!(check(&resources(&format!("{NET}{}", server("web", "")))), @r"
    ~ web: Server networks=[{port: {get_resource: web_port}}]
    + web_port: Port network={get_resource: net}
    ");
    insta::assert_snapshot!(check(&resources("
  net: {type: OS::Neutron::Net}
  web:
    type: OS::Nova::Server
    properties:
      flavor: f
      security_groups: [mine]
      networks: [{network: {get_resource: net}, fixed_ip: 10.0.0.9, tag: a}, {network: office}, {port: p}, {allocate_network: auto}]
")), @r"
    ~ web: Server networks=[{port: {get_resource: web_port}, tag: a}, {port: {get_resource: web_port_2}}, {port: p}, {allocate_network: auto}]
    + net_subnet: Subnet cidr=10.0.0.0/24 network={get_resource: net}
    + web_port: Port fixed_ips=[{ip_address: 10.0.0.9}] network={get_resource: net} security_groups=[mine]
    + web_port_2: Port network=office security_groups=[mine]
    ");
}

#[test]
fn a_public_server_gets_a_floating_ip_and_a_router() {
    insta::assert_snapshot!(check(&resources(&format!("{NET}{}", server("web", PUBLIC)))), @r"
    ~ web: Server networks=[{port: {get_resource: web_port}}]
    + web_port: Port network={get_resource: net}
    + router: Router external_gateway_info={network: public}
    + sub_interface: RouterInterface router={get_resource: router} subnet={get_resource: sub}
    + web_floating_ip: FloatingIP floating_network=public port_id={get_resource: web_port}
    ");
}

#[test]
fn drawn_resources_are_used() {
    insta::assert_snapshot!(check(&resources(&format!("{NET}
  way: {{type: OS::Neutron::Router, properties: {{external_gateway_info: {{network: outside}}}}}}
  foot: {{type: OS::Neutron::RouterInterface, properties: {{router: {{get_resource: way}}, subnet: {{get_resource: sub}}}}}}
  own: {{type: OS::Neutron::SecurityGroup}}
  plug: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: net}}, security_groups: [{{get_resource: own}}]}}}}
  address: {{type: OS::Neutron::FloatingIP, properties: {{floating_network: outside, port_id: {{get_resource: plug}}}}}}
  web: {{type: OS::Nova::Server, properties: {{flavor: f, networks: [{{port: {{get_resource: plug}}}}]}}}}
{}", nginx("site", "web")))), @r"
    ~ plug: Port security_groups=[{get_resource: own}, {get_resource: web_access}]
    ~ web: Server [bastion] 
    ~ site: nginx listen_port=80
    + web_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 80, port_range_max: 80, remote_ip_prefix: 0.0.0.0/0}]
    + deployment_key: SSHKey 
    - Info bastion-picked resources.web: software is installed through `web`; to choose another bastion, mark a server as it
    ");
}

#[test]
fn a_router_without_a_gateway_gets_one() {
    insta::assert_snapshot!(check(&resources(&format!("{NET}{}
  way: {{type: OS::Neutron::Router}}
", server("web", PUBLIC)))), @r"
    ~ web: Server networks=[{port: {get_resource: web_port}}]
    ~ way: Router external_gateway_info={network: public}
    + web_port: Port network={get_resource: net}
    + sub_interface: RouterInterface router={get_resource: way} subnet={get_resource: sub}
    + web_floating_ip: FloatingIP floating_network=public port_id={get_resource: web_port}
    - Info gateway-added resources.way: `way` gets an external gateway, because servers behind it need one
    ");
}

#[test]
fn software_on_private_servers_only_needs_a_public_one() {
    insta::assert_snapshot!(check(&resources(&format!("{NET}{}{}", server("web", ""), nginx("site", "web")))), @r"
    ~ web: Server networks=[{port: {get_resource: web_port}}]
    ~ site: nginx listen_port=80
    + web_port: Port network={get_resource: net} security_groups=[{get_resource: web_access}]
    + router: Router external_gateway_info={network: public}
    + sub_interface: RouterInterface router={get_resource: router} subnet={get_resource: sub}
    + web_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 80, port_range_max: 80, remote_ip_prefix: 10.0.0.0/24}]
    + deployment_key: SSHKey 
    - Error bastion-missing resources.web: `web` has software, but no server can be reached from outside; mark one server public
    ");
}

#[test]
fn a_bastion_may_be_marked_once() {
    let bastion = "metadata: {stackloom: {bastion: true}},";
    insta::assert_snapshot!(check(&resources(&format!("{NET}{}{}{}", server("jump", bastion), server("web", ""), nginx("site", "web")))), @r"
    ~ jump: Server [bastion] networks=[{port: {get_resource: jump_port}}]
    ~ web: Server networks=[{port: {get_resource: web_port}}]
    ~ site: nginx listen_port=80
    + jump_port: Port network={get_resource: net} security_groups=[{get_resource: jump_access}]
    + web_port: Port network={get_resource: net} security_groups=[{get_resource: web_access}]
    + router: Router external_gateway_info={network: public}
    + sub_interface: RouterInterface router={get_resource: router} subnet={get_resource: sub}
    + jump_access: SecurityGroup rules=[]
    + web_access: SecurityGroup rules=[{protocol: tcp, port_range_min: 80, port_range_max: 80, remote_ip_prefix: 10.0.0.0/24}, {protocol: tcp, port_range_min: 22, port_range_max: 22, remote_mode: remote_group_id, remote_group_id: {get_resource: jump_access}}]
    + jump_floating_ip: FloatingIP floating_network=public port_id={get_resource: jump_port}
    + deployment_key: SSHKey
    ");
    let text = resources(&format!(
        "{NET}{}{}{}",
        server("a", bastion),
        server("b", bastion),
        nginx("site", "a")
    ));
    assert!(check(&text).contains("both `a` and `b` are marked"));
}

#[test]
fn security_groups_that_refer_to_each_other_make_no_circle() {
    let proxy = |name: &str, host: &str, to: &str, port: u16| {
        format!(
            "  {name}: {{type: 'Stackloom::Catalog::haproxy', properties: {{host: {{get_resource: {host}}}, listen_port: {port}, backends: [{{get_resource: {to}}}]}}}}\n"
        )
    };
    let text = resources(&format!(
        "{NET}{}{}{}{}{}{}{}",
        server("jump", PUBLIC),
        server("a", ""),
        server("b", ""),
        proxy("pa", "a", "nb", 81),
        nginx("na", "a"),
        proxy("pb", "b", "na", 81),
        nginx("nb", "b")
    ));
    let diagnostics = check(&text);
    assert!(
        diagnostics.contains("+ a_access_from_b: SecurityGroupRule"),
        "{diagnostics}"
    );
    assert!(
        crate::testing::plan_of(&text).workflow.is_none(),
        "the flavor is unknown here"
    );
    assert!(
        crate::testing::plan_of(&text.replace("flavor: f", "flavor: m1.small"))
            .workflow
            .is_some()
    );
}

#[test]
fn the_external_network_is_chosen() {
    let text = resources(&format!("{NET}{}", server("web", PUBLIC)));
    let diagnostics = |names: Option<&[&str]>| {
        let named = |name: &&str| crate::cloud::Named {
            id: (*name).into(),
            name: (*name).into(),
        };
        let external_networks = names.map(|names| names.iter().map(named).collect());
        check_in(
            &text,
            &CloudFacts {
                external_networks,
                ..cloud()
            },
        )
        .lines()
        .filter(|line| line.contains("network-"))
        .collect::<Vec<_>>()
        .join("\n")
    };
    insta::assert_snapshot!(diagnostics(Some(&["x", "y"])), @"- Warning external-network-picked resources.web: the cloud has several external networks; `x` is used: draw a router to choose");
    insta::assert_snapshot!(diagnostics(Some(&[])), @"- Error external-network-unknown resources.web: `web` needs an external network, but the cloud offers this project none");
    insta::assert_snapshot!(diagnostics(None), @"- Error external-network-unknown resources.web: `web` needs an external network, and those of the cloud are not known; draw a router with a gateway");
}

#[test]
fn former_type_names_become_present_ones() {
    let document = Document::parse(resources(
        "
  net: {type: OS::Quantum::Net}
  port:
    type: OS::Neutron::Port
    properties: {network_id: {get_resource: net}, fixed_ips: [{subnet_id: s, ip_address: 10.0.0.4}]}
  router: {type: OS::Neutron::Router, properties: {l3_agent_id: agent}}
",
    ));
    let (mut model, _) = Model::of(
        document.template(),
        &Known::of(document.template(), &BTreeMap::new()),
    );
    let (types, cloud) = (types(), cloud());
    names::pass(
        &mut model,
        &PassContext {
            types: &types,
            cloud: &cloud,
        },
    );
    let json = |name: &str| serde_json::to_value(&model.get(name).unwrap().properties).unwrap();
    assert_eq!(model.get("net").unwrap().resource_type, "OS::Neutron::Net");
    assert_eq!(
        json("port"),
        serde_json::json!({
            "network": {"get_resource": "net"},
            "fixed_ips": [{"subnet": "s", "ip_address": "10.0.0.4"}]
        })
    );
    assert_eq!(
        json("router"),
        serde_json::json!({"l3_agent_ids": ["agent"]})
    );
}
