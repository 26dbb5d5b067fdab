//! Added, removed and renamed resources, with the references to them.

use super::*;

/// Every form of a reference to a resource, with and without a condition.
pub(super) const MENTIONS: &str = "\
heat_template_version: 2016-10-14
conditions: {net: true}  # a condition may bear the name of a resource
resources:
  net: {type: OS::Neutron::Net, condition: net}
  web:
    type: OS::Nova::Server
    depends_on: net
    update_policy: {after: {get_resource: net}}
    metadata: {where: {get_attr: [net, name]}}
    properties:
      name: {if: [net, {list_join: [\"-\", [web, {get_attr: [net, name]}]]}, net]}
      user_data: {str_replace: {template: net, params: {net: {get_resource: net}}}}
outputs:
  all:
    condition: net
    value: {map_merge: [{net: {get_attr: [net]}}, {repeat: {template: net, for_each: {net: {get_attr: [net, subnets]}}}}]}
";

#[test]
fn a_resource_is_added_as_the_others_are_written() {
    let networks = json!([{"network": {"get_resource": "front"}, "fixed_ip": "10.0.0.4"}]);
    check_edit(
        WEB,
        &add(
            "db",
            "OS::Nova::Server",
            json!({"flavor": "m1.small", "networks": networks, "user_data": "#!/bin/sh\necho hi\n"}),
        ),
        &WEB.replace(
            "\noutputs",
            "
  db:
    type: OS::Nova::Server
    properties:
      flavor: m1.small
      networks:
        - network: {get_resource: front}
          fixed_ip: 10.0.0.4
      user_data: |
        #!/bin/sh
        echo hi

outputs",
        ),
    );
}

#[test]
fn a_first_resource_finds_its_section() {
    let net = "resources:\n  net:\n    type: OS::Neutron::Net\n";
    let version = "heat_template_version: 2021-04-16\n";
    let edit = add("net", "OS::Neutron::Net", json!({}));
    check_edit("", &edit, &format!("{version}\n{net}"));
    check_edit("# mine", &edit, &format!("# mine\n{version}\n{net}"));
    check_edit(version, &edit, &format!("{version}{net}"));
    check_edit(
        &format!("{version}resources:\n"),
        &edit,
        &format!("{version}{net}"),
    );
    check_edit(
        &format!("{version}resources: {{}} # none\n"),
        &edit,
        &format!(
            "{version}{}",
            net.replace("resources:", "resources: # none")
        ),
    );
    check_edit(
        "heat_template_version: 2021-04-16",
        &edit,
        &format!("{version}{}", net.trim_end()),
    );
    check_edit(
        "{\"heat_template_version\": \"2021-04-16\", \"resources\": {}}",
        &edit,
        "{\"heat_template_version\": \"2021-04-16\", \"resources\": {\"net\": {\"type\": \"OS::Neutron::Net\"}}}",
    );
}

#[test]
fn references_are_removed_with_a_resource() {
    check_edit(
        WEB,
        &remove_resource("front"),
        &WEB.replace("  front:\n    type: OS::Neutron::Net\n\n", "")
            .replace("[front, other]", "[other]")
            .replace("{network: {get_resource: front}}, ", ""),
    );
    let gone = WEB.split("\n  web:").next().unwrap().to_owned();
    check_edit(
        WEB,
        &remove_resource("web"),
        &format!("{}\n", gone.trim_end()),
    );
}

#[test]
fn the_last_resource_leaves_its_section() {
    check_edit(
        "resources:\n  a:\n    type: x\n",
        &remove_resource("a"),
        "resources:\n",
    );
    check_edit(
        "resources: {a: {type: x}}\n",
        &remove_resource("a"),
        "resources: {}\n",
    );
}

#[test]
fn a_required_reference_to_a_removed_resource_stays() {
    let text = "resources:\n  a: {type: OS::Neutron::Net}\n  b:\n    type: OS::Neutron::Subnet\n    properties: {network: {get_resource: a}, cidr: 10.0.0.0/24}\n";
    check_edit(
        text,
        &Edit::RemoveResource {
            name: "a".into(),
            keep: vec![("b".into(), "network".into())],
        },
        &text.replace("  a: {type: OS::Neutron::Net}\n", ""),
    );
}

#[test]
fn references_follow_a_new_name() {
    check_edit(
        WEB,
        &Edit::RenameResource {
            from: "front".into(),
            to: "dmz".into(),
        },
        &WEB.replace("  front:", "  dmz:")
            .replace("[front,", "[dmz,")
            .replace("get_resource: front", "get_resource: dmz"),
    );
    check_edit(
        WEB,
        &Edit::RenameResource {
            from: "web".into(),
            to: "true".into(),
        },
        &WEB.replace("  web:", "  \"true\":")
            .replace("[web,", "[\"true\","),
    );
}

#[test]
fn a_name_changes_in_references_only() {
    let to = Edit::RenameResource {
        from: "net".into(),
        to: "front".into(),
    };
    let back = Edit::RenameResource {
        from: "front".into(),
        to: "net".into(),
    };
    let renamed = MENTIONS
        .replace("  net: {type", "  front: {type")
        .replace("depends_on: net", "depends_on: front")
        .replace("get_resource: net", "get_resource: front")
        .replace("get_attr: [net", "get_attr: [front");
    check_edit(MENTIONS, &to, &renamed);
    check_edit(&renamed, &back, MENTIONS);
    let old = "heat_template_version: 2013-05-23\nresources:\n  a: {type: x}\n  b: {type: x, properties: {p: {Ref: a}, q: {Ref: p}}}\n";
    check_edit(
        old,
        &Edit::RenameResource {
            from: "a".into(),
            to: "c".into(),
        },
        &old.replace("  a:", "  c:").replace("Ref: a", "Ref: c"),
    );
}

/// A name keeps its quotes in each reference.
#[test]
fn a_name_in_quotes_stays_in_quotes() {
    let text = "resources:\n  'a': {type: x}\n  b: {type: x, depends_on: [\"a\"], properties: {p: {get_resource: a}}}\n";
    let to = |from: &str, to: &str| Edit::RenameResource {
        from: from.into(),
        to: to.into(),
    };
    let renamed = "resources:\n  'on': {type: x}\n  b: {type: x, depends_on: [\"on\"], properties: {p: {get_resource: \"on\"}}}\n";
    check_edit(text, &to("a", "on"), renamed);
    let renamed = renamed.replace("on'", "web'").replace("\"on\"", "\"web\"");
    check_edit(
        text,
        &to("a", "web"),
        &renamed.replace("get_resource: \"web\"", "get_resource: web"),
    );
}

#[test]
fn several_resources_are_added_at_once() {
    let net = |name: &str| (name.to_owned(), json!({"type": "OS::Neutron::Net"}));
    let edit = Edit::AddResources {
        resources: serde_json::Map::from_iter([net("a"), net("b")]),
    };
    let lines = |gap: &str| {
        format!("{gap}  a:\n    type: OS::Neutron::Net\n{gap}  b:\n    type: OS::Neutron::Net\n")
    };
    let after = WEB.replace("\noutputs", &format!("{}\noutputs", lines("\n")));
    check_edit(WEB, &edit, &after);
    let version = "heat_template_version: 2021-04-16\n";
    for none in ["", "resources:\n", "resources: {}\n"] {
        let after = format!("{version}resources:\n{}", lines(""));
        check_edit(&format!("{version}{none}"), &edit, &after);
    }
    check_edit(
        &format!("{version}resources: {{c: {{type: None}}}}\n"),
        &edit,
        &format!(
            "{version}resources: {{c: {{type: None}}, a: {{type: \"OS::Neutron::Net\"}}, b: {{type: \"OS::Neutron::Net\"}}}}\n"
        ),
    );
    let taken = Document::parse(WEB.replace("front:", "b:")).edit(&edit);
    assert_eq!(taken.err(), Some(EditError::NameTaken("b".into())));
}
