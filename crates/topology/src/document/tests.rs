use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Short text in, short text out.
#[track_caller]
fn check_edit(before: &str, edit: &Edit, after: &str) {
    let document = Document::parse(before);
    match document.edit(edit) {
        Ok(edited) => assert_eq!(edited.text(), after),
        Err(error) => panic!("{error}\n{before}"),
    }
}

fn path(dotted: &str) -> Vec<String> {
    dotted.split('.').map(str::to_owned).collect()
}

fn set(dotted: &str, value: Value) -> Edit {
    Edit::Set {
        path: path(dotted),
        value,
    }
}

fn remove(dotted: &str) -> Edit {
    Edit::Remove { path: path(dotted) }
}

fn add(name: &str, resource_type: &str, properties: Value) -> Edit {
    Edit::AddResource {
        name: name.into(),
        resource_type: resource_type.into(),
        properties,
    }
}

const WEB: &str = "\
heat_template_version: 2021-04-16  # the newest

resources:
  # where servers live
  front:
    type: OS::Neutron::Net

  web:
    type: OS::Nova::Server
    depends_on: [front, other]
    properties:
      image: debian-12 # small
      flavor: \"m1.small\"
      networks: [{network: {get_resource: front}}, {network: public}]

outputs:
  ip: {value: {get_attr: [web, first_address]}}
";

#[test]
fn a_scalar_is_replaced_in_place() {
    check_edit(
        WEB,
        &set("resources.web.properties.image", json!("ubuntu 24.04")),
        &WEB.replace("debian-12 #", "ubuntu 24.04 #"),
    );
    check_edit(
        WEB,
        &set("resources.web.properties.flavor", json!("yes")),
        &WEB.replace("\"m1.small\"", "\"yes\""),
    );
}

#[test]
fn a_new_key_comes_last_in_its_map() {
    let after = WEB.replace(
        "{network: public}]\n",
        "{network: public}]\n      key_name: me\n",
    );
    check_edit(
        WEB,
        &set("resources.web.properties.key_name", json!("me")),
        &after,
    );
    check_edit(&after, &remove("resources.web.properties.key_name"), WEB);
    let after = WEB.replace(
        "OS::Neutron::Net\n",
        "OS::Neutron::Net\n    properties:\n      name: a\n",
    );
    check_edit(
        WEB,
        &set("resources.front.properties.name", json!("a")),
        &after,
    );
    check_edit(&after, &remove("resources.front.properties.name"), WEB);
}

#[test]
fn several_lines_become_a_block() {
    let after = WEB
        .replace("debian-12 #", "| #")
        .replace("# small\n", "# small\n        a\n          b\n");
    check_edit(
        WEB,
        &set("resources.web.properties.image", json!("a\n  b\n")),
        &after,
    );
    check_edit(
        &after,
        &set("resources.web.properties.image", json!("c")),
        &WEB.replace("debian-12 # small", "c"),
    );
}

#[test]
fn flow_style_stays_flow_style() {
    check_edit(
        WEB,
        &set(
            "resources.web.properties.networks.0.fixed_ip",
            json!("10.0.0.4"),
        ),
        &WEB.replace(
            "{network: {get_resource: front}}",
            "{network: {get_resource: front}, fixed_ip: 10.0.0.4}",
        ),
    );
    check_edit(
        WEB,
        &set("resources.web.properties.networks.2", json!({"port": "p"})),
        &WEB.replace("public}]", "public}, {port: p}]"),
    );
    check_edit(
        WEB,
        &remove("resources.web.properties.networks.0"),
        &WEB.replace("{network: {get_resource: front}}, ", ""),
    );
    check_edit(
        WEB,
        &remove("resources.web.properties.networks.1"),
        &WEB.replace(", {network: public}", ""),
    );
}

#[test]
fn only_what_differs_is_written() {
    let networks = json!([{"network": {"get_resource": "front"}}, {"network": "dmz"}]);
    check_edit(
        WEB,
        &set("resources.web.properties.networks", networks),
        &WEB.replace("network: public", "network: dmz"),
    );
}

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
        "{\"heat_template_version\": \"2021-04-16\", \"resources\": {net: {type: \"OS::Neutron::Net\"}}}",
    );
}

fn remove_resource(name: &str) -> Edit {
    Edit::RemoveResource {
        name: name.into(),
        keep: Vec::new(),
    }
}

