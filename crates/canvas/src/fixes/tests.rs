//! Each fix solves its problem and makes no other.

use planner::cloud::{Flavor, Named};

use super::*;

fn cloud() -> CloudFacts {
    let named = |name: &str| Named {
        id: format!("id-of-{name}"),
        name: name.to_owned(),
    };
    CloudFacts {
        images: Some(vec![
            named("cirros"),
            named("debian-12"),
            named("debian-11"),
        ]),
        flavors: Some(vec![Flavor {
            id: "1".into(),
            name: "m1.tiny".into(),
            vcpus: 1,
            ram_mib: 512,
            disk_gib: 1,
        }]),
        networks: Some(vec![named("a"), named("b")]),
        external_networks: Some(Vec::new()),
        ..CloudFacts::default()
    }
}

/// Labels of the fixes for each problem, with the problems that are left after each fix.
fn solved(resources: &str) -> Vec<(String, usize)> {
    let text = format!("heat_template_version: 2021-04-16\nresources:\n{resources}");
    let document = Document::parse(text.as_str());
    let (types, cloud) = (Registry::openstack(), cloud());
    let input = FixInput {
        document: &document,
        types: &types,
        cloud: &cloud,
    };
    let problems = planner::validate::validate(&document, &types, &cloud);
    let mut found = Vec::new();
    for problem in &problems {
        for fix in fixes(&input, problem) {
            let start = document.clone();
            let fixed = fix
                .edits
                .iter()
                .try_fold(start, |document, edit| document.edit(edit));
            let fixed = fixed.unwrap_or_else(|error| panic!("{}: {error}", fix.label));
            let left = planner::validate::validate(&fixed, &types, &cloud);
            found.push((fix.label, left.iter().filter(|one| one.is_error()).count()));
        }
    }
    found
}

#[track_caller]
fn check(resources: &str, expected: &[&str]) {
    let expected: Vec<(String, usize)> = expected
        .iter()
        .map(|label| ((*label).to_owned(), 0))
        .collect();
    assert_eq!(solved(resources), expected);
}

#[test]
fn a_server_is_attached_to_a_network_of_the_design_or_to_a_new_one() {
    let server =
        "  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.tiny}}\n";
    check(server, &["Add a network"]);
    let net =
        format!("{server}  net: {{type: OS::Neutron::Net}}\n  other: {{type: OS::Neutron::Net}}\n");
    check(&net, &["Attach to `net`", "Attach to `other`"]);
    let empty = net.replace("m1.tiny}", "m1.tiny, networks: [{fixed_ip: 10.0.0.4}]}");
    check(&empty, &["Attach to `net`", "Attach to `other`"]);
}

#[test]
fn a_name_that_the_cloud_does_not_have_is_replaced_by_a_similar_or_the_usual_one() {
    let of = |image: &str, flavor: &str| {
        format!(
            "  web: {{type: OS::Nova::Server, properties: {{image: {image}, flavor: {flavor}, networks: [{{network: a}}]}}}}\n"
        )
    };
    check(&of("debian-12", "m1.tini"), &["Use `m1.tiny`"]);
    check(
        &of("debian-1", "m1.tiny"),
        &["Use `debian-11`", "Use `debian-12`"],
    );
    check(&of("windows", "m1.tiny"), &["Use `debian-12`"]);
}

#[test]
fn a_missing_parameter_is_made_or_replaced_by_a_similar_one() {
    check(
        "  it: {type: OS::Neutron::Net, properties: {name: {get_param: title}}}\n",
        &["Make parameter `title`"],
    );
    let text = "  it: {type: OS::Neutron::Net, properties: {name: {get_param: titel}}}\nparameters: {title: {type: string}}\n";
    check(text, &["Use parameter `title`", "Make parameter `titel`"]);
}

#[test]
fn a_missing_resource_is_replaced_by_a_similar_one() {
    let text = "  front: {type: OS::Neutron::Net}\n  port: {type: OS::Neutron::Port, properties: {network: {get_resource: frnt}}}\n";
    check(text, &["Use `front`"]);
}

#[test]
fn a_property_is_renamed_or_removed() {
    let text = "  it: {type: OS::Neutron::Net, properties: {nmae: front}}\n";
    check(text, &["Change to `name`", "Remove `nmae`"]);
}

#[test]
fn a_needed_property_gets_its_usual_value() {
    check(
        "  it: {type: OS::Cinder::Volume}\n",
        &["Set `size` to `10`"],
    );
    let text = "  net: {type: OS::Neutron::Net}\n  it: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}}}\n";
    check(text, &["Set `cidr` to `10.0.1.0/24`"]);
    check(
        "  net: {type: OS::Neutron::Net}\n  it: {type: OS::Neutron::Subnet, properties: {cidr: 10.0.0.0/24}}\n",
        &["Use `net`", "Set `network` to `a`"],
    );
}

#[test]
fn an_attribute_a_condition_and_a_type_are_replaced_by_similar_ones() {
    check(
        "  net: {type: OS::Neutron::Net}\noutputs: {x: {value: {list_join: [\" \", [{get_attr: [net, statsu]}]]}}}\n",
        &["Use `status`"],
    );
    check(
        "  net: {type: OS::Neutron::Net, condition: bigg}\nconditions: {big: {equals: [a, a]}}\n",
        &["Use condition `big`"],
    );
    check(
        "  net: {type: OS::Neutron::Net, condition: {not: large}}\nconditions: {big: {equals: [a, a]}}\n",
        &["Use condition `big`"],
    );
    check(
        "  net: {type: OS::Neutron::Nte}\n",
        &["Change to `OS::Neutron::Net`"],
    );
}

#[test]
fn a_former_name_becomes_the_present_one() {
    check(
        "  port: {type: OS::Neutron::Port, properties: {network_id: a}}\n",
        &["Change to `network`"],
    );
}

#[test]
fn a_value_that_is_not_allowed_becomes_the_nearest_one() {
    check(
        "  it: {type: OS::Cinder::Volume, properties: {size: 0}}\n",
        &["Use `1`"],
    );
    let server = "  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.tiny, networks: [{network: a}], flavor_update_policy: resise}}\n";
    check(server, &["Use `RESIZE`"]);
}
