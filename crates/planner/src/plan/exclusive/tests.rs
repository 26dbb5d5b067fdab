//! Conflicts between resources, in the steps of an update.

use crate::{
    plan::{
        plan_undeploy,
        tests::{from_to, made, steps},
    },
    testing::{plan_of, plan_with, resources},
    workflow::Workflow,
};

use super::*;
use hot::diagnostic::listing;

/// Steps that delete something before anything is created.
fn first(before: &str, after: &str) -> Vec<String> {
    let plan = plan_with(after, &[], &made(&plan_of(before)));
    let Some(Workflow { steps, .. }) = plan.workflow else {
        panic!("{}", listing(&plan.diagnostics));
    };
    let is_removal = |id: &str| id.ends_with(":delete") || id.ends_with(":delete-old");
    let ids = steps.into_iter().map(|step| step.id);
    ids.take_while(|id| is_removal(id)).collect()
}

#[test]
fn every_type_of_the_tables_has_a_driver() {
    let types = types::Registry::openstack();
    let pulled = HELD
        .iter()
        .flat_map(|(one, others)| std::iter::once(one).chain(*others));
    let all = TABLE.iter().chain(administrators::TABLE);
    for name in all.map(|row| &row.of).chain(pulled) {
        let described = types.get(name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(described.refusal("x"), None, "{name}");
    }
}

const ROUTED: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  gate: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  other: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  foot: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: sub}}}
  web: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{network: {get_resource: net}}]}}
  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: plug}}}
  plug: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
";

#[test]
fn a_router_interface_moves_and_the_floating_ip_stays() {
    let before = resources(ROUTED);
    let after = before.replace(
        "router: {get_resource: gate}",
        "router: {get_resource: other}",
    );
    let (changes, steps) = from_to(&before, &after);
    insta::assert_snapshot!(changes, @r"
    Replace foot: `router` changes: it will be replaced
    Update address: `foot`, which it needs, is replaced: it is associated again
    ");
    insta::assert_snapshot!(steps, @r"
    foot:delete-old <- 
    foot:create <- foot:delete-old
    address:update <- foot:create
    ");
}

#[test]
fn a_subnet_replaced_with_the_same_range_replaces_its_ports() {
    let before = resources(ROUTED);
    let after = before.replace("cidr: 10.0.0.0/24", "cidr: 10.0.0.0/25");
    let (changes, steps) = from_to(&before, &after);
    insta::assert_snapshot!(changes, @r"
    Replace sub: `cidr` changes: it will be replaced
    Replace foot: `subnet` changes (`sub` is replaced): it will be replaced
    Update web: `networks` changes (`web_port` is replaced)
    Update address: `port_id` changes (`plug` is replaced)
    Replace plug: it has an address of `sub`, which is replaced: it will be replaced
    Replace web_port: it has an address of `sub`, which is replaced: it will be replaced
    ");
    insta::assert_snapshot!(steps, @r"
    web_port:delete-old <- 
    plug:delete-old <- 
    foot:delete-old <- plug:delete-old web_port:delete-old
    sub:delete-old <- foot:delete-old plug:delete-old web_port:delete-old
    sub:create <- sub:delete-old
    foot:create <- sub:create foot:delete-old
    plug:create <- sub:create plug:delete-old sub:delete-old
    web_port:create <- sub:create web_port:delete-old sub:delete-old
    address:update <- plug:create foot:create
    web:update <- web_port:create
    ");
}

#[test]
fn a_router_interface_is_deleted_before_its_port() {
    // Directly, and through a second port.
    for middle in ["plug", "second"] {
        let before = resources(&format!(
            "
  net: {{type: OS::Neutron::Net}}
  sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.0.0.0/24}}}}
  gate: {{type: OS::Neutron::Router}}
  plug: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: net}}}}}}
  second: {{type: OS::Neutron::Port, depends_on: plug, properties: {{network: {{get_resource: net}}}}}}
  foot: {{type: OS::Neutron::RouterInterface, depends_on: {middle}, properties: {{router: {{get_resource: gate}}, subnet: {{get_resource: sub}}}}}}