#[test]
fn references_go_with_a_resource() {
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
fn a_required_reference_is_kept_for_the_person_to_mend() {
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
fn lists_in_lines_are_edited_in_lines() {
    let text = "a:\n- x: 1 # one\n  y: 2\n- z\n# end\n";
    check_edit(text, &remove("a.0.x"), "a:\n- y: 2\n- z\n# end\n");
    check_edit(text, &remove("a.0"), "a:\n- z\n# end\n");
    check_edit(text, &remove("a.1"), "a:\n- x: 1 # one\n  y: 2\n# end\n");
    check_edit(
        text,
        &set("a.2", json!({"k": 1, "l": [{"m": 2}]})),
        "a:\n- x: 1 # one\n  y: 2\n- z\n- k: 1\n  l:\n    - m: 2\n# end\n",
    );
    check_edit(
        text,
        &set("a.0.w", json!(3)),
        "a:\n- x: 1 # one\n  y: 2\n  w: 3\n- z\n# end\n",
    );
    check_edit(
        text,
        &set("a.1", json!("q")),
        "a:\n- x: 1 # one\n  y: 2\n- q\n# end\n",
    );
    check_edit(text, &set("a", json!("q")), "a: q\n# end\n");
}

#[test]
fn windows_lines_stay_windows_lines() {
    check_edit(
        "a:\r\n  b: 1\r\n",
        &set("a.c", json!([{"x": 1}])),
        "a:\r\n  b: 1\r\n  c:\r\n    - x: 1\r\n",
    );
}

#[test]
fn impossible_edits_are_refused() {
    let document = Document::parse(WEB);
    let refused = |edit: Edit| document.edit(&edit).unwrap_err().to_string();
    insta::assert_snapshot!(refused(add("web", "x", json!({}))), @"`web` exists already; choose another name");
    insta::assert_snapshot!(refused(add("<b>", "x", json!({}))), @"`<b>` cannot be a name: use letters, digits, `_`, `-` and `.`");
    insta::assert_snapshot!(refused(remove_resource("db")), @"there is no `db` in the template");
    insta::assert_snapshot!(refused(remove("resources.web.properties.x")), @"there is no `resources.web.properties.x` in the template");
    let broken = Document::parse("a: 1\nb: [1\n")
        .edit(&remove("a"))
        .unwrap_err();
    insta::assert_snapshot!(broken, @"the template has a syntax error on line 3; mend it in the code view first");
    let alias = Document::parse("a: &a {x: 1}\nb: *a\n")
        .edit(&set("b.x", json!(2)))
        .unwrap_err();
    insta::assert_snapshot!(alias, @"this cannot be changed here: `b` stands behind a YAML alias; change it in the code view");
}

#[test]
fn paths_have_lines_and_places() {
    let document = Document::parse(WEB);
    assert_eq!(document.lines(&["resources", "web"]), Some((8, 14)));
    assert_eq!(document.lines(&["resources", "nothing"]), None);
    assert_eq!(
        document.position("resources.web.properties.networks.1"),
        Some(Position {
            line: 14,
            column: 52
        })
    );
    assert_eq!(
        document.position("resources.web.properties.missing"),
        Some(Position {
            line: 11,
            column: 5
        })
    );
    assert_eq!(
        Document::parse("resources:\n  a.b:\n    type: x\n").position("resources.a.b.type"),
        Some(Position { line: 3, column: 5 })
    );
}

/// Every way in which one resource can mention another, under a condition or not.
const MENTIONS: &str = "\
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

#[test]
fn what_must_come_first_is_set_and_taken_back() {
    let after = WEB.replace(
        "    type: OS::Neutron::Net\n",
        "    type: OS::Neutron::Net\n    depends_on: [web]\n",
    );
    check_edit(
        WEB,
        &set("resources.front.depends_on", json!(["web"])),
        &after,
    );
    check_edit(&after, &remove("resources.front.depends_on"), WEB);
    check_edit(
        WEB,
        &set("resources.web.depends_on", json!(["front"])),
        &WEB.replace("[front, other]", "[front]"),
    );
    let conditional = WEB.replace(
        "    type: OS::Neutron::Net\n",
        "    type: OS::Neutron::Net\n    condition: production\n",
    );
    check_edit(
        WEB,
        &set("resources.front.condition", json!("production")),
        &conditional,
    );
    check_edit(&conditional, &remove("resources.front.condition"), WEB);
}

#[test]
fn what_a_merge_key_brings_is_set_in_the_map_itself() {
    let text = "a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n";
    check_edit(
        text,
        &set("b.x", json!(3)),
        &text.replace("  y: 2\n", "  y: 2\n  x: 3\n"),
    );
    let refused = Document::parse(text).edit(&remove("b.x")).unwrap_err();
    insta::assert_snapshot!(refused, @"there is no `b.x` in the template");
}

#[test]
fn beside_a_key_that_stands_twice_nothing_is_edited() {
    let refused = Document::parse("a: 1\nb: 2\na: 3\n")
        .edit(&set("b", json!(4)))
        .unwrap_err();
    insta::assert_snapshot!(refused, @"this cannot be changed here: a key stands twice in a map, the second time on line 3; change it in the code view");
}

fn word() -> impl Strategy<Value = String> {
    "[a-d]{1,2}"
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[ -~]{1,10}".prop_map(Value::from),
        "[a-z#: ]{1,5}\n[a-z ]{1,5}\n?".prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Value::Array),
            prop::collection::btree_map(word(), inner, 1..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A document with comments and blank lines, some values in braces.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec((tree(), 0..4u8), 1..4).prop_map(|sections| {
        let mut text = String::from("# head\n");
        for (index, (value, style)) in sections.iter().enumerate() {
            if style & 1 == 1 {
                text.push_str(&format!(
                    "k{index}: {} # flow\n",
                    crate::yaml::write::flow(value)
                ));
            } else {
                text.push_str(&format!(
                    "{}\n",
                    crate::yaml::write::entry(
                        &format!("k{index}"),
                        value,
                        0,
                        2 + usize::from(*style)
                    )
                ));
            }
            if style & 2 == 2 {
                text.push_str("\n# between\n");
            }
        }
        text
    })
}

/// All paths of a value.
fn paths(value: &Value, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    if !path.is_empty() {
        out.push(path.clone());
    }
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => return,
    };
    for (key, value) in children {
        path.push(key);
        paths(value, path, out);
        path.pop();
    }
}

proptest! {
    #[test]
    fn a_set_is_read_back_and_touches_nothing_else(text in text(), pick in any::<prop::sample::Index>(), value in tree()) {
        let document = Document::parse(text.as_str());
        let mut all = Vec::new();
        paths(&document.root().unwrap().to_json(), &mut Vec::new(), &mut all);
        let path = pick.get(&all).clone();
        let edited = document.edit(&Edit::Set { path: path.clone(), value: value.clone() });
        let edited = match edited { Ok(edited) => edited, Err(error) => return Err(TestCaseError::fail(format!("{error}\n{path:?} = {value}\n{text}"))) };
        // Other sections are the same bytes.
        for section in document.root().unwrap().entries().unwrap().iter().filter(|section| section.key != path[0]) {
            let lines = section.key_span.start..section.value.span.end;
            prop_assert!(edited.text().contains(&text[lines]), "{}\n---\n{}", text, edited.text());
        }
        prop_assert_eq!(text.matches("# head").count(), edited.text().matches("# head").count());
        prop_assert_eq!(text.matches("# between").count(), edited.text().matches("# between").count());
    }

    #[test]
    fn set_then_remove_restores_the_text(text in text(), pick in any::<prop::sample::Index>(), value in tree()) {
        let document = Document::parse(text.as_str());
        let mut all = Vec::new();
        paths(&document.root().unwrap().to_json(), &mut Vec::new(), &mut all);
        let maps: Vec<_> = all.into_iter().filter(|path| {
            let segments: Vec<&str> = path.iter().map(String::as_str).collect();
            matches!(document.value(&segments), Some(Value::Object(_)))
        }).collect();
        if maps.is_empty() { return Ok(()); }
        let mut path = pick.get(&maps).clone();
        path.push("zz".to_owned());
        let there = document.edit(&Edit::Set { path: path.clone(), value }).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let back = there.edit(&Edit::Remove { path }).map_err(|error| TestCaseError::fail(format!("{error}\n{}", there.text())))?;
        prop_assert_eq!(back.text(), &text, "{}", there.text());
    }

    #[test]
    fn what_is_parsed_is_printed_byte_for_byte(text in "\\PC{0,80}") {
        let document = Document::parse(text.as_str());
        prop_assert_eq!(document.text(), text.as_str());
    }

    #[test]
    fn add_then_remove_restores_the_text(properties in tree(), spaced in any::<bool>()) {
        let text = if spaced { WEB.to_owned() } else { MENTIONS.to_owned() };
        let properties = json!({"p": properties});
        let there = Document::parse(text.as_str())
            .edit(&add("new", "OS::Heat::Value", properties.clone()))
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(there.value(&["resources", "new", "properties"]), Some(properties));
        let back = there
            .edit(&remove_resource("new"))
            .map_err(|error| TestCaseError::fail(format!("{error}\n{}", there.text())))?;
        prop_assert_eq!(back.text(), text);
    }

    #[test]
    fn rename_and_back_restores_the_text(name in "[a-z_][a-z0-9_.-]{0,8}") {
        for text in [WEB, MENTIONS] {
            let document = Document::parse(text);
            let to = Edit::RenameResource { from: "web".into(), to: name.clone() };
            let Ok(renamed) = document.edit(&to) else { continue };
            let back = renamed
                .edit(&Edit::RenameResource { from: name.clone(), to: "web".into() })
                .map_err(|error| TestCaseError::fail(format!("{error}\n{}", renamed.text())))?;
            prop_assert_eq!(back.text(), text);
        }
    }

    #[test]
    fn no_text_and_no_edit_makes_it_panic(text in "[a-c:\\-\\[\\]{}&*|>'\"#, \n]{0,50}", key in "[a-c0]") {
        let document = Document::parse(text);
        for edit in [set(&key, json!({"x": ["y"]})), remove(&key), add("n", "t", json!({})), Edit::RenameResource { from: "a".into(), to: "b".into() }] {
            let _ = document.edit(&edit);
        }
        let _ = document.position("a.b");
    }
}
