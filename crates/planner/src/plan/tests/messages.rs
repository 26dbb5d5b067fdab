//! Messages that only a whole plan produces. Messages of single checks are tested with the checks.

use super::*;
use hot::diagnostic::Severity;
use hot::diagnostic::listing;

/// Errors and warnings of a plan, one per line.
fn diagnostics(text: &str, deployed: &Deployed) -> String {
    let mut found = plan_with(text, &[], deployed).diagnostics;
    found.retain(|one| one.severity != Severity::Info);
    listing(&found)
}

const HOST: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  gate: {type: OS::Nova::Server, metadata: {stackloom: {public: true, bastion: true}}, properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}}
  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}}
";

#[test]
fn one_bastion_is_enough() {
    let text = resources(&format!(
        "{HOST}  nginx: {{type: 'Stackloom::Catalog::nginx', properties: {{host: {{get_resource: web}}}}}}\n"
    ));
    let two = text.replace(
        "  web: {type: OS::Nova::Server,",
        "  web: {type: OS::Nova::Server, metadata: {stackloom: {bastion: true}},",
    );
    insta::assert_snapshot!(diagnostics(&two, &Deployed::default()), @"7:3 Error bastion-ambiguous resources.web: both `gate` and `web` are marked as the bastion; mark one");
}

#[test]
fn software_of_a_removed_or_moved_component_stays_installed() {
    let with = |software: &str| resources(&format!("{HOST}{software}"));
    let on = |host: &str| {
        with(&format!(
            "  nginx: {{type: 'Stackloom::Catalog::nginx', properties: {{host: {{get_resource: {host}}}}}}}\n"
        ))
    };
    let there = deployed(&plan_of(&on("web")));
    insta::assert_snapshot!(diagnostics(&with(""), &there), @"- Warning software-stays resources.nginx: `nginx` is forgotten, but its software stays installed on `web`");
    insta::assert_snapshot!(diagnostics(&on("gate"), &there), @"8:3 Warning software-stays resources.nginx: `nginx` moves to another server, but its software stays installed on `web`");
}

#[test]
fn the_external_id_of_a_resource_cannot_change() {
    let net = |id: &str| {
        resources(&format!(
            "  net: {{type: OS::Neutron::Net, external_id: {id}}}\n"
        ))
    };
    let there = deployed(&plan_of(&net("one")));
    insta::assert_snapshot!(diagnostics(&net("other"), &there), @"3:3 Error external-id-changed resources.net: `external_id` of `net` cannot be changed; give the resource another name");
}

#[test]
fn a_network_without_a_range_is_in_no_rule() {
    let text = resources(&format!(
        "{}  nginx: {{type: 'Stackloom::Catalog::nginx', properties: {{host: {{get_resource: web}}}}}}\n",
        HOST.replace("  sub:", "  more: {type: OS::Neutron::Net}\n  sub:").replace(
            "web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}",
            "web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small, networks: [{network: somewhere}",
        )
    ));
    insta::assert_snapshot!(diagnostics(&text, &Deployed::default()), @r"
    8:94 Error unknown-network resources.web.properties.networks.0.network: the cloud has no network `somewhere`; there are `public`
    9:3 Warning network-without-subnet resources.nginx: nothing is connected to `nginx`, and the subnets of `web` are not drawn, so no server may reach it; connect the components that use it, or draw a security group
    ");
}

#[test]
fn a_group_must_define_its_members() {
    let chain = resources(
        "  chain: {type: OS::Heat::ResourceChain, properties: {resources: {get_attr: [x, value]}}}\n  x: {type: OS::Heat::Value, properties: {value: [a]}}\n",
    );
    insta::assert_snapshot!(diagnostics(&chain, &Deployed::default()), @"3:55 Error group-definition resources.chain.properties.resources: `chain` needs the types of its members, known when the plan is made");
    let group = resources(
        "  group: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: {get_attr: [x, value]}}}}\n  x: {type: OS::Heat::Value, properties: {value: a}}\n",
    );
    insta::assert_snapshot!(diagnostics(&group, &Deployed::default()), @"3:55 Error group-definition resources.group.properties.resource_def: `group` does not define its members: `resource_def` needs a `type`");
}

#[test]
fn zones_and_kinds_of_volumes_are_looked_up() {
    let text = resources(
        "  disk: {type: OS::Cinder::Volume, properties: {size: 1, volume_type: fats}}\n  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small, availability_zone: nowhere, networks: [{network: public}]}}\n",
    );
    let mut cloud = cloud();
    cloud.availability_zones = Some(vec![crate::cloud::Named {
        id: "nova".into(),
        name: "nova".into(),
    }]);
    let plan = plan(&PlanInput {
        document: &Document::parse(text),
        bundle: &Default::default(),
        parameters: &BTreeMap::new(),
        deployed: &Deployed::default(),
        types: &types(),
        cloud: &cloud,
    });
    insta::assert_snapshot!(listing(&plan.diagnostics), @r"
    3:58 Error unknown-volume-type resources.disk.properties.volume_type: the cloud has no volume type `fats`; did you mean `fast`?
    4:82 Error unknown-availability-zone resources.web.properties.availability_zone: the cloud has no availability zone `nowhere`; there are `nova`
    ");
}