"
        ));
        let after = before.replace("cidr: 10.0.0.0/24", "cidr: 10.0.0.0/25");
        // `from_to` checks that every step waits for earlier ones only.
        let (_, steps) = from_to(&before, &after);
        let port = format!("{middle}:delete-old <- foot:delete-old");
        assert!(steps.contains(&port), "{steps}");
    }
}

#[test]
fn a_replaced_network_keeps_range_and_router() {
    let before = resources(ROUTED);
    let after = before.replace(
        "net: {type: OS::Neutron::Net}",
        "net: {type: OS::Neutron::Net, properties: {availability_zone_hints: [nova]}}",
    );
    let (_, steps) = from_to(&before, &after);
    insta::assert_snapshot!(steps, @r"
    foot:delete-old <- 
    net:create <- 
    sub:create <- net:create
    foot:create <- sub:create foot:delete-old
    plug:create <- net:create sub:create
    web_port:create <- net:create sub:create
    address:update <- plug:create foot:create
    web:update <- web_port:create
    web_port:delete-old <- address:update web:update web_port:create
    plug:delete-old <- address:update plug:create web:update
    sub:delete-old <- foot:create foot:delete-old plug:create plug:delete-old sub:create web_port:create web_port:delete-old
    net:delete-old <- net:create plug:create plug:delete-old sub:create sub:delete-old web_port:create web_port:delete-old
    ");
}

#[test]
fn a_port_that_names_its_subnet_moves_over_in_place() {
    let before = resources(ROUTED).replace(
        "properties: {network: {get_resource: net}}}",
        "properties: {network: {get_resource: net}, fixed_ips: [{subnet: {get_resource: sub}}]}}",
    );
    let (changes, _) = from_to(&before, &before.replace("10.0.0.0/24", "10.1.0.0/24"));
    insta::assert_snapshot!(changes, @r"
    Replace sub: `cidr` changes: it will be replaced
    Replace foot: `subnet` changes (`sub` is replaced): it will be replaced
    Update web: `networks` changes (`web_port` is replaced)
    Update address: `foot`, which it needs, is replaced: it is associated again
    Update plug: `fixed_ips` changes (`sub` is replaced)
    Replace web_port: it has an address of `sub`, which is replaced: it will be replaced
    ");
}

#[test]
fn a_renamed_resource_releases_its_exclusive_value_first() {
    let renamed = |text: &str, old: &str, new: &str| {
        let text = resources(text);
        let after = text.replace(&format!("{old}:"), &format!("{new}:"));
        let named = |name: &str| format!("get_resource: {}}}", name.trim());
        let after = after.replace(&named(old), &named(new));
        first(&text, &after)
    };
    assert_eq!(renamed(ROUTED, "  foot", "  step"), ["foot:delete"]);
    assert_eq!(renamed(ROUTED, "  address", "  number"), ["address:delete"]);
    assert!(renamed(ROUTED, "  gate", "  door").starts_with(&["foot:delete-old".to_owned()]));
    let key =
        "  key: {type: OS::Nova::KeyPair, properties: {name: mine, public_key: ssh-ed25519 A}}\n";
    assert_eq!(renamed(key, "  key", "  other"), ["key:delete"]);
    let volumes = "
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  net: {type: OS::Neutron::Net}
  web: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{network: {get_resource: net}}]}}
  there: {type: OS::Cinder::VolumeAttachment, properties: {instance_uuid: {get_resource: web}, volume_id: {get_resource: disk}}}
";
    assert_eq!(renamed(volumes, "  there", "  here"), ["there:delete"]);
}

#[test]
fn an_update_in_place_may_need_a_value_of_another_resource() {
    let text = |first: &str, second: &str| {
        resources(&format!("{ROUTED}
  parent: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: net}}}}}}
  parent2: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: net}}}}}}
  child: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: net}}}}}}
{first}  two: {{type: OS::Neutron::Trunk, properties: {{port: {{get_resource: parent2}}, sub_ports: [{second}]}}}}
"))
    };
    let child = "{port: {get_resource: child}, segmentation_type: vlan, segmentation_id: 5}";
    let one = format!(
        "  one: {{type: OS::Neutron::Trunk, properties: {{port: {{get_resource: parent}}, sub_ports: [{child}]}}}}\n"
    );
    let (_, steps) = from_to(&text(&one, ""), &text("", child));
    insta::assert_snapshot!(steps, @r"
    one:delete <- 
    two:update <- one:delete
    ");
}

