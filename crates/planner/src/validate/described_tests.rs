//! Values that the descriptions of types accept or refuse, as in Heat.

use super::*;
use crate::testing::{resources, types};
use hot::diagnostic::listing;

/// Checks the problems of one resource `x` of a type with these properties, in flow style; `a` is a network. Errors
/// about types that cannot be deployed are left out.
#[track_caller]
fn check(resource_type: &str, properties: &str, expected: &[&str]) {
    let text = resources(&format!(
        "  a: {{type: OS::Neutron::Net}}\n  x: {{type: {resource_type}, properties: {properties}}}\n"
    ));
    let mut found = validate(&Document::parse(&text), &types(), &CloudFacts::default());
    found.retain(|one| one.code != "resource-type-not-deployable");
    let text = listing(&found);
    let found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim().split_once(' ').map(|(_, rest)| rest))
        .collect();
    assert_eq!(found, expected, "{resource_type} {properties}");
}

#[test]
fn former_names_are_taken_for_the_present_ones() {
    check(
        "OS::Neutron::Port",
        "{network_id: {get_resource: a}, fixed_ips: [{subnet_id: s}]}",
        &[
            "Info former-name resources.x.properties.network_id: `network_id` is called `network` now",
            "Info former-name resources.x.properties.fixed_ips.0.subnet_id: `subnet_id` is called `subnet` now",
        ],
    );
    check(
        "OS::Quantum::Port",
        "{network: a}",
        &[
            "Info former-name resources.x.type: `OS::Quantum::Port` is called `OS::Neutron::Port` now",
        ],
    );
    check(
        "OS::Neutron::Port",
        "{network_id: a, network: a}",
        &[
            "Error property-conflict resources.x.properties.network_id: `network_id` is the former name of `network`, which is given too; leave one out",
        ],
    );
}

#[test]
fn types_that_heat_does_not_support_are_refused() {
    check(
        "AWS::EC2::VPC",
        "{CidrBlock: 10.0.0.0/16, InstanceTenancy: dedicated}",
        &[
            "Error property-unsupported resources.x.properties.InstanceTenancy: `AWS::EC2::VPC` knows the property `InstanceTenancy` and does not support it; leave it out",
        ],
    );
}

#[test]
fn a_property_may_exclude_another() {
    check(
        "OS::Neutron::RouterInterface",
        "{router: r, subnet: s, port: p}",
        &[
            "Error property-conflict resources.x: `x` takes only one of `subnet`, `port`; it has `subnet` and `port`",
        ],
    );
    // Also under a former name; an empty value counts as not given.
    check(
        "OS::Neutron::RouterInterface",
        "{router: r, subnet_id: s, port: \"\"}",
        &["Info former-name resources.x.properties.subnet_id: `subnet_id` is called `subnet` now"],
    );
    check(
        "OS::Octavia::L7Policy",
        "{listener: l, action: REJECT, redirect_url: \"http://example.org\"}",
        &[
            "Error property-conflict resources.x: `x` takes no `redirect_url` when `action` is `REJECT`",
        ],
    );
}

#[test]
fn one_of_several_may_be_needed() {
    check(
        "OS::Octavia::Pool",
        "{protocol: HTTP, lb_algorithm: ROUND_ROBIN, session_persistence: {type: APP_COOKIE}}",
        &[
            "Error property-missing resources.x: `x` needs `listener` or `loadbalancer`",
            "Error property-missing resources.x.properties.session_persistence: `session_persistence` needs `cookie_name` when `type` is `APP_COOKIE`",
        ],
    );
    // The default value is used.
    check(
        "OS::Designate::Zone",
        "{name: example.org.}",
        &["Error property-missing resources.x: `x` needs `email` when `type` is `PRIMARY`"],
    );
    check(
        "OS::Neutron::FloatingIP",
        "{floating_network: public, fixed_ip_address: 10.0.0.4}",
        &["Error property-missing resources.x: `x` needs `port_id` with `fixed_ip_address`"],
    );
}

#[test]
fn ranges_have_their_ends_in_order() {
    let problem = [
        "Error property-constraint resources.x: `port_range_min` is 90 and must not be above `port_range_max`, which is 80",
    ];
    for (protocol, problems) in [("tcp", &problem[..]), ("icmp", &[])] {
        check(
            "OS::Neutron::SecurityGroupRule",
            &format!(
                "{{security_group: g, protocol: {protocol}, port_range_min: 90, port_range_max: 80}}"
            ),
            problems,
        );
    }
}

#[test]
fn helpers_fit_everywhere_and_retired_types_take_anything() {
    check("OS::Monasca::Notification", "{whatever: [1]}", &[]);
    check("OS::Heat::None", "{whatever: [1]}", &[]);
    let text = resources(
        "  word: {type: OS::Heat::RandomString}\n  x: {type: OS::Neutron::Port, properties: {network: {get_resource: word}}}\n",
    );
    let found = validate(&Document::parse(&text), &types(), &CloudFacts::default());
    assert!(!found.iter().any(|one| one.code == "reference-type"));
}

#[test]
fn allowed_policies_depend_on_the_type() {
    let told_of = |resource: &str| {
        let text = resources(resource);
        listing(&validate(
            &Document::parse(&text),
            &types(),
            &CloudFacts::default(),
        ))
    };
    insta::assert_snapshot!(told_of(
        "
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: OS::Neutron::Net}}
    update_policy: {rolling_update: {max_batch_size: 0}, batch_creat: {}}
  net: {type: OS::Neutron::Net, update_policy: {rolling_update: {}}, deletion_policy: Snapshot}
"
    ), @r"
    7:38 Error property-constraint resources.group.update_policy.rolling_update.max_batch_size: `max_batch_size`: 0 is out of range: it must be at least 1
    7:58 Error unknown-property resources.group.update_policy.batch_creat: `update_policy` has no key `batch_creat`; did you mean `batch_create`?
    8:33 Error unknown-property resources.net.update_policy: `OS::Neutron::Net` has no update policy
    8:70 Error deletion-policy-unknown resources.net.deletion_policy: nothing can be kept of a `OS::Neutron::Net` in a snapshot; say `delete` or `retain`
    ");
}

#[test]
fn an_attribute_that_will_have_no_value_gives_a_warning() {
    let text = format!(
        "{}outputs:\n  a: {{value: {{get_attr: [x, show]}}}}\n  b: {{value: {{get_attr: [router, show]}}}}\n",
        resources(
            "  router: {type: OS::Neutron::Router}\n  \
             x: {type: OS::Neutron::RouterGateway, properties: {router_id: {get_resource: router}, network: public}}\n"
        )
    );
    let found = validate(&Document::parse(&text), &types(), &CloudFacts::default());
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|one| (one.code.as_str(), one.path.as_str()))
        .collect();
    assert_eq!(found, [("attribute-not-given", "outputs.a.value")]);
}