const BALANCED: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  balancer: {type: OS::Octavia::LoadBalancer, properties: {vip_subnet: {get_resource: sub}, vip_address: 10.0.0.9}}
  listener: {type: OS::Octavia::Listener, properties: {loadbalancer: {get_resource: balancer}, protocol: HTTP, protocol_port: 80}}
  pool: {type: OS::Octavia::Pool, properties: {listener: {get_resource: listener}, protocol: HTTP, lb_algorithm: ROUND_ROBIN}}
  member: {type: OS::Octavia::PoolMember, properties: {pool: {get_resource: pool}, address: 10.0.0.4, protocol_port: 80}}
  monitor: {type: OS::Octavia::HealthMonitor, properties: {pool: {get_resource: pool}, type: HTTP, delay: 5, timeout: 3, max_retries: 2}}
  policy: {type: OS::Octavia::L7Policy, properties: {listener: {get_resource: listener}, action: REJECT}}
  rule: {type: OS::Octavia::L7Rule, properties: {l7policy: {get_resource: policy}, type: PATH, compare_type: EQUAL_TO, value: /x}}
";

#[test]
fn exclusive_values_of_load_balancer_children() {
    let before = resources(BALANCED);
    let changed = |from: &str, to: &str| first(&before, &before.replace(from, to));
    // A listener with the same port; the resources on it are deleted with it.
    assert_eq!(
        changed(
            "protocol: HTTP, protocol_port: 80}",
            "protocol: TCP, protocol_port: 80}"
        ),
        [
            "monitor:delete-old",
            "member:delete-old",
            "rule:delete-old",
            "pool:delete-old",
            "policy:delete-old",
            "listener:delete-old"
        ]
    );
    // Another port number is no conflict.
    assert_eq!(
        changed(
            "protocol: HTTP, protocol_port: 80}",
            "protocol: HTTP, protocol_port: 81}"
        ),
        [""; 0]
    );
    assert_eq!(
        changed("protocol: HTTP, lb", "protocol: PROXY, lb"),
        ["monitor:delete-old", "member:delete-old", "pool:delete-old"]
    );
    assert_eq!(
        changed("type: HTTP, delay", "type: TCP, delay"),
        ["monitor:delete-old"]
    );
    assert_eq!(
        changed(
            "address: 10.0.0.4, ",
            "address: 10.0.0.4, monitor_port: 81, "
        ),
        ["member:delete-old"]
    );
    assert_eq!(
        changed("address: 10.0.0.4, ", "address: 10.0.0.5, "),
        [""; 0]
    );
    let whole = changed(
        "vip_address: 10.0.0.9",
        "vip_address: 10.0.0.9, provider: ovn",
    );
    assert_eq!(
        whole.first().map(String::as_str),
        Some("balancer:delete-old")
    );
    assert_eq!(whole.len(), 7);
    assert_eq!(
        changed("vip_address: 10.0.0.9", "vip_address: 10.0.0.8"),
        [""; 0]
    );
}

#[test]
fn a_replaced_load_balancer_replaces_its_children() {
    let undeploy = |text: &str| {
        let deployed = made(&plan_of(&resources(text)));
        let plan = plan_undeploy(&deployed, &types::Registry::openstack(), &[]);
        steps(&plan.workflow.expect("a plan"))
    };
    insta::assert_snapshot!(undeploy(BALANCED), @r"
    balancer:delete <- 
    monitor:delete <- balancer:delete
    member:delete <- balancer:delete
    rule:delete <- balancer:delete
    pool:delete <- balancer:delete
    policy:delete <- balancer:delete
    listener:delete <- balancer:delete
    sub:delete <- balancer:delete
    net:delete <- sub:delete
    ");
    // A server between the load balancer and a member: it reads the load balancer's address, and the member has its
    // address.
    let between = BALANCED.replace(
        "address: 10.0.0.4",
        "address: {get_attr: [web, first_address]}",
    );
    let template = format!(
        "{between}  web: {{type: OS::Nova::Server, properties: {{flavor: m1.small, image: debian-12, networks: [{{network: {{get_resource: net}}}}], user_data: {{get_attr: [balancer, vip_address]}}}}}}\n"
    );
    assert!(undeploy(&template).contains("\nlistener:delete <- policy:delete"));
}

#[test]
fn a_router_gets_its_new_gateway_after_old_floating_ips_are_deleted() {
    let before = resources(ROUTED);
    let plan = plan_with(
        &before.replace("public", "public-id"),
        &[],
        &made(&plan_of(&before)),
    );
    let steps = plan.workflow.expect("a plan").steps;
    let gate = steps.iter().find(|step| step.id == "gate:update");
    assert!(
        gate.expect("it is changed")
            .after
            .contains(&"address:delete-old".to_owned())
    );
}

#[test]
fn a_name_in_use_is_released_first() {
    for (of, properties, other) in [
        (
            "OS::Nova::Flavor",
            "name: big, ram: 64, vcpus: 1",
            "name: big, ram: 64, vcpus: 2",
        ),
        (
            "OS::Nova::Flavor",
            "flavorid: '7', ram: 64, vcpus: 1",
            "flavorid: '7', ram: 64, vcpus: 2",
        ),
        (
            "OS::Keystone::Role",
            "name: watcher",
            "name: watcher, domain: default",
        ),
        (
            "OS::Designate::Zone",
            "name: example.org., email: a@example.org",
            "name: example.org., type: SECONDARY, primaries: [192.0.2.1]",
        ),
    ] {
        let before = resources(&format!(
            "\n  one: {{type: {of}, properties: {{{properties}}}}}\n"
        ));
        let after = before.replace(properties, other);
        assert_eq!(first(&before, &after), ["one:delete-old"], "{properties}");
        let plan = plan_with(&after, &[], &made(&plan_of(&before)));
        assert!(plan.changes[0].old_goes_first, "{properties}");
        // Renamed in the template, it is another resource with the same cloud name.
        let renamed = before.replace("  one:", "  two:");
        assert_eq!(first(&before, &renamed), ["one:delete"], "{properties}");
    }
    // A generated name never conflicts.
    let before = resources("\n  one: {type: OS::Nova::Flavor, properties: {ram: 64, vcpus: 1}}\n");
    let after = before.replace("vcpus: 1", "vcpus: 2");
    assert_eq!(first(&before, &after), Vec::<String>::new());
    let plan = plan_with(&after, &[], &made(&plan_of(&before)));
    assert!(!plan.changes[0].old_goes_first);
}

#[test]
fn a_released_value_can_be_taken() {
    let before = resources(
        "
  one: {type: OS::Keystone::UserRoleAssignment, properties: {user: ann, roles: [{role: member, project: shop}]}}
  gold: {type: OS::Cinder::QoSAssociation, properties: {qos_specs: quick, volume_types: [fast]}}
  limits: {type: OS::Neutron::Quota, properties: {project: shop, network: 3}}
",
    );
    let after = before
        .replace("  one:", "  two:")
        .replace("  gold:", "  gilt:")
        .replace("  limits:", "  bounds:");
    assert_eq!(
        first(&before, &after),
        ["one:delete", "limits:delete", "gold:delete"]
    );
    // The resource that releases the value is changed before the one that takes it.
    let two = before.replace(
        "  gold:",
        "  more: {type: OS::Keystone::UserRoleAssignment, properties: {user: ann, roles: [{role: reader, project: shop}]}}\n  gold:",
    );
    let swapped = two
        .replace("role: member", "role: seer")
        .replace("role: reader", "role: member");
    let (_, steps) = from_to(&two, &swapped);
    insta::assert_snapshot!(steps, @r"
    one:update <- 
    more:update <- one:update
    ");
}
